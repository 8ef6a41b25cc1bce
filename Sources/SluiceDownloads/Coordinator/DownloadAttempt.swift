import HTTPTypes
import SluiceConcurrency
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
    let engine: CoordinatorEngine
    let job: ClaimedJob
    /// Whether the file is in or below the worker's own directory, so a failure may be the worker's fault.
    let isInOwnDirectory: Bool
    var mayResume = true
    /// Whether there is a file with the target's name, whose checksum decides whether the download is done.
    var verifiesTarget = false

    var id: JobID { job.lease.job }
    /// Whether an earlier attempt, perhaps of a process that has died, may have published the file without recording it.
    private var mayBePublished: Bool { job.mayBePublished || engine.core.knownTargets.mayBePublished(id) }
    /// Whether this coordinator has made no attempt that failed.
    private var isFirst: Bool { job.failures == 0 && engine.state.withLock { $0.mirrorTurn(of: id) } == nil }
    /// The number of this attempt, starting at 1. The failure count comes from the store, and another program may have damaged it.
    private var number: Int { min(max(0, job.failures), .max - 1) + 1 }
    var configuration: DownloadCoordinator.Configuration { engine.core.configuration }

    /// Returns `nil` if the lease was lost: another worker has the job now, and there is nothing to settle.
    func run() async -> SettledJob? {
        guard !Task.isCancelled else { return await outcomeOfStop() }
        if let refused = engine.refusal(of: job) {
            if let next = nextMirror(after: refused).settled { return next }
            return settledJob(.failed(refused), .finished(download: id, outcome: .failed(refused)))
        }
        engine.report(.started(download: id, attempt: number))
        do {
            let resolution = try await resolution()
            if let resolution, case let host = DownloadRequest.host(of: resolution.url), host != job.host {
                return moved(to: host)
            }
            let result = try await result(resolution)
            engine.state.withLock { $0.reach.noteReached(job.host) }
            let outcome: DownloadEvent.Outcome = result.isSkipped ? .skipped : .done(fileSize: result.bytes)
            var settled = settledJob(.done(bytes: result.bytes), .finished(download: id, outcome: outcome))
            settled.settlement.host = .reached
            if result.isCheckpointed { settled.published = job.request }
            if !result.isSkipped { settled.completed = completed(result) }
            return settled
        } catch let error as TransferError where !Task.isCancelled {
            return await failed(error)
        } catch {
            return await outcomeOfStop()
        }
    }

    private func completed(_ result: TransferResult) -> DownloadRecords.Completed {
        DownloadRecords.Completed(
            request: job.request, bytes: result.bytes, stamp: result.stamp, validator: result.validator,
            isCheckpointed: result.isCheckpointed, isDurable: configuration.durability != .none)
    }

    /// If another program removed the directory in the meantime, creates it again and repeats the transfer once.
    private func result(_ resolution: DownloadResolution?) async throws -> TransferResult {
        do {
            return try await transferred(resolution)
        } catch let error as TransferError where error.fileError?.code == .notFound {
            guard await engine.directories.makeAgain(job.request.directory) else { throw error }
            return try await transferred(resolution)
        }
    }

    /// Runs a transfer within its limits.
    private func transferred(_ resolution: DownloadResolution?) async throws -> TransferResult {
        let (clock, url) = (engine.core.timing.clock, job.request.url)
        return try await engine.core.connections.withDownload(from: job.host) {
            // Most downloads have neither limit, and making the closures takes longer than either check.
            if configuration.maximumTime == nil, configuration.minimumRate == nil {
                return try await makeTransfer(resolution, nil).run()
            }
            return try await withTimeLimit(configuration.maximumTime, clock: clock, of: url) {
                try await withMinimumRate(configuration.minimumRate, clock: clock, of: url) { watch in
                    try await makeTransfer(resolution, watch).run()
                }
            }
        }
    }

    /// The mirror to try, or `nil` for the request's own URL.
    private var mirror: DownloadResolution? {
        guard !job.request.mirrors.isEmpty else { return nil }
        let turn = engine.state.withLock { $0.mirrorTurn(of: id) }
        guard let turn, turn.current > 0, turn.current <= job.request.mirrors.count else {
            // Another process may have tried a mirror, whose host counted.
            return job.request.isUnresolved ? nil : DownloadResolution(url: job.request.url)
        }
        return DownloadResolution(url: job.request.mirrors[turn.current - 1])
    }

    /// Returns `nil` for a request that has a URL.
    private func resolution() async throws -> DownloadResolution? {
        if let mirror { return mirror }
        guard let id = job.request.unresolvedID, let resolve = engine.core.resolve else { return nil }
        do {
            return try await resolve(id, job.request.user)
        } catch let error where !(error is TransferError || (error is CancellationError && Task.isCancelled)) {
            throw TransferError.resolutionFailed(error, of: job.request)
        }
    }

    /// The first time, the job only waits for room at the new host. If the next resolution names yet another host, the job backs off.
    private func moved(to host: String) -> SettledJob {
        let before = engine.state.withLock { $0.noteMove(id) }
        guard before > 0 else { return settledJob(.moved(host: host), .released(download: id)) }
        let pause = min(Duration.milliseconds(250) * (1 << min(before, 10)), .seconds(30))
        return settledJob(.postponed(by: pause, host: host), .released(download: id))
    }

    private func makeTransfer(
        _ resolution: DownloadResolution?, _ watch: SharedRateWatch?
    ) async throws -> Transfer {
        engine.state.withLock { $0.noteResolved(id) }
        var request = job.request
        // What the closure for header fields sees.
        var asked = job.request
        if let resolution {
            if !request.isUnresolved, resolution.url.origin != request.url.origin { request.headerFields = [:] }
            request.headerFields.append(contentsOf: resolution.headerFields)
            if !request.isUnresolved { asked.url = resolution.url }
        }
        request.headerFields.append(contentsOf: try await configuration.headerFields(of: asked))
        let cookies = try await configuration.cookies(of: job.request)
        return Transfer(
            request: request, resolvedURL: resolution?.url, transport: engine.core.transport,
            files: engine.core.files,
            existing: configuration.existing, durability: configuration.durability,
            mayResume: mayResume && !configuration.decodesContent, decodesContent: configuration.decodesContent,
            cookies: cookies, takesServerName: configuration.takesServerNames,
            onServerName: { engine.report(.named(download: id, file: $0)) },
            onWrongMirror: { mirror in
                engine.report(.mirrorRejected(download: id, error: .wrongSegments(of: mirror)))
            }, verifiesTarget: verifiesTarget,
            mayBePublished: mayBePublished && !configuration.takesServerNames,
            maximumSize: configuration.maximumSize, keepsServerTime: configuration.keepsServerTime,
            onlyIfNewer: configuration.onlyIfNewer && configuration.existing == .replace
                && !configuration.takesServerNames,
            storesOrigin: configuration.storesOrigins,
            segments: segmentPlan(for: resolution),
            pace: { count, host in
                let before = engine.core.timing.now()
                try await engine.core.bandwidth.pass(count, from: host)
                watch?.waited(for: engine.core.timing.now() - before)
            },
            onResponse: { total, resumed in
                watch?.begin(at: resumed)
                engine.report(.responded(download: id, totalBytes: total, resumedBytes: resumed))
            },
            onReceived: { bytes in
                watch?.received(upTo: bytes)
                engine.report(.received(download: id, receivedBytes: bytes))
            },
            onPhase: { engine.core.onPhase(id, .transfer($0)) })
    }

    private func segmentPlan(for resolution: DownloadResolution?) -> SegmentPlan {
        guard engine.core.segments.count > 1 else { return SegmentPlan(host: job.host) }
        let own = resolution?.url ?? job.request.url
        let urls = (job.request.isUnresolved ? [] : [job.request.url]) + job.request.mirrors
        return SegmentPlan(
            limits: engine.core.segments, mirrors: urls.filter { $0 != own },
            mirrorSource: { try await mirrorSource($0) }, connections: engine.core.connections, host: job.host)
    }

    /// The other URLs of the download may be on other hosts, so they get only the fields that the configuration has for them.
    private func mirrorSource(_ url: URL) async throws -> SegmentPlan.Source {
        var asked = job.request
        asked.url = url
        if url.origin != job.request.url.origin { asked.headerFields = [:] }
        asked.headerFields.append(contentsOf: try await configuration.headerFields(of: asked))
        return SegmentPlan.Source(
            url: url, headerFields: asked.headerFields, cookies: try await configuration.cookies(of: asked),
            host: DownloadRequest.host(of: url))
    }

    // MARK: Failures

    /// Decides what a failure means: see ``FailureScope`` and ``ReachWatch``.
    private func failed(_ error: TransferError) async -> SettledJob {
        var error = error
        error.attempts = number
        let scope = FailureScope(error)
        var next = NextMirror.none
        if scope.isOfServer {
            if let mirror { (error.url, error.subject) = (mirror.url, mirror.url.redactedForDisplay) }
            next = nextMirror(after: error)
        }
        switch scope {
        case .worker: return endRun(error)
        case .directory:
            if isInOwnDirectory {
                if let failure = await engine.failureOfOwnDirectory() {
                    return endRun(.file(failure, ofWorkerFor: job.request))
                }
                // If the task has been stopped in the meantime, the check proves nothing.
                if Task.isCancelled { return settledJob(.released, .released(download: id)) }
            }
        case .lock:
            // In a queue, the other transfer ends sooner or later. It may belong to a worker that was suspended and lost its lease. The
            // caller of a list doesn't wait that long.
            if !engine.isAwaited {
                let lease = configuration.lease
                return postponed(for: lease, error, .postponed(by: lease, because: error))
            }
            if engine.core.store.isShared {
                return retryOrFail(error, isTransient: true, retryAfter: configuration.lease)
            }
        case .server: engine.state.withLock { $0.reach.noteReached(job.host) }
        case .host, .network:
            let verdict = engine.noteFailure(of: job, isSilent: scope == .network, error)
            // Without a network, no mirror can be reached either.
            if let settled = await outcome(of: verdict, error), next.settled == nil || verdict.isOfNetwork {
                return settled
            }
        case .download: break
        }
        if let settled = next.settled { return settled }
        return retryOrFail(
            error, isTransient: next.allowsRetry || error.isTransient, retryAfter: error.retryAfter)
    }

    /// What follows for a download with mirrors.
    private struct NextMirror {
        /// How the job goes on with another URL.
        var settled: SettledJob?
        /// Whether a URL is left that hasn't failed for good.
        var allowsRetry = false

        static let none = NextMirror()
    }

    private func nextMirror(after error: TransferError) -> NextMirror {
        guard !job.request.mirrors.isEmpty else { return .none }
        let urls = [job.request.url] + job.request.mirrors
        let (step, current) = engine.state.withLock {
            $0.noteMirrorFailure(of: id, count: urls.count, isPermanent: !error.isTransient)
        }
        switch step {
        case .next:
            var settled = settledJob(
                .postponed(by: .zero, host: DownloadRequest.host(of: urls[current])),
                .failedOver(download: id, error: error, mirror: urls[current]))
            settled.settlement.host = report(on: error)
            return NextMirror(settled: settled)
        case .again: return NextMirror(allowsRetry: true)
        case .allFailed: return .none
        }
    }

    /// Returns `nil` if the job itself failed.
    private func outcome(of verdict: ReachWatch.Verdict, _ error: TransferError) async -> SettledJob? {
        switch verdict {
        case .counts: return nil
        case .waitsForHost:
            return waitsForHost(error)
        case .givesUp:
            // Other workers may still reach the host.
            guard await engine.isUnreachableForAll(job.host) else {
                engine.state.withLock { $0.reach.withdraw(job.host) }
                return waitsForHost(error)
            }
            // Unblocks the host, so that its other jobs are claimed and fail too.
            var settled = settledJob(.failed(error), .finished(download: id, outcome: .failed(error)))
            settled.settlement.host = .reached
            return settled
        case .waitsForNetwork(let time): return postponed(for: .milliseconds(time), error, .released)
        case .endsRun: return endRun(error)
        }
    }

    private func retryOrFail(_ error: TransferError, isTransient: Bool, retryAfter: Duration?) -> SettledJob {
        if isTransient, let delay = error.retryAfter, delay > configuration.retries.maximumRetryAfter {
            let delay = min(delay, Self.maximumParking)
            if !engine.isAwaited { return postponed(for: delay, error, .released, .busy(for: delay)) }
            // The caller of a list doesn't wait that long, so its other downloads fail without bothering the server.
            engine.refuse(job.host, with: error, for: delay)
        }
        var random = SystemRandomNumberGenerator()
        var settled: SettledJob
        if isTransient, error.keptBytes >= Self.progress,
            let delay = configuration.retries.delay(beforeRetry: 1, retryAfter: retryAfter, using: &random)
        {
            settled = settledJob(
                .postponed(by: delay, because: error), .retrying(download: id, error: error, delay: delay))
        } else if isTransient,
            let delay = configuration.retries.delay(
                beforeRetry: error.attempts, retryAfter: retryAfter, using: &random)
        {
            settled = settledJob(
                .retry(after: delay, error), .retrying(download: id, error: error, delay: delay))
        } else {
            settled = settledJob(.failed(error), .finished(download: id, outcome: .failed(error)))
        }
        settled.settlement.host = report(on: error)
        return settled
    }

    /// An attempt that has downloaded this much doesn't count as a failed one: over a bad network, a large file needs as many as it needs.
    private static let progress: Int64 = 1 << 20

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
        return postponed(for: pause, error, .postponed(by: pause, because: error), report(on: error))
    }

    /// Makes the job wait, without using up an attempt.
    private func postponed(
        for delay: Duration, _ error: TransferError, _ outcome: JobSettlement.Outcome, _ report: HostReport? = nil
    ) -> SettledJob {
        var settled = settledJob(outcome, .retrying(download: id, error: error, delay: delay))
        settled.settlement.host = report
        return settled
    }

    /// Fails the run instead of the job, because the next job would fail the same way.
    private func endRun(_ error: TransferError) -> SettledJob {
        engine.fail(error)
        return settledJob(.released, .released(download: id))
    }

    private func outcomeOfStop() async -> SettledJob? {
        switch engine.state.withLock({ $0.stopReason(of: job.lease) }) {
        case .lost:
            engine.report(.released(download: id))
            return nil
        case .cancelled:
            // In an unstructured task, because this one is cancelled.
            await Task { try? await Transfer.discardPartial(of: job.request, files: engine.core.files) }.value
            return settledJob(.cancelled, .finished(download: id, outcome: .cancelled))
        case .paused: return settledJob(.released, .paused(download: id))
        case .expiring, .unwanted, nil: return settledJob(.released, .released(download: id))
        }
    }

    private func settledJob(_ outcome: JobSettlement.Outcome, _ event: DownloadEvent) -> SettledJob {
        SettledJob(settlement: JobSettlement(lease: job.lease, outcome: outcome), event: event)
    }
}

