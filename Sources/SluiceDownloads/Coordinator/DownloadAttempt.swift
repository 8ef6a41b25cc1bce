import SluiceConcurrency
import Synchronization
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A claimed job's attempt: what is known beforehand, the transfer, and what is to be told to the store.
struct DownloadAttempt: Sendable {
    let run: CoordinatorRun
    let job: ClaimedJob
    /// Whether an earlier attempt may have left a partial file.
    var mayResume = true

    private var id: JobID { job.lease.job }
    private var configuration: DownloadCoordinator.Configuration { run.coordinator.configuration }

    /// Carries it out; nil if the job is somebody else's by now, so that there is nothing to tell.
    func carryOut() async -> SettledJob? {
        guard !Task.isCancelled else { return await stopped() }
        run.report(.started(job: id, attempt: job.failures + 1))
        do {
            let result = try await makeTransfer().run()
            var settled = settled(.done(bytes: result.bytes), .finished(job: id, outcome: .done(bytes: result.bytes)))
            if result.isCheckpointed { settled.published = job.request }
            return settled
        } catch let error as DownloadError where !Task.isCancelled {
            return failed(error)
        } catch {
            return await stopped()
        }
    }

    private func makeTransfer() async throws -> Transfer {
        var request = job.request
        if let fields = configuration.headerFields {
            do {
                request.headerFields.append(contentsOf: try await fields(job.request))
            } catch let error where !(error is CancellationError) {
                throw DownloadError(.headerFields(cause: "\(error)"), url: request.url, target: request.target)
            }
        }
        return Transfer(
            request: request, transport: run.coordinator.transport, files: run.coordinator.files,
            existing: configuration.existing, durability: configuration.durability, mayResume: mayResume,
            mayBePublished: job.mayBePublished,
            onResponse: { run.report(.responded(job: id, announced: $0, resumed: $1)) },
            onReceived: { run.report(.received(job: id, bytes: $0)) },
            onPhase: { run.coordinator.onPhase(id, .transfer($0)) })
    }

    private func failed(_ error: DownloadError) -> SettledJob {
        var error = error
        error.attempts = job.failures + 1
        if case .targetExists = error.reason, configuration.existing == .skip {
            return settled(.done(bytes: 0), .finished(job: id, outcome: .skipped))
        }
        var isTransient = error.isTransient
        if case .file(let failure) = error.reason, failure.code == .locked, run.coordinator.store.isShared {
            // A worker that was stopped, and lost its lease, has the file until it goes on or ends.
            isTransient = true
            error.retryAfter = configuration.lease
        }
        var random = SystemRandomNumberGenerator()
        if isTransient,
            let delay = configuration.retries.delay(
                beforeRetry: error.attempts, retryAfter: error.retryAfter, using: &random)
        {
            return settled(
                .retry(after: delay, message: "\(error)"), .retrying(job: id, error: error, delay: delay))
        }
        return settled(.failed(message: "\(error)"), .finished(job: id, outcome: .failed(error)))
    }

    private func stopped() async -> SettledJob? {
        switch run.state.withLock({ $0.stopReason(of: id) }) {
        case .lost: return nil
        case .cancelled:
            // In a task of its own: this one is cancelled.
            await Task { try? await Transfer.discardPartial(of: job.request, files: run.coordinator.files) }.value
            return settled(.cancelled, .finished(job: id, outcome: .cancelled))
        case nil: return settled(.released, .released(job: id))
        }
    }

    private func settled(
        _ outcome: JobSettlement.Outcome, _ event: DownloadEvent
    ) -> SettledJob {
        SettledJob(settlement: JobSettlement(lease: job.lease, outcome: outcome), event: event)
    }
}

// MARK: What can be said without asking a server

extension DownloadAttempt {
    /// Makes the folders of attempts, looks for what earlier ones left, and decides those whose target exists already:
    /// questions for many files at a time, so that they cost no switch of thread for each.
    static func decidedBeforehand(_ attempts: inout [DownloadAttempt], _ folders: FolderMaker) async -> [SettledJob?] {
        guard let run = attempts.first?.run else { return [] }
        if let found = try? await Transfer.mayResume(attempts.map(\.job.request), files: run.coordinator.files) {
            for (index, mayResume) in found.enumerated() { attempts[index].mayResume = mayResume }
        }
        // A symbolic link that leads nowhere occupies its name, too.
        let targets = attempts.map(\.job.request.target)
        let statuses = try? await run.coordinator.files.statuses(of: targets, followingLinks: false)
        var decided: [SettledJob?] = []
        for (index, attempt) in attempts.enumerated() {
            if let failure = await folders.make(attempt.job.request.folder) {
                decided.append(attempt.failed(attempt.error(.file(failure))))
            } else {
                // Without statuses the run is cancelled: so are the attempts.
                let one = statuses.flatMap { attempt.decided(by: $0[index]) }
                if attempt.mayResume, case .finished(_, .skipped) = one?.event {
                    // The file is there: what an earlier attempt left is of no use any more.
                    try? await Transfer.discardPartial(of: attempt.job.request, files: run.coordinator.files)
                }
                decided.append(one)
            }
        }
        return decided
    }

    private func decided(by status: Result<FileStatus?, FileError>) -> SettledJob? {
        switch status {
        case .success(nil): return nil
        case .success where job.mayBePublished:
            // It may be this job's own; the transfer knows how to tell.
            return nil
        case .success(let found?) where configuration.existing == .replace:
            // Found out now rather than after the whole transfer.
            guard found.kind == .directory else { return nil }
            let failure = FileError(
                code: .isDirectory, operation: "replace", path: job.request.target.path(percentEncoded: false),
                remedy: "Choose another name, or remove the folder.")
            return failed(error(.file(failure)))
        case .success(let found?) where configuration.existing == .skip:
            return settled(.done(bytes: Int64(found.size)), .finished(job: id, outcome: .skipped))
        case .success: return failed(error(.targetExists))
        case .failure(let failure): return failed(error(.file(failure)))
        }
    }

    private func error(_ reason: DownloadError.Reason) -> DownloadError {
        DownloadError(reason, url: job.request.url, target: job.request.target)
    }
}

/// Makes folders, each once.
actor FolderMaker {
    private let files: FileIO
    private var made: [URL: FileError?] = [:]

    init(files: FileIO) { self.files = files }

    /// Makes the folder if it is missing; returns why that is not possible.
    func make(_ folder: URL) async -> FileError? {
        if let known = made[folder] { return known }
        do {
            try await files.makeDirectory(at: folder)
            made[folder] = .some(nil)
        } catch let error as FileError {
            made[folder] = error
            return error
        } catch {
            // Cancelled: so is what wanted it.
        }
        return nil
    }
}
