import SluiceConcurrency

/// The state of a run and its jobs, as a pure value under the run's lock. Times are in milliseconds since the run began.
struct CoordinatorState {
    enum StopReason {
        case cancelled
        case paused
        /// The lease was lost, so another worker may have the job.
        case lost
        /// The lease couldn't be renewed, and is about to expire.
        case expiring
        /// The caller that wanted it has left.
        case unwanted
    }

    /// The periodic work of a run. Each kind has its own task, because the store may be slow.
    enum TimedTask: Int, CaseIterable {
        /// Looks for jobs when a delay is over, or when another process may have changed the queue.
        case look
        /// Renews leases.
        case renew
        /// Stops the transfers of jobs whose leases couldn't be renewed.
        case guardLeases
    }

    struct Intervals {
        /// The interval at which to poll the store for changes by other processes; `nil` for a store that no other process uses. While the
        /// store announces changes, the interval is five times as long.
        var poll: Int64?
        /// The number of jobs that can run.
        var total: Int
        var lease: Int64

        /// Whether other workers can claim a job whose lease has expired.
        var isShared: Bool { poll != nil }
        var renewal: Int64 { max(1, lease / 3) }
        /// How long a worker relies on a lease.
        var reliance: Int64 { max(1, lease / 3 * 2) }
    }

    /// A class, because progress is noted for each piece that arrives.
    private final class Active: @unchecked Sendable {
        // The run's lock protects it, like the rest of the state.
        let lease: JobLease
        /// When the claim or the last renewal was sent to the store. The store counts from a later time.
        var heldSince: Int64
        var attempt: RunningAttempt?
        /// An attempt under an earlier lease of this worker, which is being stopped.
        var former: RunningAttempt?
        var stop: StopReason?
        var received: Int64 = 0
        var expected: Int64?

        init(lease: JobLease, heldSince: Int64, former: RunningAttempt?) {
            self.lease = lease
            self.heldSince = heldSince
            self.former = former
        }
    }

    private let intervals: Intervals
    /// Jobs that are claimed and not yet settled with the store.
    private var active: [JobID: Active] = [:]
    private var settled: [SettledJob] = []
    /// Leases that the store granted without this worker knowing, because the response to its claim was lost.
    private var unknown: Set<JobLease> = []
    private var isTakingTurn = false
    private var wantsAnother = false
    /// Whether the current turn has noted what is due next.
    private var isDueKnown = false
    /// Whether someone asked to stop a job that the current turn may have claimed.
    private var hasMissedStop = false
    /// Whether a caller left during the current turn, which may have claimed jobs that only this caller wanted.
    private var hasMissedDeparture = false
    /// For each caller that is leaving, its stopped downloads that the store hasn't recorded as stopped yet.
    private var leavingCallers: [(unrecorded: Set<JobID>, signal: Signal)] = []
    private var turnCount = 0
    private var due: Int64?
    private var armed = TimedTask.allCases.map { _ in Int64.max }
    private var requested: Set<TimedTask> = []
    /// When to retry a store that couldn't be reached.
    private var outage = Outage()
    private var renewalOutage = Outage()
    private var isOutageReported = false
    /// `nil` until the run has attached to the store.
    var worker: QueueWorker?
    /// Whether the store announces changes.
    var isListening = false
    /// When the queue's rates were last read; `nil` if they have to be read again.
    private var ratesReadAt: Int64?
    /// What the attempts have learned about hosts and the network.
    var reach: ReachWatch
    private var callers: [Caller] = [] {
        didSet { noteCallers() }
    }
    /// Who gets the events of a job whose batches don't matter: everyone.
    private(set) var allCallers: [RunCaller] = []
    /// Whether some jobs may be in one caller's batch and not in another's.
    private var hasSeveralScopes = false
    /// Whether all callers are waiting for lists.
    private(set) var isAwaited = false
    /// The batches of running jobs, where they matter for callers' events.
    private var batches: [JobID: Set<String>] = [:]
    /// The number of conclusions that haven't reported the ends of their jobs yet.
    private var concluding = 0
    /// How many times in a row a job has been resolved to another host, without an attempt in between.
    private var moves: [JobID: Int] = [:]
    /// The downloads that have gone on with a mirror, until they end.
    private var mirrorTurns: [JobID: MirrorTurn] = [:]
    private(set) var isStopping = false
    private(set) var failure: (any Error)?

    init(_ intervals: Intervals, _ rules: ReachWatch.Rules) {
        self.intervals = intervals
        reach = ReachWatch(rules)
    }

    // MARK: Callers

