import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The engine of a coordinator, which works for all its callers: ``DownloadCoordinator/run(until:onEvent:onWarning:)`` and others.
///
/// ```text
/// store ── claims ──▶ queue ──▶ workers, as many as the total limit ── transfers ──┐
///   ▲                                                                              │
///   └──────────────── turn: settlements in, claims out ◀── settled ────────────────┘
/// ```
///
/// One task at a time takes a turn at the store: it settles and claims jobs for all tasks. Meanwhile, the others only add their
/// settlements. So an idle worker gets its next job right away, and many small files share a transaction. The task that takes the turn
/// touches no files: a file system that hangs blocks only the worker that uses it.
final class CoordinatorEngine: Sendable {
    let core: CoordinatorCore
    let state: Lock<CoordinatorState>
    private let queue = AsyncQueue<WorkItem>()
    private let wakeSignal = ChangeSignal()
    let directories: DirectoryMaker
    /// The base directory for relative targets.
    private let directory: URL
    private let began = Date()

    /// What the workers do.
    private enum WorkItem: Sendable {
        /// Prepares claimed jobs, as far as that is possible without the server.
        case prepare([DownloadAttempt])
        case attempt(DownloadAttempt)
        /// Remembers the files of jobs whose outcomes the store has recorded, removes their checkpoints, and reports that the jobs have ended.
        case conclude([SettledJob])
    }

    init(core: CoordinatorCore) {
        self.core = core
        directories = DirectoryMaker(files: core.files)
        directory = core.directory
        state = Lock(
            CoordinatorState(
                CoordinatorState.Intervals(
                    poll: core.store.isShared ? core.timing.poll.milliseconds : nil,
                    total: core.places, lease: core.lease.milliseconds),
                ReachWatch.Rules(breaker: core.configuration.circuitBreaker)))
    }

    // MARK: The callers

    /// Returns whether the caller has joined. If not, the run is ending.
    func add(_ caller: RunCaller) -> Bool {
        defer { wakeSignal.note() }
        return state.withLock { $0.add(caller) }
    }

    func leave(_ caller: RunCaller) -> CoordinatorState.Departure { state.withLock { $0.leave(caller) } }

    /// Tells the callers that the run has ended.
    func noteEnd() {
        for signal in state.withLock({ $0.removeCallers() }) { signal.signal() }
    }

    /// Whether every caller is waiting for a list. A list's downloads fail instead of waiting for long.
    var isAwaited: Bool { state.withLock { $0.isAwaited } }

    /// Stops the downloads that no caller wants anymore. They keep their partial files. For a caller that leaves, returns a condition that
    /// is signalled when they have stopped, and the store has recorded that or can't be reached.
    @discardableResult
    func stopUnwanted(isLeaving: Bool = false) async -> Condition? {
        // The caller's task may be cancelled, but store operations ignore that. If the store doesn't answer, the downloads continue.
        guard let jobs = try? await core.store.jobs(state.withLock { $0.activeJobs }) else { return nil }
        let (attempts, recorded) = state.withLock { $0.stopUnwanted(jobs, isLeaving: isLeaving) }
        for attempt in attempts { attempt.cancel() }
        return recorded
    }

    private func noteRecorded(_ jobs: some Sequence<JobID>) {
        for signal in state.withLock({ $0.noteRecorded(jobs) }) { signal.signal() }
    }

    /// Looks up which batches the running downloads belong to, if a caller gets only the events of one batch. Call this before they report
    /// their next events.
    func learnBatches() async {
        let unknown = state.withLock { $0.jobsOfUnknownBatches }
        guard !unknown.isEmpty, let jobs = try? await core.store.jobs(unknown) else { return }
        state.withLock { $0.noteBatches(of: jobs) }
    }

    private func onWarning(_ error: QueueStoreError) {
        for caller in state.withLock({ $0.allCallers }) { caller.onWarning(error) }
    }

