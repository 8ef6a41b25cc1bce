import SluiceConcurrency
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One call of ``DownloadCoordinator/run(until:onEvent:onWarning:)``.
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
    private let onWarning: @Sendable (QueueStoreError) -> Void
    let state: Lock<CoordinatorState>
    private let queue = AsyncQueue<DownloadAttempt>()
    private let wakes = Changes()
    private let directories: DirectoryMaker
    /// The directory of relative targets.
    private let directory: URL

    init(
        coordinator: DownloadCoordinator, end: DownloadCoordinator.RunEnd,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void,
        onWarning: @escaping @Sendable (QueueStoreError) -> Void
    ) {
        self.coordinator = coordinator
        self.end = end
        self.onEvent = onEvent
        self.onWarning = onWarning
        directories = DirectoryMaker(files: coordinator.files)
        directory = coordinator.directory
        state = Lock(
            CoordinatorState(
                CoordinatorState.Intervals(
                    poll: coordinator.store.isShared ? coordinator.timing.poll.milliseconds : nil,
                    total: coordinator.limits.total, lease: coordinator.configuration.lease.milliseconds)))
    }

    func work(as worker: QueueWorker) async throws {
        state.withLock { $0.worker = worker }
        await withTaskGroup { group in
            group.addTask { await self.listen() }
            group.addTask { await self.prune() }
            await withDiscardingTaskGroup { group in
                group.addTask { await self.repeating(.look) { await self.pump() } }
                group.addTask { await self.repeating(.renew) { await self.renew() } }
                group.addTask { await self.repeating(.guardLeases) { self.stopExpiring() } }
                for _ in 0..<coordinator.limits.total {
                    group.addTask { await self.workOff() }
                }
                await pump()
            }
            group.cancelAll()
        }
        // Settles the jobs that a failed exchange has left.
        await pump(isLast: true)
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    func wake() { request(.look) }

    private func request(_ chores: CoordinatorState.Chore...) {
        state.withLock { state in for chore in chores { state.request(chore) } }
        wakes.note()
    }

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

    /// - Parameter isLast: Whether no later exchange can record the outcomes, so that a store that can't be reached is an error.
    private func pump(isLast: Bool = false) async {
        let now = coordinator.timing.now
        guard state.withLock({ $0.beginExchange(now: now(), isLast: isLast) }) else { return }
        repeat {
            let isStopping = Task.isCancelled
            let (settled, room, worker) = state.withLock { $0.takeSettled() }
            let claim = isStopping || room == 0 ? nil : claim(room, for: worker)
            guard claim != nil || !settled.isEmpty else { continue }
            let sent = now()
            do {
                let exchange = try await coordinator.store.exchange(settled.map(\.settlement), claiming: claim)
                await take(exchange, settled, sent: sent)
            } catch let error as QueueStoreError where error.isOutage && !isLast {
                if state.withLock({ $0.postpone(settled, now: now()) }) { onWarning(error) }
                wakes.note()
            } catch {
                fail(error, giving: settled)
            }
        } while state.withLock({ $0.endExchange(now: now()) })
    }

    private func claim(_ room: Int, for worker: QueueWorker) -> JobClaim {
        var batch: String?
        if case .whenBatchIsEmpty(let name) = end { batch = name }
        return JobClaim(
            worker: worker, count: room, limits: coordinator.limits, lease: coordinator.configuration.lease,
            batch: batch, resolves: coordinator.configuration.resolve != nil, place: coordinator.store.place)
    }

    private func take(_ exchange: JobExchange, _ settled: [SettledJob], sent: Int64) async {
        let due = exchange.nextDue.map { coordinator.timing.now() + $0.milliseconds }
        let refused = Set(exchange.refused)
        for one in settled where !refused.contains(one.settlement.lease) {
            coordinator.onPhase(one.settlement.lease.job, .recorded)
            // The store has recorded the outcome, so the checkpoint is no longer needed.
            if let request = one.published { try? await Transfer.discardPartial(of: request, files: coordinator.files) }
            if let event = one.event { report(event) }
        }
        state.withLock { $0.claimed(exchange.claimed, at: sent) }
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
        let isEmpty = exchange.isEmpty && end != .whenCancelled
        if state.withLock({ $0.noteAnswer(due: due, isEmpty: isEmpty) }) { wakes.note() }
        if state.withLock({ $0.isStopping }) { queue.finish() }
    }

    func fail(_ error: any Error, giving settled: [SettledJob] = []) {
        let tasks = state.withLock { $0.fail(error, settled) }
        for task in tasks { task.cancel() }
        queue.finish()
        wakes.note()
    }

    // MARK: Time

    private func repeating(_ chore: CoordinatorState.Chore, _ body: () async -> Void) async {
        let timing = coordinator.timing
        var wake = wakes.next
        while !Task.isCancelled, !state.withLock({ $0.isStopping }) {
            let now = timing.now()
            let limit = state.withLock { $0.arm(chore, now: now) }
            await timing.wait(for: wake, until: limit.map { now + $0 })
            if Task.isCancelled { break }
            wake = wakes.next
            if state.withLock({ $0.takes(chore, now: timing.now()) }) { await body() }
        }
    }

    private func renew() async {
        guard let renewal = state.withLock({ $0.beginRenewal(now: coordinator.timing.now()) }) else { return }
        do {
            let renewed = try await coordinator.store.renew(renewal.worker, lease: coordinator.configuration.lease)
            let tasks = state.withLock { $0.endRenewal(renewal, renewed) }
            for task in tasks { task.cancel() }
            wakes.note()
        } catch let error as QueueStoreError where error.isOutage {
            state.withLock { $0.postponeRenewal(now: coordinator.timing.now()) }
        } catch {
            fail(error)
        }
    }

    private func stopExpiring() {
        let tasks = state.withLock { $0.stopExpiring(now: coordinator.timing.now()) }
        for task in tasks { task.cancel() }
    }

    /// Receives what other processes announce.
    private func listen() async {
        while !Task.isCancelled {
            do {
                return try await coordinator.store.listen { announcement in
                    state.withLock { $0.isListening = true }
                    switch announcement {
                    case .jobs: request(.look)
                    case .anything: request(.look, .renew)
                    }
                }
            } catch let error as QueueStoreError where !Task.isCancelled {
                state.withLock { $0.isListening = false }
                // The exchange tells about an outage.
                guard error.isOutage else { return onWarning(error) }
                try? await coordinator.timing.clock.sleep(for: .seconds(5))
            } catch {
                // The run has ended.
                return
            }
        }
    }

    /// Keeps the history short while the run works, in steps, so that neither the run nor other workers wait for a long history.
    private func prune() async {
        let configuration = coordinator.configuration
        var isReported = false
        repeat {
            var isLeft = false
            do {
                isLeft = try await coordinator.store.pruneSome(
                    olderThan: configuration.maximumHistoryAge, keeping: configuration.maximumHistoryCount)
            } catch let error as QueueStoreError where !error.isOutage && !Task.isCancelled {
                // A history that can't be pruned is no reason to stop. The exchange tells about an outage.
                if !isReported { onWarning(error) }
                isReported = true
            } catch {}
            try? await coordinator.timing.clock.sleep(for: isLeft ? .milliseconds(100) : .seconds(60))
        } while !Task.isCancelled
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