    /// A caller of the engine. It stays after its downloads have ended, until it leaves.
    private struct Caller {
        let caller: RunCaller
        var isComplete = false
        var isNotified = false
    }

    enum Departure: Equatable {
        /// The engine continues for other callers.
        case othersStay(isComplete: Bool)
        /// The engine must be cancelled.
        case last
        /// The engine is ending, and the caller waits until it has ended.
        case ending
    }

    private var open: some Sequence<RunCaller> { callers.lazy.filter { !$0.isComplete }.map(\.caller) }

    /// Returns whether the caller has joined. If not, the run is ending.
    mutating func add(_ caller: RunCaller) -> Bool {
        guard !isStopping else { return false }
        callers.append(Caller(caller: caller))
        changeRules()
        requested.insert(.look)
        return true
    }

    mutating func leave(_ caller: RunCaller) -> Departure {
        guard !isStopping, let index = callers.firstIndex(where: { $0.caller === caller }) else { return .ending }
        guard open.contains(where: { $0 !== caller }) else {
            // It stays until its downloads have stopped.
            isStopping = true
            return .last
        }
        let isComplete = callers.remove(at: index).isComplete
        changeRules()
        if isTakingTurn, !isComplete { hasMissedDeparture = true }
        return .othersStay(isComplete: isComplete)
    }

    /// Removes all callers after the engine has ended, and returns their signals. No caller can join later, because nobody would notify it.
    mutating func removeCallers() -> [Signal] {
        defer { (callers, leavingCallers, isStopping) = ([], [], true) }
        return callers.map(\.caller.signal) + leavingCallers.map(\.signal)
    }

    /// Whether the jobs of the last claim must be checked, because a caller left in the meantime.
    mutating func takeMissedDeparture() -> Bool {
        defer { hasMissedDeparture = false }
        return hasMissedDeparture
    }

    /// The most patient caller decides how to handle failures.
    private mutating func changeRules() {
        isAwaited = !open.contains { !$0.isAwaited }
        reach.rules.waitsForNetwork = open.contains { !$0.isAwaited }
        reach.rules.endsWithoutNetwork = !open.contains { $0.end == .whenCancelled }
    }

    private var wantsAll: Bool { open.contains { $0.batch == nil } }

    /// The batches to claim from, in order; `nil` means all jobs. Each turn begins with a different batch, so that a long one doesn't
    /// starve the others.
    var wantedBatches: [String?] {
        var wanted: [String?] = []
        for case let batch? in open.map(\.batch) where !wanted.contains(batch) { wanted.append(batch) }
        if wanted.count > 1 {
            let first = turnCount % wanted.count
            wanted = Array(wanted[first...] + wanted[..<first])
        }
        return wantsAll ? wanted + [nil] : wanted
    }

    private mutating func noteCallers() {
        allCallers = callers.map(\.caller)
        hasSeveralScopes = Set(open.map(\.batch)).count > 1
    }

    /// Running jobs whose batches a caller needs to know.
    var jobsOfUnknownBatches: [JobID] {
        guard hasSeveralScopes, open.contains(where: { !$0.isAwaited && $0.batch != nil }) else { return [] }
        return active.keys.filter { batches[$0] == nil }
    }

    mutating func noteBatches(of jobs: [QueuedDownload]) {
        for job in jobs where active[job.id] != nil { batches[job.id] = Set(job.members.compactMap(\.batch)) }
    }

    /// The callers that get an event. A caller that waits for a list gets every event; it knows which downloads are its own.
    mutating func listeners(to event: DownloadEvent) -> [RunCaller] {
        if !hasSeveralScopes, batches.isEmpty { return allCallers }
        let known = event.download.flatMap { batches[$0] }
        // A job that this worker has got again is still running.
        if !event.isProgress, let download = event.download, active[download] == nil { batches[download] = nil }
        guard hasSeveralScopes || known != nil else { return allCallers }
        return allCallers.filter { caller in
            guard !caller.isAwaited, let batch = caller.batch else { return true }
            return known?.contains(batch) == true
        }
    }

    /// Stops the running jobs that no caller wants. Returns the attempts to cancel and, for a caller that leaves, a condition that is
    /// signalled when the store has recorded that these jobs have stopped.
    mutating func stopUnwanted(
        _ jobs: [QueuedDownload], isLeaving: Bool = false
    ) -> (attempts: [RunningAttempt], recorded: Condition?) {
        guard !wantsAll else { return ([], nil) }
        let wanted = Set(open.compactMap(\.batch))
        let unwanted = jobs.filter { job in
            guard let active = active[job.id], active.stop == nil else { return false }
            return !job.members.contains { $0.batch.map(wanted.contains) == true }
        }.map(\.id)
        let attempts = unwanted.compactMap { stop($0, because: .unwanted) }
        guard isLeaving, !unwanted.isEmpty else { return (attempts, nil) }
        let (recorded, signal) = Condition.makeCondition()
        leavingCallers.append((Set(unwanted), signal))
        return (attempts, recorded)
    }

