/// Who works with a store: the coordinator of a process, by a name that no other has.
public struct QueueWorker: Sendable, Hashable {
    /// A name that no other worker has.
    public var name: String

    /// A worker; for stores.
    public init(name: String) { self.name = name }
}

/// The right to work on a job, for a while.
///
/// The token is another one each time that a job is claimed: a worker that was away for too long cannot finish a job that
/// somebody else has been given meanwhile.
public struct JobLease: Sendable, Hashable {
    /// The job.
    public var job: JobID
    /// Which claim of the job it is.
    public var token: Int64

    /// A lease; for stores.
    public init(job: JobID, token: Int64) {
        self.job = job
        self.token = token
    }
}

/// How many downloads run at once: in all, from a host, for a user.
public struct DownloadLimits: Sendable, Hashable {
    /// In all.
    public var total: Int
    /// From one host and port; nil is no limit of its own.
    public var perHost: Int?
    /// For one user; nil is no limit of its own. Requests without a user are not limited by this.
    public var perUser: Int?

    /// Limits, each at least 1.
    public init(total: Int = 8, perHost: Int? = 6, perUser: Int? = nil) {
        precondition(total >= 1 && perHost ?? 1 >= 1 && perUser ?? 1 >= 1, "DownloadLimits: a limit is at least 1")
        self.total = total
        self.perHost = perHost
        self.perUser = perUser
    }
}

/// A wish for jobs.
public struct JobClaim: Sendable, Hashable {
    /// Who will work on them.
    public var worker: QueueWorker
    /// How many at most.
    public var count: Int
    /// The limits, which count the jobs of all workers.
    public var limits: DownloadLimits
    /// How long the leases last unless they are renewed.
    public var lease: Duration
    /// Only jobs of this batch, if there is one.
    public var batch: String?

    /// A wish for none, which still takes back leases that have run out.
    static let nothing = JobClaim(worker: QueueWorker(name: ""), count: 0, limits: DownloadLimits(), lease: .zero)

    /// A wish for jobs.
    public init(worker: QueueWorker, count: Int, limits: DownloadLimits, lease: Duration, batch: String? = nil) {
        self.worker = worker
        self.count = count
        self.limits = limits
        self.lease = lease
        self.batch = batch
    }
}

/// A job to work on.
public struct ClaimedJob: Sendable, Hashable {
    /// The lease.
    public var lease: JobLease
    /// What is to be downloaded.
    public var request: DownloadRequest
    /// How many attempts have failed before this one.
    public var failures: Int
    /// Whether an earlier worker lost the job and may have given the file its name without having said so.
    public var mayBePublished: Bool

    /// A job to work on; for stores.
    public init(lease: JobLease, request: DownloadRequest, failures: Int, mayBePublished: Bool) {
        self.lease = lease
        self.request = request
        self.failures = failures
        self.mayBePublished = mayBePublished
    }
}

/// What became of a claimed job.
public struct JobSettlement: Sendable, Hashable {
    /// What became of it.
    public enum Outcome: Sendable, Hashable {
        /// The file is there, with this many bytes.
        case done(bytes: Int64)
        /// It failed for good.
        case failed(message: String)
        /// It failed and is tried again after a delay.
        case retry(after: Duration, message: String)
        /// It was given back undone.
        case released
        /// It was stopped because somebody cancelled it. If it was enqueued again since, it goes back to waiting.
        case cancelled
    }

    /// The lease.
    public var lease: JobLease
    /// What became of it.
    public var outcome: Outcome

    /// What became of a job.
    public init(lease: JobLease, outcome: Outcome) {
        self.lease = lease
        self.outcome = outcome
    }
}

/// What a store answers to ``QueueStore/exchange(_:claiming:)``.
public struct JobExchange: Sendable, Hashable {
    /// Settlements that changed nothing, since their leases were not valid any more.
    public var refused: [JobLease]
    /// The jobs to work on.
    public var claimed: [ClaimedJob]
    /// When to ask again if nothing else happens: the next delay's or lease's end. Nil: there is none.
    public var nextDue: Duration?
    /// Whether no job waits or runs; of the claim's batch, if it names one. Not said where nothing was claimed for.
    public var isEmpty: Bool

    /// An answer; for stores.
    public init(
        refused: [JobLease] = [], claimed: [ClaimedJob] = [], nextDue: Duration? = nil, isEmpty: Bool = false
    ) {
        self.refused = refused
        self.claimed = claimed
        self.nextDue = nextDue
        self.isEmpty = isEmpty
    }
}

/// A lease that a worker holds.
public struct RenewedLease: Sendable, Hashable {
    /// The lease.
    public var lease: JobLease
    /// Whether the job is to be stopped and settled as cancelled.
    public var isCancelled: Bool

    /// A lease that is held; for stores.
    public init(lease: JobLease, isCancelled: Bool) {
        self.lease = lease
        self.isCancelled = isCancelled
    }
}

/// What ``QueueStore/cancel(_:)`` did.
public struct JobCancellation: Sendable, Hashable {
    /// Jobs that waited and are cancelled now, in the order of their numbers.
    public var stopped: [QueuedDownload]
    /// Jobs that run and will be cancelled by their workers, in the order of their numbers.
    public var running: [JobID]

    /// What was done; for stores.
    public init(stopped: [QueuedDownload] = [], running: [JobID] = []) {
        self.stopped = stopped
        self.running = running
    }
}