// MARK: - Preparing

extension DownloadAttempt {
    /// Prepares attempts at claimed jobs: creates directories, and inspects the targets and checkpoints of all jobs in one step. Returns
    /// the outcomes of the attempts that end here, without a request.
    static func prepare(_ attempts: inout [DownloadAttempt]) async -> [SettledJob?] {
        guard let core = attempts.first?.engine.core else { return [] }
        // A later attempt looks again, because the first one may have changed the files.
        var targets = attempts.map { $0.isFirst ? core.knownTargets.take($0.id) : nil }
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
                latest = (request.targetDirectory, await attempt.engine.directories.make(request.directory))
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
        // Only the server knows the file's name.
        if configuration.takesServerNames { return nil }
        if job.request.checksum != nil, case .file = target.target {
            verifiesTarget = true
            return nil
        }
        switch target.decision(existing: configuration.existing, mayBePublished: mayBePublished) {
        case .download(let resuming):
            mayResume = resuming
            return nil
        case .identify: return nil
        case .complete(let bytes):
            var settled = settledJob(.done(bytes: bytes), .finished(download: id, outcome: .done(fileSize: bytes)))
            settled.completed = completed(TransferResult(bytes: bytes, isCheckpointed: true))
            return settled
        case .skip(let bytes, let hasLeftovers):
            if hasLeftovers { try? await Transfer.discardPartial(of: job.request, files: engine.core.files) }
            return settledJob(.done(bytes: bytes), .finished(download: id, outcome: .skipped))
        case .refuse(let refusal): return await failed(refusal.error(for: job.request))
        }
    }
}