    /// Returns the signals of callers that were waiting only for these jobs.
    mutating func noteRecorded(_ jobs: some Sequence<JobID>) -> [Signal] {
        guard !leavingCallers.isEmpty else { return [] }
        for index in leavingCallers.indices { leavingCallers[index].unrecorded.subtract(jobs) }
        defer { leavingCallers.removeAll(where: \.unrecorded.isEmpty) }
        return leavingCallers.filter(\.unrecorded.isEmpty).map(\.signal)
    }

    var activeJobs: [JobID] { Array(active.keys) }

    /// Notes the batches in which nothing is waiting or running (`nil` means the whole queue), and returns the callers to notify. If no
    /// caller remains, the run ends, and notifies all of them.
    mutating func complete(_ empty: Set<String?>) -> [RunCaller] {
        let ended = callers.indices.filter { index in
            let caller = callers[index].caller
            guard !callers[index].isComplete, caller.end != .whenCancelled else { return false }
            return empty.contains(nil) || (caller.batch != nil && empty.contains(caller.batch))
        }
        guard !ended.isEmpty else { return [] }
        let isLast = ended.count == callers.count { !$0.isComplete }
        // The outcomes of these jobs need another turn.
        if isLast, !(active.isEmpty && settled.isEmpty) { return [] }
        for index in ended { callers[index].isComplete = true }
        if isLast { isStopping = true } else { changeRules() }
        return callersToNotify()
    }

    mutating func beginConclusion() { concluding += 1 }

    mutating func endConclusion() -> [RunCaller] {
        concluding -= 1
        return callersToNotify()
    }

    /// A caller leaves only after the ends of its jobs have been reported.
    private mutating func callersToNotify() -> [RunCaller] {
        guard concluding == 0, !isStopping else { return [] }
        let ended = callers.indices.filter { callers[$0].isComplete && !callers[$0].isNotified }
        for index in ended { callers[index].isNotified = true }
        return ended.map { callers[$0].caller }
    }

    // MARK: Jobs

    /// Returns the attempts to cancel: if a lease expires before it is renewed, the store may give this worker the same job again.
    mutating func claimed(_ jobs: [ClaimedJob], at sent: Int64) -> [RunningAttempt] {
        jobs.compactMap { job in
            let former = active[job.lease.job]?.attempt
            active[job.lease.job] = Active(lease: job.lease, heldSince: sent, former: former)
            return former
        }
    }

    /// Returns the attempt that must end before an attempt under this lease may touch the partial file.
    func formerAttempt(before lease: JobLease) -> RunningAttempt? {
        active[lease.job].flatMap { $0.lease == lease ? $0.former : nil }
    }

    /// Returns whether the caller must cancel the attempt.
    mutating func began(_ lease: JobLease, _ attempt: RunningAttempt) -> Bool {
        guard active[lease.job]?.lease == lease else { return true }
        active[lease.job]?.attempt = attempt
        return active[lease.job]?.stop != nil || failure != nil
    }

    /// Returns why an attempt must stop; `nil` if it needn't, or because the run ends.
    func stopReason(of lease: JobLease) -> StopReason? {
        guard let job = active[lease.job] else { return nil }
        return job.lease == lease ? job.stop : .lost
    }

    /// Returns the attempt to cancel.
    mutating func stop(_ job: JobID, because reason: StopReason) -> RunningAttempt? {
        // The current turn may have claimed the job. The renewal after it tells whether the job has to stop.
        if active[job] == nil, isTakingTurn { hasMissedStop = true }
        active[job]?.stop = reason
        return active[job]?.attempt
    }

    /// Notes that a job was resolved to another host. Returns how many times in a row that had happened before.
    mutating func noteMove(_ job: JobID) -> Int {
        defer { moves[job, default: 0] += 1 }
        return moves[job] ?? 0
    }

    mutating func noteResolved(_ job: JobID) { if !moves.isEmpty { moves[job] = nil } }

    func mirrorTurn(of job: JobID) -> MirrorTurn? { mirrorTurns.isEmpty ? nil : mirrorTurns[job] }