    func work(as worker: QueueWorker) async throws {
        state.withLock { $0.worker = worker }
        await withTaskGroup { group in
            group.addTask { await self.listen() }
            group.addTask { await self.prune() }
            group.addTask { await self.report(as: worker) }
            await withDiscardingTaskGroup { group in
                group.addTask { await self.repeating(.look) { await self.settleAndClaim() } }
                group.addTask { await self.repeating(.renew) { await self.renew() } }
                group.addTask { await self.repeating(.guardLeases) { self.stopExpiring() } }
                for _ in 0..<core.places {
                    group.addTask { await self.keepWorking() }
                }
                await settleAndClaim()
            }
            group.cancelAll()
        }
        // A cancelled worker takes no more work items, so the last turn performs its own.
        queue.finish()
        while let item = queue.tryDequeue() { if case .conclude(let settled) = item { await conclude(settled) } }
        // Settles the jobs that a failed turn left behind.
        await settleAndClaim(isLast: true)
        await core.configuration.records?.flush()
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    func wake() { request(.look) }

    /// Reads the queue's rates again.
    func followRates() {
        state.withLock { $0.forgetRates() }
        wake()
    }

    private func request(_ tasks: CoordinatorState.TimedTask...) {
        state.withLock { state in for task in tasks { state.request(task) } }
        wakeSignal.note()
    }

    func stop(_ jobs: [JobID], because reason: CoordinatorState.StopReason) {
        let attempts = state.withLock { state in jobs.compactMap { state.stop($0, because: reason) } }
        for attempt in attempts { attempt.cancel() }
    }

    // MARK: The workers

    /// Performs work items until the queue ends. Continues in another task after an attempt was stopped (``RunningAttempt``).
    private func keepWorking() async {
        while true {
            let worker = WorkerTask()
            let task = Task { await self.runWorkItems(in: worker) }
            worker.begin(task)
            let isOver = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                worker.cancel()
            }
            if isOver { return }
            await settleAndClaim()
        }
    }

    /// Returns whether the queue has ended; `false` if an attempt was stopped.
    private func runWorkItems(in worker: WorkerTask) async -> Bool {
        for await item in queue.elements {
            switch item {
            case .prepare(let attempts): await prepare(attempts)
            case .attempt(let attempt):
                if await perform(attempt, in: worker) { return false }
                await settleAndClaim()
            case .conclude(let settled):
                await conclude(settled)
                for caller in state.withLock({ $0.endConclusion() }) { caller.signal.signal() }
            }
        }
        return true
    }

    private func prepare(_ claimed: [DownloadAttempt]) async {
        var attempts = claimed
        let outcomes = await DownloadAttempt.prepare(&attempts)
        var isSettled = false
        for (attempt, outcome) in zip(attempts, outcomes) {
            if let outcome {
                settle(attempt.job, outcome)
                isSettled = true
            } else {
                queue.enqueue(.attempt(attempt))
            }
        }
        if isSettled { await settleAndClaim() }
    }

    /// Returns whether the attempt was stopped.
    private func perform(_ attempt: DownloadAttempt, in worker: WorkerTask) async -> Bool {
        let job = attempt.job
        let running = RunningAttempt(in: worker)
        let former = state.withLock { $0.formerAttempt(before: job.lease) }
        if state.withLock({ $0.began(job.lease, running) }) { running.cancel() }
        await former?.untilEnded()
        let settled = await attempt.run()
        settle(job, settled)
        if settled == nil { noteRecorded([job.lease.job]) }
        // The next attempt waits for this, and reports its start after the end of this one.
        return running.end()
    }

    private func settle(_ job: ClaimedJob, _ outcome: SettledJob?) {
        if !state.withLock({ $0.settle(job, outcome) }), outcome?.event != nil {
            report(.released(download: job.lease.job))
        }
    }

