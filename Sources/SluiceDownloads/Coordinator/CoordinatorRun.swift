import SluiceConcurrency
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One call of ``DownloadCoordinator/run(until:onEvent:)``.
///
/// ```text
/// store ── claims ──▶ queue ──▶ workers, as many as the total limit ── transfers ──┐
///   ▲                                                                              │
///   └──────────── exchange: settlements in, claims out ◀── settled ────────────────┘
/// ```
///
/// One task at a time exchanges settlements and claims with the store, for all tasks. Meanwhile the other tasks only add their settlements.
/// So an idle worker gets its next job directly, and many small files share a transaction.
final class CoordinatorRun: Sendable {
    let coordinator: DownloadCoordinator
    let end: DownloadCoordinator.RunEnd
    let onEvent: @Sendable (DownloadEvent) -> Void
    let state: Lock<CoordinatorState>
    private let queue = AsyncQueue<DownloadAttempt>()
    private let wakes = Changes()
    private let directories: DirectoryMaker
    /// The directory of relative targets.
    private let directory: URL

    init(
        coordinator: DownloadCoordinator, end: DownloadCoordinator.RunEnd,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) {
        self.coordinator = coordinator
        self.end = end
        self.onEvent = onEvent
        directories = DirectoryMaker(files: coordinator.files)
        directory = coordinator.directory
        state = Lock(CoordinatorState(lastRenewed: coordinator.timing.time.now()))
    }

    func work(as worker: QueueWorker) async throws {
        state.withLock { $0.worker = worker }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.tick() }
            for _ in 0..<coordinator.limits.total {
                group.addTask { await self.workOff() }
            }
            await pump()
        }
        // Settles the jobs that a failed exchange has left.
        await pump()
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    func wake() { wakes.note() }

    func stop(_ jobs: [JobID], because reason: CoordinatorState.StopReason) {
        let tasks = state.withLock { state in jobs.compactMap { state.stop($0, because: reason) } }
        for task in tasks { task.cancel() }
    }

    // MARK: The workers

    private func workOff() async {
        for await attempt in queue.elements {
            let job = attempt.job
            // An unstructured task, so that the transfer can be stopped without its worker.
            let task = Task { await attempt.carryOut() }
            if state.withLock({ $0.began(job.lease.job, task) }) { task.cancel() }
            let settled = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            state.withLock { $0.settle(job, settled) }
            await pump()
        }
    }

    func report(_ event: DownloadEvent) {
        state.withLock { $0.note(event) }
        onEvent(event)
        coordinator.observers.note(event)
    }

    // MARK: The exchange

    private func pump() async {
        guard state.withLock({ $0.beginExchange() }) else { return }
        repeat {
            let isStopping = Task.isCancelled
            let (settled, room, worker) = state.withLock { $0.takeSettled(total: coordinator.limits.total) }
            let claim = isStopping || room == 0 ? nil : claim(room, for: worker)
            guard claim != nil || !settled.isEmpty else { continue }
            do {
                let exchange = try await coordinator.store.exchange(settled.map(\.settlement), claiming: claim)
                await take(exchange, settled)
            } catch {
                fail(error, giving: settled)
            }
        } while state.withLock({ $0.endExchange() })
    }

    private func claim(_ room: Int, for worker: QueueWorker) -> JobClaim {
        var batch: String?
        if case .whenBatchIsEmpty(let name) = end { batch = name }
        return JobClaim(
            worker: worker, count: room, limits: coordinator.limits, lease: coordinator.configuration.lease,
            batch: batch, resolves: coordinator.configuration.resolve != nil, place: coordinator.store.place)
    }

    private func take(_ exchange: JobExchange, _ settled: [SettledJob]) async {
        let refused = Set(exchange.refused)
        for one in settled where !refused.contains(one.settlement.lease) {
            coordinator.onPhase(one.settlement.lease.job, .recorded)
            // The store has recorded the outcome, so the checkpoint is no longer needed.
            if let request = one.published { try? await Transfer.discardPartial(of: request, files: coordinator.files) }
            report(one.event)
        }
        state.withLock { $0.claimed(exchange.claimed) }
        for job in exchange.claimed { coordinator.onPhase(job.lease.job, .claimed) }
        var attempts = exchange.claimed.map { job in
            var job = job
            job.request = job.request.resolved(in: directory)
            return DownloadAttempt(run: self, job: job)
        }
        let decided = await DownloadAttempt.decidedBeforehand(&attempts, directories)
        for (attempt, outcome) in zip(attempts, decided) {
            if let outcome {
                state.withLock { $0.settle(attempt.job, outcome) }
            } else {
                queue.enqueue(attempt)
            }
        }
        let timing = coordinator.timing
        let due = exchange.nextDue.map { timing.time.now() + $0.milliseconds }
        let isEmpty = exchange.isEmpty && end != .whenCancelled
        if state.withLock({ $0.noteDue(due, renewal: renewalPeriod, isEmpty: isEmpty) }) { wakes.note() }
        if state.withLock({ $0.isStopping }) { queue.finish() }
    }

    func fail(_ error: any Error, giving settled: [SettledJob] = []) {
        let tasks = state.withLock { $0.fail(error, settled) }
        for task in tasks { task.cancel() }
        queue.finish()
        wakes.note()
    }

    // MARK: Time

    /// Renews leases, and looks for jobs when a delay is over or another process may have changed the queue.
    private func tick() async {
        let timing = coordinator.timing
        var wake = wakes.next
        while !Task.isCancelled, !state.withLock({ $0.isStopping }) {
            let limit = state.withLock { state in
                state.arm(
                    now: timing.time.now(), renewal: renewalPeriod,
                    poll: coordinator.store.isShared ? timing.poll.milliseconds : nil, total: coordinator.limits.total)
            }
            await timing.wait(for: wake, atMost: limit.map { .milliseconds($0) })
            if Task.isCancelled { break }
            wake = wakes.next
            await renewIfDue()
            await pump()
        }
    }

    private var renewalPeriod: Int64 { max(1, coordinator.configuration.lease.milliseconds / 3) }

    private func renewIfDue() async {
        let now = coordinator.timing.time.now()
        guard let held = state.withLock({ $0.leasesToRenew(now: now, period: renewalPeriod) }) else { return }
        do {
            let renewed = try await coordinator.store.renew(held.worker, lease: coordinator.configuration.lease)
            stop(renewed.filter { $0.stop == .cancelled }.map(\.lease.job), because: .cancelled)
            stop(renewed.filter { $0.stop == .paused }.map(\.lease.job), because: .paused)
            let lost = held.leases.subtracting(renewed.map(\.lease))
            let tasks = state.withLock { state in lost.compactMap { state.lose($0) } }
            for task in tasks { task.cancel() }
        } catch {
            fail(error, giving: [])
        }
    }

    func addProgress(to snapshot: inout QueueSnapshot) {
        state.withLock { state in
            for index in snapshot.running.indices {
                guard let progress = state.progress(of: snapshot.running[index].id) else { continue }
                snapshot.running[index].received = progress.received
                snapshot.running[index].expected = progress.expected
            }
        }
    }
}