    /// Returns what follows after the current one of a download's URLs has failed.
    mutating func noteMirrorFailure(of job: JobID, count: Int, isPermanent: Bool) -> (MirrorTurn.Step, current: Int) {
        var turn = mirrorTurns[job] ?? MirrorTurn(count: count)
        let step = turn.fail(isPermanent: isPermanent)
        mirrorTurns[job] = step == .allFailed ? nil : turn
        return (step, turn.current)
    }

    /// Returns whether the outcome counts. It doesn't if the lease was lost and the store has given the job to this worker again.
    mutating func settle(_ job: ClaimedJob, _ outcome: SettledJob?) -> Bool {
        guard active[job.lease.job]?.lease == job.lease else { return false }
        if !mirrorTurns.isEmpty, outcome?.settlement.outcome.endsAttempts ?? true { mirrorTurns[job.lease.job] = nil }
        if let outcome { settled.append(outcome) } else { active[job.lease.job] = nil }
        wantsAnother = isTakingTurn
        return true
    }

    mutating func note(_ event: DownloadEvent) {
        switch event {
        case .responded(let job, let announced, let resumed):
            active[job]?.expected = announced
            active[job]?.received = resumed
        case .received(let job, let bytes): active[job]?.received = bytes
        default: break
        }
    }

    func progress(of job: JobID) -> (received: Int64, expected: Int64?)? {
        active[job].map { ($0.received, $0.expected) }
    }

    var reportedProgress: [ReportedProgress] {
        active.map { ReportedProgress(job: $0, receivedBytes: $1.received, totalBytes: $1.expected) }
    }

    // MARK: The turn

    /// Returns whether the caller performs the turn. If not, the task that is performing one will do another, or the store couldn't be
    /// reached and is retried later. With `isLast`, it is tried anyway.
    mutating func beginTurn(now: Int64, isLast: Bool = false) -> Bool {
        guard isLast || now >= outage.until else { return false }
        wantsAnother = isTakingTurn
        guard !isTakingTurn else { return false }
        (isTakingTurn, isDueKnown) = (true, false)
        turnCount += 1
        return true
    }

    /// Returns whether the queue's rates have to be read now, because another process may have changed them or have begun to use a part.
    mutating func beginReadingRates(now: Int64) -> Bool {
        if let ratesReadAt {
            guard let interval = pollInterval, now >= ratesReadAt + interval else { return false }
        }
        ratesReadAt = now
        return true
    }

    mutating func forgetRates() { ratesReadAt = nil }

    mutating func endTurn(now: Int64) -> Bool {
        defer { (wantsAnother, isDueKnown) = (false, false) }
        isTakingTurn = wantsAnother && failure == nil && now >= outage.until
        if !isTakingTurn { hasMissedStop = false }
        return isTakingTurn
    }

    /// `room` is the number of jobs that can be claimed.
    mutating func takeSettled(now: Int64) -> (settled: [SettledJob], room: Int, worker: QueueWorker) {
        guard let worker else { return ([], 0, QueueWorker(name: "")) }
        defer { (settled, unknown) = ([], []) }
        for one in settled { active[one.settlement.lease.job] = nil }
        let released = unknown.map { SettledJob(settlement: JobSettlement(lease: $0, outcome: .released)) }
        let room = isStopping ? 0 : reach.room(max(0, intervals.total - active.count), now: now)
        return (settled + released, room, worker)
    }

    mutating func fail(_ error: any Error, _ unrecorded: [SettledJob]) -> [RunningAttempt] {
        settled = unrecorded + settled
        failure = failure ?? error
        isStopping = true
        return active.values.compactMap(\.attempt)
    }

    /// Keeps outcomes for later, because the store couldn't be reached. Returns whether to report the outage, which is reported only once.
    mutating func postpone(_ unrecorded: [SettledJob], now: Int64) -> Bool {
        var unrecorded = unrecorded
        for index in unrecorded.indices { unrecorded[index].settlement.mayBeRecorded = true }
        settled = unrecorded + settled
        outage.extend(from: now)
        defer { isOutageReported = true }
        return !isOutageReported
    }

    /// Notes when the next job is due, as the store has responded. Returns whether a waiting task must be woken.
    mutating func noteDue(_ due: Int64?) -> Bool {
        (outage, isOutageReported) = (Outage(), false)
        (self.due, isDueKnown) = (due, true)
        if hasMissedStop {
            hasMissedStop = false
            requested.insert(.renew)
            return true
        }
        return isStopping || TimedTask.allCases.contains { (time(of: $0) ?? .max) < armed[$0.rawValue] }
    }

    // MARK: Leases