    private func conclude(_ settled: [SettledJob]) async {
        await core.configuration.records?.complete(settled.compactMap(\.completed))
        for one in settled {
            // The store has recorded the outcome, so the checkpoint is no longer needed.
            if let request = one.published { try? await Transfer.discardPartial(of: request, files: core.files) }
            if let event = one.event { report(event) }
        }
    }

    // MARK: What attempts find out

    func refusal(of job: ClaimedJob) -> TransferError? {
        let now = core.timing.now()
        return state.withLock { $0.reach.refusal(of: job.host, now: now) }?.concerning(job.request)
    }

    func refuse(_ host: String, with error: TransferError, for time: Duration) {
        let until = core.timing.now() + time.milliseconds
        state.withLock { $0.reach.refuse(host, with: error, until: until) }
    }

    func noteFailure(of job: ClaimedJob, isSilent: Bool, _ error: TransferError) -> ReachWatch.Verdict {
        let now = core.timing.now()
        return state.withLock { $0.reach.noteFailure(of: job.host, isSilent: isSilent, error, now: now) }
    }

    /// Whether no worker of the store can reach the host.
    func isUnreachableForAll(_ host: String) async -> Bool {
        guard core.store.isShared else { return true }
        let hosts = try? await core.store.snapshot(listing: 0).hosts
        return hosts?.contains { $0.name == host && $0.isUnreachable } == true
    }

    /// Returns why no file can be created in the worker's own directory, or `nil` if one can.
    func failureOfOwnDirectory() async -> FileError? {
        do {
            try await core.files.createDirectory(at: directory)
            try await core.checkWriting(in: directory)
            return nil
        } catch {
            return error as? FileError
        }
    }

    private func noteNoOtherHost() {
        let now = core.timing.now()
        state.withLock { $0.reach.noteNoOtherHost(now: now) }
    }

    func report(_ event: DownloadEvent) {
        let callers = state.withLock { state in
            state.note(event)
            return state.listeners(to: event)
        }
        for caller in callers { caller.onEvent(event) }
        core.observers.note(event)
    }

    // MARK: The turn

    /// - Parameter isLast: Whether this is the last chance to record outcomes, so an unreachable store is an error.
    private func settleAndClaim(isLast: Bool = false) async {
        let now = core.timing.now
        guard state.withLock({ $0.beginTurn(now: now(), isLast: isLast) }) else { return }
        repeat {
            await readRatesIfDue()
            let isStopping = Task.isCancelled
            let (settled, room, worker) = state.withLock { $0.takeSettled(now: now()) }
            let silent = state.withLock { $0.reach.avoided }
            let claims = isStopping ? [] : claims(room, for: worker, avoiding: silent)
            guard !claims.isEmpty || !settled.isEmpty else { continue }
            for one in settled {
                if let ended = JobOutcome.Ended(one) {
                    core.observers.note(ended, of: one.settlement.lease.job)
                }
            }
            var unrecorded = settled
            do {
                try await takeTurns(&unrecorded, claims)
                if state.withLock({ $0.takeMissedDeparture() }) { await stopUnwanted() }
            } catch let error as QueueStoreError where error.isOutage && !isLast {
                if state.withLock({ $0.postpone(unrecorded, now: now()) }) { onWarning(error) }
                noteRecorded(unrecorded.lazy.map(\.settlement.lease.job))
                wakeSignal.note()
            } catch {
                fail(error, giving: unrecorded)
            }
        } while state.withLock({ $0.endTurn(now: now()) })
    }

    /// Reads what the queue allows all workers together, so that it applies to the jobs of this turn.
    private func readRatesIfDue() async {
        guard state.withLock({ $0.beginReadingRates(now: core.timing.now()) }) else { return }
        // If the store can't be reached, the turn reports that, and the rates stay as they are.
        guard let rates = try? await core.store.rates(besides: state.withLock({ $0.worker })) else { return }
        core.bandwidth.setShared(rates.share)
    }

