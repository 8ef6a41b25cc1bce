import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One attempt at a claimed job: preparing it, transferring it, and settling the result for the store.
struct DownloadAttempt: Sendable {
    let run: CoordinatorRun
    let job: ClaimedJob
    /// Whether the file is in or below the worker's own directory, so a failure may be the worker's fault.
    let isInOwnDirectory: Bool
    var mayResume = true

    var id: JobID { job.lease.job }
    /// The number of this attempt, starting at 1. The failure count comes from the store, and another program may have damaged it.
    private var number: Int { min(max(0, job.failures), .max - 1) + 1 }
    var configuration: DownloadCoordinator.Configuration { run.core.configuration }

    /// Returns `nil` if the lease was lost: another worker has the job now, and there is nothing to settle.
    func run() async -> SettledJob? {
        guard !Task.isCancelled else { return await stopped() }
        if let refused = run.refusal(of: job) {
            return settled(.failed(refused), .finished(download: id, outcome: .failed(refused)))
        }
        run.report(.started(download: id, attempt: number))
        do {
            let resolution = try await resolution()
            if let resolution, case let host = DownloadRequest.host(of: resolution.url), host != job.host {
                return moved(to: host)
            }
            let transfer = try await makeTransfer(resolution)
            let result = try await result(of: transfer)
            run.state.withLock { $0.reach.noteReached(job.host) }
            let outcome: DownloadEvent.Outcome = result.isSkipped ? .skipped : .done(fileSize: result.bytes)
            var settled = settled(.done(bytes: result.bytes), .finished(download: id, outcome: outcome))
            settled.settlement.host = .reached
            if result.isCheckpointed { settled.published = job.request }
            return settled
        } catch let error as TransferError where !Task.isCancelled {
            return await failed(error)
        } catch {
            return await stopped()
        }
    }

    /// If another program removed the directory in the meantime, creates it again and repeats the transfer once.
    private func result(of transfer: Transfer) async throws -> TransferResult {
        do {
            return try await transfer.run()
        } catch let error as TransferError where error.fileError?.code == .notFound {
            guard await run.directories.makeAgain(job.request.directory) else { throw error }
            return try await transfer.run()
        }
    }

    /// Returns `nil` for a request that has a URL.
    private func resolution() async throws -> DownloadResolution? {
        guard let id = job.request.unresolvedID, let resolve = run.core.resolve else { return nil }
        do {
            return try await resolve(id, job.request.user)
        } catch let error where !(error is TransferError || (error is CancellationError && Task.isCancelled)) {
            throw TransferError.resolutionFailed(error, of: job.request)
        }
    }

    /// The first time, the job only waits for room at the new host. If the next resolution names yet another host, the job backs off.
    private func moved(to host: String) -> SettledJob {
        let before = run.state.withLock { $0.noteMove(id) }
        guard before > 0 else { return settled(.moved(host: host), .released(download: id)) }
        let pause = min(Duration.milliseconds(250) * (1 << min(before, 10)), .seconds(30))
        return settled(.postponed(by: pause, host: host), .released(download: id))
    }

    private func makeTransfer(_ resolution: DownloadResolution?) async throws -> Transfer {
        run.state.withLock { $0.noteResolved(id) }
        var request = job.request
        if let resolution { request.headerFields.append(contentsOf: resolution.headerFields) }
        if let fields = configuration.headerFields {
            do {
                request.headerFields.append(contentsOf: try await fields(job.request))
            } catch let error where !(error is CancellationError && Task.isCancelled) {
                throw TransferError.headerFieldsFailed(error, of: request)
            }
        }
        return Transfer(
            request: request, resolvedURL: resolution?.url, transport: run.core.transport,
            files: run.core.files,
            existing: configuration.existing, durability: configuration.durability, mayResume: mayResume,
            mayBePublished: job.mayBePublished,
            onResponse: { run.report(.responded(download: id, totalBytes: $0, resumedBytes: $1)) },
            onReceived: { run.report(.received(download: id, receivedBytes: $0)) },
            onPhase: { run.core.onPhase(id, .transfer($0)) })
    }

    // MARK: Failures

