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
    var mayResume = true

    var id: JobID { job.lease.job }
    var configuration: DownloadCoordinator.Configuration { run.coordinator.configuration }

    /// Returns `nil` if the lease was lost: then another worker has the job, and there is nothing to settle.
    func carryOut() async -> SettledJob? {
        guard !Task.isCancelled else { return await stopped() }
        run.report(.started(job: id, attempt: job.failures + 1))
        do {
            let resolution = try await resolution()
            if let resolution, case let host = DownloadRequest.host(of: resolution.url), host != job.host {
                return settled(.moved(host: host), .released(job: id))
            }
            let result = try await makeTransfer(resolution).run()
            var settled = settled(.done(bytes: result.bytes), .finished(job: id, outcome: .done(bytes: result.bytes)))
            settled.settlement.host = .reached
            if result.isCheckpointed { settled.published = job.request }
            return settled
        } catch let error as TransferError where !Task.isCancelled {
            var settled = failed(error)
            settled.settlement.host = report(on: error)
            return settled
        } catch {
            return await stopped()
        }
    }

    /// Returns `nil` for a request that has a URL.
    private func resolution() async throws -> DownloadResolution? {
        guard job.request.isUnresolved, let resolve = configuration.resolve else { return nil }
        do {
            return try await resolve(job.request)
        } catch let error where !(error is CancellationError || error is TransferError) {
            throw TransferError.resolutionFailed(error, of: job.request)
        }
    }

    private func makeTransfer(_ resolution: DownloadResolution?) async throws -> Transfer {
        var request = job.request
        if let resolution { request.headerFields.append(contentsOf: resolution.headerFields) }
        if let fields = configuration.headerFields {
            do {
                request.headerFields.append(contentsOf: try await fields(job.request))
            } catch let error where !(error is CancellationError) {
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

    /// What an error tells about the host.
    private func report(on error: TransferError) -> HostReport? {
        if let delay = error.retryAfter, error.isTransient, delay <= configuration.retries.maximumRetryAfter {
            return .busy(for: delay)
        }
        if error.status != nil { return .reached }
        guard error.isConnectionFailure, let breaker = configuration.circuitBreaker else { return nil }
        return .unreachable(limit: breaker.maximumFailures, pause: breaker.pause)
    }

    func failed(_ error: TransferError) -> SettledJob {
        var error = error
        error.attempts = job.failures + 1
        if error.fileError?.code == .noSpace {
            // The run fails instead of the job, because the next job would fail in the same way.
            run.fail(error)
            return settled(.released, .released(job: id))
        }
        if error.code == .fileExists, configuration.existing == .skip {
            return settled(.done(bytes: 0), .finished(job: id, outcome: .skipped))
        }
        var (isTransient, retryAfter) = (error.isTransient, error.retryAfter)
        if error.fileError?.code == .locked, run.coordinator.store.isShared {
            // A worker that was suspended and has lost its lease keeps the file locked until it continues or ends.
            (isTransient, retryAfter) = (true, configuration.lease)
        }
        var random = SystemRandomNumberGenerator()
        if isTransient,
            let delay = configuration.retries.delay(
                beforeRetry: error.attempts, retryAfter: retryAfter, using: &random)
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
            // An unstructured task, because this one is cancelled.
            await Task { try? await Transfer.discardPartial(of: job.request, files: run.coordinator.files) }.value
            return settled(.cancelled, .finished(job: id, outcome: .cancelled))
        case .paused: return settled(.released, .paused(job: id))
        case .expiring, nil: return settled(.released, .released(job: id))
        }
    }

    func settled(_ outcome: JobSettlement.Outcome, _ event: DownloadEvent) -> SettledJob {
        SettledJob(settlement: JobSettlement(lease: job.lease, outcome: outcome), event: event)
    }
}
