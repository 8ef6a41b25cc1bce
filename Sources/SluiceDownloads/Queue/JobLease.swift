/// A worker of a store: one run of a coordinator.
package struct QueueWorker: Sendable, Hashable {
    package var name: String

    package init(name: String) { self.name = name }
}

/// The right to work on a job for a limited time.
///
/// Each claim of a job has a different token. A worker that was suspended for too long can't record the outcome of a job that another
/// worker has claimed meanwhile.
package struct JobLease: Sendable, Hashable {
    package var job: JobID
    package var token: Int64

    package init(job: JobID, token: Int64) {
        self.job = job
        self.token = token
    }
}

package struct JobClaim: Sendable, Hashable {
    package var worker: QueueWorker
    package var count: Int
    /// The limits, which count the jobs of all workers.
    package var limits: DownloadCoordinator.Limits
    package var lease: Duration
    /// The batch to claim jobs from, or `nil` for all jobs.
    package var batch: String?
    /// Whether the worker can resolve requests that have an identifier instead of a URL. If not, they aren't claimed.
    package var resolves: Bool
    /// The machine of the worker, if the store spans machines. Jobs of other places aren't claimed, and jobs without a place always are.
    package var place: String?
    /// Hosts from which the stores in memory and on SQLite claim no job.
    package var avoiding: Set<String>

    /// A request for no jobs, which still takes back expired leases.
    static let nothing = JobClaim(
        worker: QueueWorker(name: ""), count: 0, limits: DownloadCoordinator.Limits(), lease: .zero)

    package init(
        worker: QueueWorker, count: Int, limits: DownloadCoordinator.Limits, lease: Duration, batch: String? = nil,
        resolves: Bool = false, place: String? = nil, avoiding: Set<String> = []
    ) {
        self.avoiding = avoiding
        self.worker = worker
        self.count = count
        self.limits = limits
        self.lease = lease
        self.batch = batch
        self.resolves = resolves
        self.place = place
    }
}

package struct ClaimedJob: Sendable, Hashable {
    package var lease: JobLease
    /// The request of the charged member.
    package var request: DownloadRequest
    /// The host that the limits count the job for. It isn't that of the request if the job has moved.
    package var host: String
    package var failures: Int
    /// Whether an earlier worker lost the job, and may have published the file without recording that.
    package var mayBePublished: Bool

    package init(
        lease: JobLease, request: DownloadRequest, host: String? = nil, failures: Int, mayBePublished: Bool
    ) {
        self.lease = lease
        self.request = request
        self.host = host ?? request.host
        self.failures = failures
        self.mayBePublished = mayBePublished
    }
}

package struct JobSettlement: Sendable, Hashable {
    package enum Outcome: Sendable, Hashable {
        case done(bytes: Int64)
        case failed(message: String)
        /// The job failed and is tried again after a delay.
        case retry(after: Duration, message: String)
        /// The job wasn't completed and waits again.
        case released
        /// The job wasn't completed and waits again after a delay, for another host if one is named. It loses no attempt.
        case postponed(by: Duration, host: String? = nil)
        /// The job waits again, for a host that its resolution has named.
        case moved(host: String)
        /// The job was stopped because it was cancelled. If it was enqueued again meanwhile, it waits again.
        case cancelled

        /// Whether the job ends with it.
        var isFinal: Bool {
            switch self {
            case .done, .failed: true
            case .retry, .released, .postponed, .moved, .cancelled: false
            }
        }
    }

    package var lease: JobLease
    package var outcome: Outcome
    /// What is known about the job's host, if the attempt found out something. It counts even if the lease is no longer valid.
    package var host: HostReport?
    /// Whether an earlier exchange, which failed with the code `unavailable`, may have recorded it.
    package var mayBeRecorded = false

    package init(lease: JobLease, outcome: Outcome, host: HostReport? = nil) {
        self.lease = lease
        self.outcome = outcome
        self.host = host
    }
}

package struct JobExchange: Sendable, Hashable {
    /// The leases of settlements that had no effect because these leases were no longer valid. If such a job was done and waits now, the next
    /// claim says that its file may be published.
    package var refused: [JobLease]
    package var claimed: [ClaimedJob]
    /// The time until the next delay, lease or pause of a host ends, or `nil` if there is none.
    package var nextDue: Duration?
    /// Whether no job waits or runs, in the batch of the claim if it names one. False if the exchange had no claim.
    package var isEmpty: Bool

    package init(
        refused: [JobLease] = [], claimed: [ClaimedJob] = [], nextDue: Duration? = nil, isEmpty: Bool = false
    ) {
        self.refused = refused
        self.claimed = claimed
        self.nextDue = nextDue
        self.isEmpty = isEmpty
    }
}

package struct RenewedLease: Sendable, Hashable {
    package enum Stop: Sendable, Hashable {
        /// The worker must stop the job and settle it as cancelled.
        case cancelled
        /// The worker must stop the job and release it: its members are paused.
        case paused
    }

    package var lease: JobLease
    package var stop: Stop?

    package init(lease: JobLease, stop: Stop? = nil) {
        self.lease = lease
        self.stop = stop
    }
}

/// What a store did with selected jobs. All lists are in the order of the jobs' numbers.
package struct JobChange: Sendable, Hashable {
    /// Jobs that are cancelled now, or paused.
    package var stopped: [QueuedDownload]
    /// Running jobs that their workers will cancel.
    package var cancelling: [JobID]
    /// Running jobs that their workers will pause.
    package var pausing: [JobID]
    /// Jobs that continue without some of their members, or with paused ones.
    package var continuing: [JobID]

    package init(
        stopped: [QueuedDownload] = [], cancelling: [JobID] = [], pausing: [JobID] = [], continuing: [JobID] = []
    ) {
        self.stopped = stopped
        self.cancelling = cancelling
        self.pausing = pausing
        self.continuing = continuing
    }
}
