/// The state of a run and its jobs: a pure value under the run's lock.
struct CoordinatorState {
    enum StopReason {
        case cancelled
        case paused
        /// The lease was lost, so another worker may have the job.
        case lost
    }

    private struct Active {
        var lease: JobLease
        var task: Task<SettledJob?, Never>?
        var stop: StopReason?
        var received: Int64 = 0
        var expected: Int64?
    }

    /// Jobs that are claimed and not yet settled with the store.
    private var active: [JobID: Active] = [:]
    private var settled: [SettledJob] = []
    private var isExchanging = false
    private var wantsAnother = false
    private var armedUntil: Int64 = .max
    private var due: Int64?
    private var lastRenewed: Int64
    /// `nil` until the run has attached to the store.
    var worker: QueueWorker?
    private(set) var isStopping = false
    private(set) var failure: (any Error)?

    init(lastRenewed: Int64) { self.lastRenewed = lastRenewed }

    // MARK: Jobs

    mutating func claimed(_ jobs: [ClaimedJob]) {
        for job in jobs { active[job.lease.job] = Active(lease: job.lease) }
    }

    /// Returns whether the caller must cancel the task.
    mutating func began(_ job: JobID, _ task: Task<SettledJob?, Never>) -> Bool {
        active[job]?.task = task
        return active[job]?.stop != nil || failure != nil
    }

    func stopReason(of job: JobID) -> StopReason? { active[job]?.stop }

    /// Returns the task to cancel.
    mutating func stop(_ job: JobID, because reason: StopReason) -> Task<SettledJob?, Never>? {
        active[job]?.stop = reason
        return active[job]?.task
    }

    mutating func lose(_ lease: JobLease) -> Task<SettledJob?, Never>? {
        // The job may have been settled meanwhile.
        guard active[lease.job]?.lease == lease else { return nil }
        return stop(lease.job, because: .lost)
    }

    mutating func settle(_ job: ClaimedJob, _ outcome: SettledJob?) {
        guard active[job.lease.job]?.lease == job.lease else { return }
        if let outcome { settled.append(outcome) } else { active[job.lease.job] = nil }
        wantsAnother = isExchanging
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

    // MARK: The exchange

    /// Returns whether the caller performs the exchange. If not, the task that performs one repeats it.
    mutating func beginExchange() -> Bool {
        wantsAnother = isExchanging
        defer { isExchanging = true }
        return !isExchanging
    }

    mutating func endExchange() -> Bool {
        defer { wantsAnother = false }
        isExchanging = wantsAnother && failure == nil
        return isExchanging
    }

    /// `room` is the number of jobs that can be claimed.
    mutating func takeSettled(total: Int) -> (settled: [SettledJob], room: Int, worker: QueueWorker) {
        guard let worker else { return ([], 0, QueueWorker(name: "")) }
        defer { settled = [] }
        for one in settled { active[one.settlement.lease.job] = nil }
        return (settled, isStopping ? 0 : max(0, total - active.count), worker)
    }

    mutating func fail(_ error: any Error, _ untold: [SettledJob]) -> [Task<SettledJob?, Never>] {
        settled = untold + settled
        failure = failure ?? error
        isStopping = true
        return active.values.compactMap(\.task)
    }

    // MARK: Time

    /// Records when to look for jobs again. Returns whether the waiting task must be woken for that.
    mutating func noteDue(_ due: Int64?, renewal: Int64, isEmpty: Bool) -> Bool {
        self.due = due
        if isEmpty, active.isEmpty, settled.isEmpty { isStopping = true }
        return isStopping || min(due ?? .max, active.isEmpty ? .max : lastRenewed + renewal) < armedUntil
    }

    /// In milliseconds; `nil` to wait until woken.
    ///
    /// What is due matters only while jobs can be claimed, and not while an exchange runs that claims them. Otherwise the loop would turn
    /// without a pause: until a job ends, which starts an exchange, or until the exchange notes what is due next.
    mutating func arm(now: Int64, renewal: Int64, poll: Int64?, total: Int) -> Int64? {
        armedUntil = .max
        if let due, active.count < total, due > now || !isExchanging { armedUntil = due }
        if !active.isEmpty { armedUntil = min(armedUntil, lastRenewed + renewal) }
        if let poll { armedUntil = min(armedUntil, now + poll) }
        return armedUntil == .max ? nil : max(0, armedUntil - now)
    }

    mutating func leasesToRenew(now: Int64, period: Int64) -> (worker: QueueWorker, leases: Set<JobLease>)? {
        guard let worker, now - lastRenewed >= period else { return nil }
        lastRenewed = now
        return active.isEmpty ? nil : (worker, Set(active.values.map(\.lease)))
    }
}

/// The outcome of a job before the store has recorded it.
struct SettledJob: Sendable {
    var settlement: JobSettlement
    var event: DownloadEvent
    /// The request, if its file has its final name and a checkpoint.
    var published: DownloadRequest?
}