    /// Decides what a failure means: see ``FailureScope`` and ``ReachWatch``.
    private func failed(_ error: TransferError) async -> SettledJob {
        var error = error
        error.attempts = number
        let scope = FailureScope(error)
        switch scope {
        case .worker: return endRun(error)
        case .directory:
            if isInOwnDirectory {
                if let failure = await run.failureOfOwnDirectory() {
                    return endRun(.file(failure, ofWorkerFor: job.request))
                }
                // If the task has been stopped in the meantime, the check proves nothing.
                if Task.isCancelled { return settled(.released, .released(download: id)) }
            }
        case .lock:
            // In a queue, the other transfer ends sooner or later. It may belong to a worker that was suspended and lost its lease. The
            // caller of a list doesn't wait that long.
            if !run.isAwaited { return waits(for: configuration.lease, error, .postponed(by: configuration.lease)) }
            if run.core.store.isShared {
                return settled(error, isTransient: true, retryAfter: configuration.lease)
            }
        case .server: run.state.withLock { $0.reach.noteReached(job.host) }
        case .host, .network:
            let verdict = run.noteFailure(of: job, isSilent: scope == .network, error)
            if let settled = await settled(verdict, error) { return settled }
        case .download: break
        }
        return settled(error, isTransient: error.isTransient, retryAfter: error.retryAfter)
    }

    /// Returns `nil` if the job itself failed.
    private func settled(_ verdict: ReachWatch.Verdict, _ error: TransferError) async -> SettledJob? {
        switch verdict {
        case .counts: return nil
        case .waitsForHost:
            return waitsForHost(error)
        case .givesUp:
            // Other workers may still reach the host.
            guard await run.isUnreachableForAll(job.host) else {
                run.state.withLock { $0.reach.withdraw(job.host) }
                return waitsForHost(error)
            }
            // Unblocks the host, so that its other jobs are claimed and fail too.
            var settled = settled(.failed(error), .finished(download: id, outcome: .failed(error)))
            settled.settlement.host = .reached
            return settled
        case .waitsForNetwork(let time): return waits(for: .milliseconds(time), error, .released)
        case .endsRun: return endRun(error)
        }
    }

    private func settled(_ error: TransferError, isTransient: Bool, retryAfter: Duration?) -> SettledJob {
        if isTransient, let delay = error.retryAfter, delay > configuration.retries.maximumRetryAfter {
            let delay = min(delay, Self.maximumParking)
            if !run.isAwaited { return waits(for: delay, error, .released, .busy(for: delay)) }
            // The caller of a list doesn't wait that long, so its other downloads fail without bothering the server.
            run.refuse(job.host, with: error, for: delay)
        }
        var random = SystemRandomNumberGenerator()
        var settled: SettledJob
        if isTransient,
            let delay = configuration.retries.delay(
                beforeRetry: error.attempts, retryAfter: retryAfter, using: &random)
        {
            settled = self.settled(
                .retry(after: delay, error), .retrying(download: id, error: error, delay: delay))
        } else {
            settled = self.settled(.failed(error), .finished(download: id, outcome: .failed(error)))
        }
        settled.settlement.host = report(on: error)
        return settled
    }

    /// The longest backoff that a host can ask for.
    private static let maximumParking = Duration.seconds(86_400)

    /// What an error says about the host.
    private func report(on error: TransferError) -> HostReport? {
        if let delay = error.retryAfter, error.isTransient, delay <= configuration.retries.maximumRetryAfter {
            return .busy(for: delay)
        }
        if error.status != nil { return .reached }
        guard error.isConnectionFailure, let breaker = configuration.circuitBreaker else { return nil }
        return .unreachable(limit: breaker.maximumFailures, pause: breaker.pause)
    }

    private func waitsForHost(_ error: TransferError) -> SettledJob {
        let pause = configuration.circuitBreaker?.pause ?? .zero
        return waits(for: pause, error, .postponed(by: pause), report(on: error))
    }

    /// Makes the job wait, without using up an attempt.
    private func waits(
        for delay: Duration, _ error: TransferError, _ outcome: JobSettlement.Outcome, _ report: HostReport? = nil
    ) -> SettledJob {
        var settled = settled(outcome, .retrying(download: id, error: error, delay: delay))
        settled.settlement.host = report
        return settled
    }

    /// Fails the run instead of the job, because the next job would fail the same way.
    private func endRun(_ error: TransferError) -> SettledJob {
        run.fail(error)
        return settled(.released, .released(download: id))
    }

