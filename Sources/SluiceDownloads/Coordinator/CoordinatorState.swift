/// What a run knows of its jobs: a pure value under the run's lock.
struct CoordinatorState {
    /// Why a job of this run is to stop.
    enum StopReason {
        /// Somebody cancelled it.
        case cancelled
        /// The lease was lost: somebody else has the job.
        case lost
    }

    private struct Active {
        var lease: JobLease
        var task: Task<SettledJob?, Never>?
        var stop: StopReason?
        var received: Int64 = 0
        var expected: Int64?
    }

    /// Jobs that were claimed and not yet settled with the store.
    private var active: [JobID: Active] = [:]
    private var settled: [SettledJob] = []
    private var isExchanging = false
    private var wantsAnother = false
    private var armedUntil: Int64 = .max
    private var due: Int64?
    private var lastRenewed: Int64
    /// Who this run is to the store, once it has introduced itself.
    var worker: QueueWorker?
    private(set) var isStopping = false
    private(set) var failure: (any Error)?

    init(lastRenewed: Int64) { self.lastRenewed = lastRenewed }

    // MARK: Jobs

    mutating func claimed(_ jobs: [ClaimedJob]) {
        for job in jobs { active[job.lease.job] = Active(lease: job.lease) }
    }

    /// Its transfer begins; whether it is to stop at once.
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
        // It may have been settled in the meantime.
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

    /// Whether the caller is the one to do it; if not, the one who does it goes round once more.
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

    /// What is to be told to the store, and how many more jobs there is room for.
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

    /// Notes when to ask again; whether the one who waits for that has to be woken.
    mutating func noteDue(_ due: Int64?, renewal: Int64, isEmpty: Bool) -> Bool {
        self.due = due
        if isEmpty, active.isEmpty, settled.isEmpty { isStopping = true }
        return isStopping || min(due ?? .max, active.isEmpty ? .max : lastRenewed + renewal) < armedUntil
    }

    /// How long to wait, in milliseconds; nil for as long as nobody wakes.
    mutating func arm(now: Int64, renewal: Int64, poll: Int64?) -> Int64? {
        armedUntil = due ?? .max
        if !active.isEmpty { armedUntil = min(armedUntil, lastRenewed + renewal) }
        if let poll { armedUntil = min(armedUntil, now + poll) }
        return armedUntil == .max ? nil : max(0, armedUntil - now)
    }

    /// The leases that are held, if it is time to renew them.
    mutating func leasesToRenew(now: Int64, period: Int64) -> (worker: QueueWorker, leases: Set<JobLease>)? {
        guard let worker, now - lastRenewed >= period else { return nil }
        lastRenewed = now
        return active.isEmpty ? nil : (worker, Set(active.values.map(\.lease)))
    }
}

/// What became of a job, before the store knows.
struct SettledJob: Sendable {
    var settlement: JobSettlement
    /// What is said once the store knows.
    var event: DownloadEvent
    /// The request whose file has its name now.
    var published: DownloadRequest?
}
