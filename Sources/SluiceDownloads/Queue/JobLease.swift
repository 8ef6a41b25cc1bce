/// Who works with a store: the coordinator of a process, by a name that no other has.
package struct QueueWorker: Sendable, Hashable {
    /// A name that no other worker has.
    package var name: String

    /// A worker; for stores.
    package init(name: String) { self.name = name }
}

/// The right to work on a job, for a while.
///
/// The token is another one each time that a job is claimed: a worker that was away for too long cannot finish a job that
/// somebody else has been given meanwhile.
package struct JobLease: Sendable, Hashable {
    /// The job.
    package var job: JobID
    /// Which claim of the job it is.
    package var token: Int64

    /// A lease; for stores.
    package init(job: JobID, token: Int64) {
        self.job = job
        self.token = token
    }
}

/// A request to claim jobs.
package struct JobClaim: Sendable, Hashable {
    /// Who will work on them.
    package var worker: QueueWorker
    /// How many at most.
    package var count: Int
    /// The limits, which count the jobs of all workers.
    package var limits: DownloadCoordinator.Limits
    /// How long the leases last unless they are renewed.
    package var lease: Duration
    /// Only jobs of this batch, if there is one.
    package var batch: String?

    /// A request for no job, which still takes back leases that have run out.
    static let nothing = JobClaim(
        worker: QueueWorker(name: ""), count: 0, limits: DownloadCoordinator.Limits(), lease: .zero)

    /// A request to claim jobs.
    package init(
        worker: QueueWorker, count: Int, limits: DownloadCoordinator.Limits, lease: Duration, batch: String? = nil
    ) {
        self.worker = worker
        self.count = count
        self.limits = limits
        self.lease = lease
        self.batch = batch
    }
}

/// A job to work on.
package struct ClaimedJob: Sendable, Hashable {
    /// The lease.
    package var lease: JobLease
    /// What is to be downloaded.
    package var request: DownloadRequest
    /// How many attempts have failed before this one.
    package var failures: Int
    /// Whether an earlier worker lost the job and may have given the file its name without having said so.
    package var mayBePublished: Bool

    /// A job to work on; for stores.
    package init(lease: JobLease, request: DownloadRequest, failures: Int, mayBePublished: Bool) {
        self.lease = lease
        self.request = request
        self.failures = failures
        self.mayBePublished = mayBePublished
    }
}

/// What became of a claimed job.
package struct JobSettlement: Sendable, Hashable {
    /// What became of it.
    package enum Outcome: Sendable, Hashable {
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
    package var lease: JobLease
    /// What became of it.
    package var outcome: Outcome

    /// What became of a job.
    package init(lease: JobLease, outcome: Outcome) {
        self.lease = lease
        self.outcome = outcome
    }
}

/// What a store answers to ``QueueStore/exchange(_:claiming:)``.
package struct JobExchange: Sendable, Hashable {
    /// Settlements that changed nothing, since their leases were not valid any more.
    package var refused: [JobLease]
    /// The jobs to work on.
    package var claimed: [ClaimedJob]
    /// When to ask again if nothing else happens: the next delay's or lease's end. Nil: there is none.
    package var nextDue: Duration?
    /// Whether no job waits or runs; of the claim's batch, if it names one. Not said where nothing was claimed for.
    package var isEmpty: Bool

    /// An answer; for stores.
    package init(
        refused: [JobLease] = [], claimed: [ClaimedJob] = [], nextDue: Duration? = nil, isEmpty: Bool = false
    ) {
        self.refused = refused
        self.claimed = claimed
        self.nextDue = nextDue
        self.isEmpty = isEmpty
    }
}

/// A lease that a worker holds.
package struct RenewedLease: Sendable, Hashable {
    /// The lease.
    package var lease: JobLease
    /// Whether the job is to be stopped and settled as cancelled.
    package var isCancelled: Bool

    /// A lease that is held; for stores.
    package init(lease: JobLease, isCancelled: Bool) {
        self.lease = lease
        self.isCancelled = isCancelled
    }
}

/// What ``QueueStore/cancel(_:)`` did.
package struct JobCancellation: Sendable, Hashable {
    /// Jobs that waited and are cancelled now, in the order of their numbers.
    package var stopped: [QueuedDownload]
    /// Jobs that run and will be cancelled by their workers, in the order of their numbers.
    package var running: [JobID]

    /// What was done; for stores.
    package init(stopped: [QueuedDownload] = [], running: [JobID] = []) {
        self.stopped = stopped
        self.running = running
    }
}
