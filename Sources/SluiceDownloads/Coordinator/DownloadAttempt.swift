import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One attempt of a claimed job: its preparation, its transfer, and the settlement for the store.
struct DownloadAttempt: Sendable {
    let run: CoordinatorRun
    let job: ClaimedJob
    /// Whether the file is in or below the worker's own directory, so that a failure may be the worker's.
    let isInOwnDirectory: Bool
    var mayResume = true

    var id: JobID { job.lease.job }
    /// The number of this attempt, from 1 on. The number of failures comes from the store, and another program may have damaged it.
    private var number: Int { min(max(0, job.failures), .max - 1) + 1 }
    var configuration: DownloadCoordinator.Configuration { run.coordinator.configuration }

    /// Returns `nil` if the lease was lost: then another worker has the job, and there is nothing to settle.
    func carryOut() async -> SettledJob? {
        guard !Task.isCancelled else { return await stopped() }
        if let refused = run.refusal(of: job) {
            return settled(.failed(message: "\(refused)"), .finished(job: id, outcome: .failed(refused)))
        }
        run.report(.started(job: id, attempt: number))
        do {
            let resolution = try await resolution()
            if let resolution, case let host = DownloadRequest.host(of: resolution.url), host != job.host {
                return moved(to: host)
            }
            let transfer = try await makeTransfer(resolution)
            let result = try await result(of: transfer)
            run.state.withLock { $0.reach.noteReached(job.host) }
            var settled = settled(.done(bytes: result.bytes), .finished(job: id, outcome: .done(bytes: result.bytes)))
            settled.settlement.host = .reached
            if result.isCheckpointed { settled.published = job.request }
            return settled
        } catch let error as TransferError where !Task.isCancelled {
            return await failed(error)
        } catch {
            return await stopped()
        }
    }

    /// If another program has removed the directory meanwhile, the transfer is made once more in a new one.
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
        guard job.request.isUnresolved, let resolve = configuration.resolve else { return nil }
        do {
            return try await resolve(job.request)
        } catch let error where !(error is TransferError || (error is CancellationError && Task.isCancelled)) {
            throw TransferError.resolutionFailed(error, of: job.request)
        }
    }

    /// The first time, the job only waits for room at the other host. A resolution that names yet another one is asked again after a pause,
    /// which becomes longer each time.
    private func moved(to host: String) -> SettledJob {
        let before = run.state.withLock { $0.noteMove(id) }
        guard before > 0 else { return settled(.moved(host: host), .released(job: id)) }
        let pause = min(Duration.milliseconds(250) * (1 << min(before, 10)), .seconds(30))
        return settled(.postponed(by: pause, host: host), .released(job: id))
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
            request: request, resolvedURL: resolution?.url, transport: run.coordinator.transport,
            files: run.coordinator.files,
            existing: configuration.existing, durability: configuration.durability, mayResume: mayResume,
            mayBePublished: job.mayBePublished,
            onResponse: { run.report(.responded(job: id, announced: $0, resumed: $1)) },
            onReceived: { run.report(.received(job: id, bytes: $0)) },
            onPhase: { run.coordinator.onPhase(id, .transfer($0)) })
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
            if isInOwnDirectory, let failure = await run.failureOfOwnDirectory() {
                return endRun(.file(failure, ofWorkerFor: job.request))
            }
        case .lock:
            // In a queue, the other transfer ends at some time. It may belong to a worker that was suspended and has lost its lease. The
            // caller of a list doesn't wait that long.
            if !run.isAwaited { return waits(for: configuration.lease, error, .postponed(by: configuration.lease)) }
            if run.coordinator.store.isShared {
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

    /// Returns `nil` if the failure is that of the job.
    private func settled(_ verdict: ReachWatch.Verdict, _ error: TransferError) async -> SettledJob? {
        switch verdict {
        case .counts: return nil
        case .waitsForHost:
            return waitsForHost(error)
        case .givesUp:
            // Other workers may reach the host, so that only this one can't.
            guard await run.isUnreachableForAll(job.host) else {
                run.state.withLock { $0.reach.withdraw(job.host) }
                return waitsForHost(error)
            }
            // The other jobs of the host are claimed then, and fail too.
            var settled = settled(.failed(message: "\(error)"), .finished(job: id, outcome: .failed(error)))
            settled.settlement.host = .reached
            return settled
        case .waitsForNetwork(let time): return waits(for: .milliseconds(time), error, .released)
        case .endsRun: return endRun(error)
        }
    }

    private func settled(_ error: TransferError, isTransient: Bool, retryAfter: Duration?) -> SettledJob {
        if error.code == .fileExists, configuration.existing == .skip {
            return settled(.done(bytes: 0), .finished(job: id, outcome: .skipped))
        }
        if isTransient, let delay = error.retryAfter, delay > configuration.retries.maximumRetryAfter {
            let delay = min(delay, Self.maximumParking)
            if !run.isAwaited { return waits(for: delay, error, .released, .busy(for: delay)) }
            // The caller of a list doesn't wait that long, and the server gets no request from its other downloads.
            run.refuse(job.host, with: error, for: delay)
        }
        var random = SystemRandomNumberGenerator()
        var settled: SettledJob
        if isTransient,
            let delay = configuration.retries.delay(
                beforeRetry: error.attempts, retryAfter: retryAfter, using: &random)
        {
            settled = self.settled(
                .retry(after: delay, message: "\(error)"), .retrying(job: id, error: error, delay: delay))
        } else {
            settled = self.settled(.failed(message: "\(error)"), .finished(job: id, outcome: .failed(error)))
        }
        settled.settlement.host = report(on: error)
        return settled
    }

    /// The longest time for which a host is left without requests because it asked for that.
    private static let maximumParking = Duration.seconds(86_400)

    /// What an error tells about the host.
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

    /// The job waits and loses no attempt.
    private func waits(
        for delay: Duration, _ error: TransferError, _ outcome: JobSettlement.Outcome, _ report: HostReport? = nil
    ) -> SettledJob {
        var settled = settled(outcome, .retrying(job: id, error: error, delay: delay))
        settled.settlement.host = report
        return settled
    }

    /// The run fails instead of the job, because the next job would fail in the same way.
    private func endRun(_ error: TransferError) -> SettledJob {
        run.fail(error)
        return settled(.released, .released(job: id))
    }

    private func stopped() async -> SettledJob? {
        switch run.state.withLock({ $0.stopReason(of: id) }) {
        case .lost:
            run.report(.released(job: id))
            return nil
        case .cancelled:
            // An unstructured task, because this one is cancelled.
            await Task { try? await Transfer.discardPartial(of: job.request, files: run.coordinator.files) }.value
            return settled(.cancelled, .finished(job: id, outcome: .cancelled))
        case .paused: return settled(.released, .paused(job: id))
        case .expiring, nil: return settled(.released, .released(job: id))
        }
    }

    private func settled(_ outcome: JobSettlement.Outcome, _ event: DownloadEvent) -> SettledJob {
        SettledJob(settlement: JobSettlement(lease: job.lease, outcome: outcome), event: event)
    }
}