    /// One claim for each batch that a caller wants, and one for the whole queue if a caller wants that. If there is no room, the claims
    /// only find out whether the batches are empty.
    private func claims(_ room: Int, for worker: QueueWorker, avoiding hosts: Set<String>) -> [JobClaim] {
        state.withLock { $0.wantedBatches }.filter { room > 0 || $0 != nil }.map { batch in
            JobClaim(
                worker: worker, count: room, limits: core.claimLimits, lease: core.lease, batch: batch,
                resolves: core.resolve != nil, machine: core.store.machine, avoiding: hosts)
        }
    }

    /// Records outcomes, which stay in `settled` until the store has them, and claims as many jobs as there is room for.
    private func takeTurns(_ settled: inout [SettledJob], _ claims: [JobClaim]) async throws {
        var (claimedCount, due): (Int, Int64?) = (0, nil)
        var empty: Set<String?> = []
        var remaining = claims[...]
        repeat {
            var claim = remaining.popFirst()
            claim?.count -= claimedCount
            let sent = core.timing.now()
            let turn = try await core.store.takeTurn(settled.map(\.settlement), claiming: claim)
            if let claim, turn.isEmpty { empty.insert(claim.batch) }
            if let next = turn.nextDue.map({ core.timing.now() + $0.milliseconds }) { due = min(due ?? .max, next) }
            claimedCount += turn.claimed.count
            let outcomes = settled
            settled = []
            await apply(turn, outcomes, sent: sent)
            // A caller whose batch is empty returns, whatever the others do. If all the room is taken, the whole queue isn't empty, so
            // don't check it.
            if claimedCount == claims.first?.count { remaining.removeAll { $0.batch == nil } }
        } while !remaining.isEmpty
        if claimedCount == 0, let claim = claims.first, claim.count > 0, !claim.avoiding.isEmpty { noteNoOtherHost() }
        core.clearFailure(isEmpty: empty.contains(nil))
        let (mustWake, callers, isStopping) = state.withLock { state in
            let callers = state.complete(empty)
            return (state.noteDue(due), callers, state.isStopping)
        }
        if mustWake { wakeSignal.note() }
        for caller in callers { caller.signal.signal() }
        if isStopping { queue.finish() }
    }

    private func apply(_ turn: JobTurn, _ settled: [SettledJob], sent: Int64) async {
        let recorded = await correctingEvents(of: settled, refused: Set(turn.refused))
        var (concluded, unconcluded): ([SettledJob], [SettledJob]) = ([], [])
        for one in recorded { if concludeAtOnce(one) { concluded.append(one) } else { unconcluded.append(one) } }
        if !unconcluded.isEmpty {
            state.withLock { $0.beginConclusion() }
            if !queue.enqueue(.conclude(unconcluded)).isEnqueued {
                await conclude(unconcluded)
                for caller in state.withLock({ $0.endConclusion() }) { caller.signal.signal() }
            }
        }
        for one in concluded { if let event = one.event { report(event) } }
        noteRecorded(settled.lazy.map(\.settlement.lease.job))
        for former in state.withLock({ $0.claimed(turn.claimed, at: sent) }) { former.cancel() }
        for job in turn.claimed { core.onPhase(job.lease.job, .claimed) }
        await learnBatches()
        if !turn.claimed.isEmpty { queue.enqueue(.prepare(turn.claimed.map(makeAttempt))) }
    }

    /// Concludes a job, except for its event, if that needs no file operation. Otherwise returns `false`.
    private func concludeAtOnce(_ settled: SettledJob) -> Bool {
        if settled.published != nil { return false }
        guard let completed = settled.completed, let records = core.configuration.records else { return true }
        return records.recordAtOnce(completed)
    }

    private func makeAttempt(_ job: ClaimedJob) -> DownloadAttempt {
        var (job, isInOwnDirectory) = (job, job.request.isRelative)
        if !isInOwnDirectory, core.configuration.directory != nil {
            isInOwnDirectory = job.request.relative(to: directory) != nil
        }
        job.request = job.request.resolved(in: directory)
        return DownloadAttempt(engine: self, job: job, isInOwnDirectory: isInOwnDirectory)
    }