    /// A renewal that is sent to the store.
    struct Renewal {
        var worker: QueueWorker
        fileprivate var sent: Int64
        fileprivate var leases: Set<JobLease>
        /// The turn after which it began, or `nil` if one was running.
        fileprivate var turn: Int?
    }

    mutating func beginRenewal(now: Int64) -> Renewal? {
        guard let worker, !active.isEmpty else { return nil }
        return Renewal(
            worker: worker, sent: now, leases: Set(active.values.map(\.lease)),
            turn: isTakingTurn ? nil : turnCount)
    }

    /// Returns the attempts to cancel.
    mutating func endRenewal(_ renewal: Renewal, _ renewed: [RenewedLease]) -> [RunningAttempt] {
        renewalOutage = Outage()
        var attempts: [RunningAttempt?] = []
        for one in renewed where active[one.lease.job]?.lease == one.lease {
            active[one.lease.job]?.heldSince = renewal.sent
            switch one.stop {
            case .cancelled: attempts.append(stop(one.lease.job, because: .cancelled))
            case .paused: attempts.append(stop(one.lease.job, because: .paused))
            case nil: break
            }
        }
        // A job may have been settled in the meantime.
        for lease in renewal.leases.subtracting(renewed.map(\.lease)) where active[lease.job]?.lease == lease {
            attempts.append(stop(lease.job, because: .lost))
        }
        if renewal.turn == turnCount, !isTakingTurn {
            let mine = Set(active.values.map(\.lease)).union(settled.map(\.settlement.lease))
            unknown = Set(renewed.map(\.lease)).subtracting(mine)
            if !unknown.isEmpty { requested.insert(.look) }
        }
        return attempts.compactMap(\.self)
    }

    mutating func postponeRenewal(now: Int64) { renewalOutage.extend(from: now) }

    /// Stops the jobs whose leases are about to expire, and returns the attempts to cancel.
    mutating func stopExpiring(now: Int64) -> [RunningAttempt] {
        let jobs = active.values.filter { $0.stop == nil && now >= $0.heldSince + intervals.reliance }
        return jobs.compactMap { stop($0.lease.job, because: .expiring) }
    }

    // MARK: Time

    /// Returns the time to wait; `nil` to wait until woken.
    mutating func arm(_ task: TimedTask, now: Int64) -> Int64? {
        var time = requested.contains(task) ? now : time(of: task)
        // Until the turn has noted what is due next, it also picks up what is overdue. After that, whatever comes due needs another turn.
        let isLookedFor = isTakingTurn && (!isDueKnown || wantsAnother)
        if task == .look, let due = time, due <= now, isLookedFor, !requested.contains(task) { time = nil }
        if task == .look, let interval = pollInterval { time = min(time ?? .max, now + interval) }
        armed[task.rawValue] = time ?? .max
        return time.map { max(0, $0 - now) }
    }

    /// Returns whether to do it now.
    mutating func takes(_ task: TimedTask, now: Int64) -> Bool {
        requested.remove(task) != nil || now >= armed[task.rawValue]
    }

    mutating func request(_ tasks: TimedTask...) { requested.formUnion(tasks) }

    private var pollInterval: Int64? { intervals.poll.map { isListening ? 5 * $0 : $0 } }

    /// Due times matter only while jobs can be claimed. Otherwise the loop would spin until a job ends, which starts a turn anyway.
    private func time(of task: TimedTask) -> Int64? {
        switch task {
        case .look:
            if outage.until > 0 { return outage.until }
            guard active.count < intervals.total else { return nil }
            return reach.nextTry ?? due
        case .renew:
            let held = active.values.lazy.filter { $0.stop != .lost }.map(\.heldSince).min()
            return held.map { max($0 + intervals.renewal, renewalOutage.until) }
        case .guardLeases:
            guard intervals.isShared else { return nil }
            return active.values.lazy.filter { $0.stop == nil }.map(\.heldSince).min().map { $0 + intervals.reliance }
        }
    }
}

/// The backoff between attempts to reach the store: exponential, with jitter of up to a half, so that many workers don't all return at
/// once.
private struct Outage {
    private(set) var until: Int64 = 0
    private var pause: Int64 = 100

    private static let maximumPause: Int64 = 5000

    mutating func extend(from now: Int64) {
        until = now + Int64.random(in: pause / 2...pause)
        pause = min(pause * 2, Self.maximumPause)
    }
}

/// The outcome of a job before the store has recorded it.
struct SettledJob: Sendable {
    var settlement: JobSettlement
    var event: DownloadEvent?
    /// The request, if its file has its final name and a checkpoint.
    var published: DownloadRequest?
    /// The file, if this attempt downloaded it.
    var completed: DownloadRecords.Completed?
}