// MARK: - Decisions that need no server

extension DownloadAttempt {
    /// Makes the decisions that need no server: creates directories, and looks for partial files and existing targets. Many files are
    /// looked up in one job, because a thread switch for each would be too expensive.
    static func decidedBeforehand(_ attempts: inout [DownloadAttempt]) async -> [SettledJob?] {
        guard let coordinator = attempts.first?.run.coordinator else { return [] }
        // A sighting is valid for the first attempt only, because that attempt changes the files.
        var found = attempts.map { $0.job.failures == 0 ? coordinator.lookout.take($0.id) : nil }
        let unknown = found.indices.filter { found[$0] == nil }
        if !unknown.isEmpty {
            let seen = await Lookout.look(at: unknown.map { attempts[$0].job.request }, coordinator.files)
            for (index, one) in zip(unknown, seen ?? []) { found[index] = one }
        }
        var decided: [SettledJob?] = []
        var made: (directory: TargetDirectory, failure: FileError?)?
        for (index, attempt) in attempts.enumerated() {
            if attempt.job.request.hasReservedName {
                decided.append(await attempt.failed(.nameReserved(attempt.job.request)))
                continue
            }
            let directory = attempt.job.request.targetDirectory
            if made?.directory != directory { made = (directory, await attempt.run.directories.make(directory.url)) }
            if let failure = made?.failure {
                decided.append(await attempt.failed(.file(failure, of: attempt.job.request)))
            } else {
                // If the lookup was cancelled, the run and its attempts are cancelled too.
                if let isUntidy = found[index]?.mayResume { attempts[index].mayResume = isUntidy }
                let one =
                    if let seen = found[index] { await attempt.decided(by: seen.target) } else { nil as SettledJob? }
                if attempts[index].mayResume, case .finished(_, .skipped) = one?.event {
                    // The file exists, so the partial file of an earlier attempt is no longer needed.
                    try? await Transfer.discardPartial(of: attempt.job.request, files: coordinator.files)
                }
                decided.append(one)
            }
        }
        return decided
    }