    /// Returns the jobs with events that say what the store did with them: a job may have been cancelled while its attempt ended, or
    /// enqueued again while it was being cancelled, and a job whose lease was lost no longer belongs to this worker.
    private func correctingEvents(of settled: [SettledJob], refused: Set<JobLease>) async -> [SettledJob] {
        var settled = settled
        var doubtful: [JobID: Int] = [:]
        for index in settled.indices {
            let lease = settled[index].settlement.lease
            if refused.contains(lease) {
                (settled[index].published, settled[index].completed) = (nil, nil)
                core.observers.revokeOutcome(of: lease.job)
                if settled[index].event != nil { settled[index].event = .released(download: lease.job) }
            } else {
                core.onPhase(lease.job, .recorded)
                if !settled[index].settlement.outcome.isFinal { doubtful[lease.job] = index }
            }
        }
        guard !doubtful.isEmpty, let jobs = try? await core.store.jobs(Array(doubtful.keys)) else {
            return settled
        }
        for job in jobs {
            guard let index = doubtful[job.id], settled[index].event != nil else { continue }
            let isCancelled = settled[index].settlement.outcome == .cancelled
            if job.state == .cancelled {
                settled[index].event = .finished(download: job.id, outcome: .cancelled)
            } else if isCancelled, !job.state.isFinal {
                settled[index].event = .released(download: job.id)
                core.observers.noteEnd(in: job.id, keeping: job.members)
            }
        }
        for (job, index) in doubtful {
            if case .finished(_, .cancelled) = settled[index].event { core.observers.note(.cancelled, of: job) }
        }
        return settled
    }

    func fail(_ error: any Error, giving settled: [SettledJob] = []) {
        let attempts = state.withLock { $0.fail(error, settled) }
        for attempt in attempts { attempt.cancel() }
        queue.finish()
        wakeSignal.note()
    }

    // MARK: Time

    private func repeating(_ task: CoordinatorState.TimedTask, _ body: () async -> Void) async {
        let timing = core.timing
        var wake = wakeSignal.next
        while !Task.isCancelled, !state.withLock({ $0.isStopping }) {
            let now = timing.now()
            let limit = state.withLock { $0.arm(task, now: now) }
            await timing.wait(for: wake, until: limit.map { now + $0 })
            if Task.isCancelled { break }
            wake = wakeSignal.next
            if state.withLock({ $0.takes(task, now: timing.now()) }) { await body() }
        }
    }

    private func renew() async {
        guard let renewal = state.withLock({ $0.beginRenewal(now: core.timing.now()) }) else { return }
        do {
            let renewed = try await core.store.renew(renewal.worker, lease: core.lease)
            let attempts = state.withLock { $0.endRenewal(renewal, renewed) }
            for attempt in attempts { attempt.cancel() }
            wakeSignal.note()
        } catch let error as QueueStoreError where error.isOutage {
            state.withLock { $0.postponeRenewal(now: core.timing.now()) }
        } catch {
            fail(error)
        }
    }

    private func stopExpiring() {
        let attempts = state.withLock { $0.stopExpiring(now: core.timing.now()) }
        for attempt in attempts { attempt.cancel() }
    }

    /// Receives announcements from other processes.
    private func listen() async {
        while !Task.isCancelled {
            do {
                return try await core.store.listen { announcement in
                    state.withLock { $0.isListening = true }
                    switch announcement {
                    case .jobs: request(.look)
                    case .anything:
                        state.withLock { $0.forgetRates() }
                        request(.look, .renew)
                    }
                }
            } catch let error as QueueStoreError where !Task.isCancelled {
                state.withLock { $0.isListening = false }
                // The turn reports outages.
                guard error.isOutage else { return onWarning(error) }
                try? await core.timing.clock.sleep(for: .seconds(5))
            } catch {
                // The run has ended.
                return
            }
        }
    }