    private func stopped() async -> SettledJob? {
        switch run.state.withLock({ $0.stopReason(of: job.lease) }) {
        case .lost:
            run.report(.released(download: id))
            return nil
        case .cancelled:
            // In an unstructured task, because this one is cancelled.
            await Task { try? await Transfer.discardPartial(of: job.request, files: run.core.files) }.value
            return settled(.cancelled, .finished(download: id, outcome: .cancelled))
        case .paused: return settled(.released, .paused(download: id))
        case .expiring, .unwanted, nil: return settled(.released, .released(download: id))
        }
    }

    private func settled(_ outcome: JobSettlement.Outcome, _ event: DownloadEvent) -> SettledJob {
        SettledJob(settlement: JobSettlement(lease: job.lease, outcome: outcome), event: event)
    }
}

// MARK: - Preparing

extension DownloadAttempt {
    /// Prepares attempts at claimed jobs: creates directories, and inspects the targets and checkpoints of all jobs in one step. Returns
    /// the outcomes of the attempts that end here, without a request.
    static func prepare(_ attempts: inout [DownloadAttempt]) async -> [SettledJob?] {
        guard let core = attempts.first?.run.core else { return [] }
        // A retry looks again, because the first attempt may have changed the files.
        var targets = attempts.map { $0.job.failures == 0 ? core.knownTargets.take($0.id) : nil }
        let unknown = targets.indices.filter { targets[$0] == nil }
        if !unknown.isEmpty {
            // If this is cancelled, so are the run and its attempts.
            let found = try? await TargetFacts.of(unknown.map { attempts[$0].job.request }, using: core.files)
            for (index, facts) in zip(unknown, found ?? []) { targets[index] = facts }
        }
        var outcomes: [SettledJob?] = []
        var latest: (directory: TargetDirectory, failure: FileError?)?
        for index in attempts.indices {
            let (attempt, request) = (attempts[index], attempts[index].job.request)
            if request.hasReservedName {
                outcomes.append(await attempt.failed(.nameReserved(request)))
                continue
            }
            if latest?.directory != request.targetDirectory {
                latest = (request.targetDirectory, await attempt.run.directories.make(request.directory))
            }
            if let failure = latest?.failure {
                outcomes.append(await attempt.failed(.file(failure, of: request)))
            } else if let facts = targets[index] {
                outcomes.append(await attempts[index].prepare(for: facts))
            } else {
                outcomes.append(nil)
            }
        }
        return outcomes
    }

    private mutating func prepare(for target: TargetFacts) async -> SettledJob? {
        switch target.decision(existing: configuration.existing, mayBePublished: job.mayBePublished) {
        case .download(let resuming):
            mayResume = resuming
            return nil
        case .identify: return nil
        case .complete(let bytes):
            return settled(.done(bytes: bytes), .finished(download: id, outcome: .done(fileSize: bytes)))
        case .skip(let bytes, let hasLeftovers):
            if hasLeftovers { try? await Transfer.discardPartial(of: job.request, files: run.core.files) }
            return settled(.done(bytes: bytes), .finished(download: id, outcome: .skipped))
        case .refuse(let refusal): return await failed(refusal.error(for: job.request))
        }
    }
}

// MARK: - Creating directories

/// Creates each directory of a run's downloads once. Failures aren't remembered, because the next download may succeed.
final class DirectoryMaker: Sendable {
    private let files: FileIO
    private let made = Lock<Set<URL>>([])

    /// How many directories to remember. After that, they are created again.
    private static let maximumKnown = 10_000

    init(files: FileIO) { self.files = files }

    /// Returns the error if the directory can't be created.
    func make(_ directory: URL) async -> FileError? {
        if made.withLock({ $0.contains(directory) }) { return nil }
        do {
            try await files.createDirectory(at: directory)
            made.withLock { made in
                if made.count >= Self.maximumKnown { made = [] }
                made.insert(directory)
            }
        } catch let error as FileError {
            return error
        } catch {
            // The attempt that needs the directory is cancelled, too.
        }
        return nil
    }

    /// Recreates a directory that another program removed. Returns whether it exists now.
    func makeAgain(_ directory: URL) async -> Bool {
        made.withLock { _ = $0.remove(directory) }
        return await make(directory) == nil && !Task.isCancelled
    }
}