    private func decided(by status: Result<FileStatus?, FileError>) async -> SettledJob? {
        switch status {
        case .success(nil): return nil
        case .success where job.mayBePublished:
            // The target may be the result of this job; the transfer can recognize it.
            return nil
        case .success(let found?) where configuration.existing == .replace:
            // Fails now instead of after the transfer.
            guard found.kind == .directory else { return nil }
            let failure = FileError(
                code: .isDirectory, operation: "replace", path: job.request.target.path(percentEncoded: false),
                remedy: "Choose another name, or remove the directory.")
            return await failed(.file(failure, of: job.request))
        case .success(let found?) where configuration.existing == .skip:
            return settled(.done(bytes: Int64(found.size)), .finished(job: id, outcome: .skipped))
        case .success: return await failed(.fileExists(job.request))
        case .failure(let failure): return await failed(.file(failure, of: job.request))
        }
    }
}

// MARK: - Looking up targets

/// Looks up the targets and checkpoints of many jobs in one operation. A separate lookup for each small file needs a thread switch, which
/// takes a tenth of the time of its transfer.
final class Lookout: Sendable {
    struct Sighting: Sendable {
        var target: Result<FileStatus?, FileError>
        var mayResume: Bool

        /// Whether the target exists and has no checkpoint.
        var isThereAndTidy: Bool {
            if case .success(.some) = target { !mayResume } else { false }
        }
    }

    private let sightings = Lock<[JobID: Sighting]>([:])

    private static let batch = 256

    func take(_ job: JobID) -> Sighting? {
        sightings.withLock { $0.removeValue(forKey: job) }
    }

    func note(_ sighting: Sighting, of job: JobID) {
        sightings.withLock { $0[job] = sighting }
    }

    /// Looks up jobs before they are claimed. A file that appears later is found when the download publishes its file.
    func look(ahead jobs: [(id: JobID, request: DownloadRequest)], _ files: FileIO) async {
        await Self.look(at: jobs.lazy.map(\.request), files) { note($1, of: jobs[$0].id) }
    }

    func forgetAll() {
        let forgotten = sightings.withLock { sightings in
            defer { sightings = [:] }
            return sightings
        }
        _ = forgotten
    }

    /// Passes each result with its offset. Ends early if the task is cancelled.
    static func look(
        at requests: some RandomAccessCollection<DownloadRequest>, _ files: FileIO,
        _ found: (_ offset: Int, Sighting) -> Void
    ) async {
        var rest = requests[...]
        var offset = 0
        while !rest.isEmpty, !Task.isCancelled {
            guard let seen = await look(at: Array(rest.prefix(batch)), files) else { return }
            rest = rest.dropFirst(batch)
            for sighting in seen {
                found(offset, sighting)
                offset += 1
            }
        }
    }

    /// Returns `nil` if the task is cancelled.
    static func look(at requests: [DownloadRequest], _ files: FileIO) async -> [Sighting]? {
        // A symbolic link without a target also occupies its name.
        let names = requests.map(\.targetPlace) + requests.map(\.checkpointPlace)
        guard let found = try? await files.statuses(of: names, followingLinks: false) else { return nil }
        return requests.indices.map { index in
            let isTidy = if case .success(nil) = found[requests.count + index] { true } else { false }
            return Sighting(target: found[index], mayResume: !isTidy)
        }
    }
}

// MARK: - Creating directories

/// Creates the directories of a run's downloads, each once. A failure isn't remembered, because it may be over for the next download.
final class DirectoryMaker: Sendable {
    private let files: FileIO
    private let made = Lock<Set<URL>>([])

    /// More directories than that are created again.
    private static let maximumKnown = 10_000

    init(files: FileIO) { self.files = files }

    /// Returns the error if the directory can't be created.
    func make(_ directory: URL) async -> FileError? {
        if made.withLock({ $0.contains(directory) }) { return nil }
        do {
            try await files.makeDirectory(at: directory)
            made.withLock { made in
                if made.count >= Self.maximumKnown { made = [] }
                made.insert(directory)
            }
        } catch let error as FileError {
            return error
        } catch {
            // Cancelled, and so is the attempt that needs the directory.
        }
        return nil
    }

    /// Creates a directory that another program has removed meanwhile. Returns whether it exists now.
    func makeAgain(_ directory: URL) async -> Bool {
        made.withLock { _ = $0.remove(directory) }
        return await make(directory) == nil && !Task.isCancelled
    }
}