    /// Prunes the history in steps while the queue runs, so that a long history doesn't hold up this run or other workers.
    private func prune() async {
        let configuration = core.configuration
        var isReported = false
        repeat {
            var isLeft = false
            do {
                isLeft = try await core.store.pruneSome(
                    olderThan: configuration.maximumHistoryAge, keeping: configuration.maximumHistoryCount)
            } catch let error as QueueStoreError where !error.isOutage && !Task.isCancelled {
                // A history that can't be pruned is no reason to stop. The turn reports outages.
                if !isReported { onWarning(error) }
                isReported = true
            } catch {}
            try? await core.timing.clock.sleep(for: isLeft ? .milliseconds(100) : .seconds(60))
        } while !Task.isCancelled
    }

    /// Reports this worker and the progress of its downloads, so that other processes can show them. An idle worker reports less often, to
    /// show that it is alive.
    private func report(as worker: QueueWorker) async {
        var idleRounds = 0
        repeat {
            let progress = state.withLock { $0.reportedProgress }
            idleRounds = progress.isEmpty ? idleRounds + 1 : 0
            if idleRounds <= 1 || core.store.isShared && idleRounds % 6 == 0 {
                // Nothing depends on it. The turn reports outages.
                try? await core.store.report(presence(), of: worker, progress)
            }
            // Reports don't affect the queue, so a test's clock needn't advance for them.
            try? await Task.sleep(for: WorkerPresence.reportInterval)
        } while !Task.isCancelled
    }

    /// Reports that the worker has ended because of an error, so that other processes can show why it is gone.
    func report(_ error: TransferError, of worker: QueueWorker) async {
        try? await core.store.report(presence(failure: error.storedLine), of: worker, [])
    }

    private func presence(failure: String? = nil) -> WorkerPresence {
        WorkerPresence(
            machine: MachineName.current, process: Int64(ProcessInfo.processInfo.processIdentifier), began: began,
            limits: core.claimLimits, resolves: core.resolve != nil, failure: failure)
    }

    func addProgress(to snapshot: inout QueueSnapshot) {
        state.withLock { state in
            for index in snapshot.running.indices {
                guard let progress = state.progress(of: snapshot.running[index].id) else { continue }
                snapshot.running[index].receivedBytes = progress.received
                snapshot.running[index].totalBytes = progress.expected
            }
        }
    }
}

// MARK: - The clock

/// A core's clock and intervals. The clock is monotonic, because the system clock can be set.
struct CoordinatorTiming: Sendable {
    let clock: any Clock<Duration>
    /// The time in milliseconds since the value was created.
    let now: @Sendable () -> Int64
    private let waitUntil: @Sendable (Condition, Int64) async -> Void
    /// The interval at which a shared store is checked for changes by other processes.
    var poll: Duration
    /// The minimum time between two snapshots.
    var frame: Duration

    static let system = CoordinatorTiming()

    init(
        clock: some Clock<Duration> = .continuous, poll: Duration = .seconds(1), frame: Duration = .milliseconds(100)
    ) {
        self.clock = clock
        self.poll = poll
        self.frame = frame
        let start = clock.now
        now = { start.duration(to: clock.now).milliseconds }
        waitUntil = { _ = try? await $0.wait(until: start.advanced(by: .milliseconds($1)), clock: clock) }
    }

    /// Waits until a condition is signalled or it is `time` (see ``now``). Returns immediately if the task is cancelled.
    func wait(for condition: Condition, until time: Int64?) async {
        if let time {
            await waitUntil(condition, time)
        } else {
            _ = try? await condition.waitUnlessCancelled()
        }
    }

    /// Waits until a condition is signalled or the limit passes. Returns immediately if the task is cancelled.
    func wait(for condition: Condition, atMost limit: Duration? = nil) async {
        await wait(for: condition, until: limit.map { now() + $0.milliseconds })
    }
}
