package import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

package struct EnqueueOptions: Sendable, Hashable {
    package var batch: String?
    package var keepsFinished: Bool
    /// The machine that absolute targets belong to, if the store spans machines. See ``JobClaim/machine``.
    package var machine: String?

    package init(batch: String? = nil, keepsFinished: Bool = false, machine: String? = nil) {
        self.batch = batch
        self.keepsFinished = keepsFinished
        self.machine = machine
    }
}

package struct EnqueuedJob: Sendable, Hashable {
    /// The job; after a conflict, the other job.
    package var id: JobID
    package var admission: DownloadHandle.Admission

    package init(id: JobID, admission: DownloadHandle.Admission) {
        self.id = id
        self.admission = admission
    }
}

/// What a store did with selected jobs. All lists are ordered by job number.
package struct JobChange: Sendable, Hashable {
    /// Jobs that are cancelled now, or paused.
    package var stopped: [QueuedDownload]
    /// Running jobs that their workers will cancel.
    package var cancelling: [JobID]
    /// Running jobs that their workers will pause.
    package var pausing: [JobID]
    /// Jobs that continue without some of their members, or with some of them paused.
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

/// A worker of a store: one run of a coordinator.
package struct QueueWorker: Sendable, Hashable {
    package var name: String

    package init(name: String) { self.name = name }
}

/// The right to work on a job for a limited time.
///
/// Each claim of a job has a different token. A worker that was suspended for too long can't record the outcome of a job that another
/// worker has since claimed.
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
    /// The most jobs to claim. A claim of 0 tells whether its batch is empty, and when something is due.
    package var count: Int
    /// The limits, which count the jobs of all workers.
    package var limits: DownloadCoordinator.Limits
    package var lease: Duration
    /// The batch to claim jobs from, or `nil` for all jobs.
    package var batch: String?
    /// Whether the worker can resolve requests that have an identifier instead of a URL. If not, they aren't claimed.
    package var resolves: Bool
    /// The machine of the worker, if the store spans machines. Jobs of other machines aren't claimed, and jobs without a machine always are.
    package var machine: String?
    /// Hosts from which no job is claimed.
    package var avoiding: Set<String>

    package init(
        worker: QueueWorker, count: Int, limits: DownloadCoordinator.Limits, lease: Duration, batch: String? = nil,
        resolves: Bool = false, machine: String? = nil, avoiding: Set<String> = []
    ) {
        self.avoiding = avoiding
        self.worker = worker
        self.count = count
        self.limits = limits
        self.lease = lease
        self.batch = batch
        self.resolves = resolves
        self.machine = machine
    }
}

package struct ClaimedJob: Sendable, Hashable {
    package var lease: JobLease
    /// The request of the charged member.
    package var request: DownloadRequest
    /// The host that the limits count the job for. If the job has moved, it isn't the request's host.
    package var host: String
    package var failures: Int
    /// Whether an earlier worker lost the job and may have published the file without recording it.
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
        case failed(TransferError)
        /// The job failed and is retried after a delay.
        case retry(after: Duration, TransferError)
        /// The job wasn't completed and goes back to waiting.
        case released
        /// The job wasn't completed and waits for a delay, and for another host if there is one. This doesn't use up an attempt. The
        /// queue keeps the reason for display.
        case postponed(by: Duration, host: String? = nil, because: TransferError? = nil)
        /// The job goes back to waiting, for the host that its resolution named.
        case moved(host: String)
        /// The job was stopped because it was cancelled. If it has been enqueued again since, it goes back to waiting.
        case cancelled

        /// The error of a failed attempt.
        package var failure: TransferError? {
            switch self {
            case .failed(let error), .retry(_, let error): error
            case .done, .released, .postponed, .moved, .cancelled: nil
            }
        }

        /// The error that the queue keeps.
        package var error: TransferError? {
            if case .postponed(_, _, let reason) = self { reason } else { failure }
        }

        /// The time until the job may be claimed again.
        package var delay: Duration? {
            switch self {
            case .retry(let delay, _), .postponed(let delay, _, _): delay
            case .done, .failed, .released, .moved, .cancelled: nil
            }
        }

        /// A different host that the job waits for from now on.
        package var newHost: String? {
            switch self {
            case .postponed(_, let host, _): host
            case .moved(let host): host
            case .done, .failed, .retry, .released, .cancelled: nil
            }
        }

        /// Whether this worker makes no other attempt, as far as it knows.
        var endsAttempts: Bool { isFinal || self == .cancelled }

        /// Whether this outcome ends the job.
        var isFinal: Bool {
            switch self {
            case .done, .failed: true
            case .retry, .released, .postponed, .moved, .cancelled: false
            }
        }
    }

    package var lease: JobLease
    package var outcome: Outcome
    /// What the attempt learned about the job's host, if anything. It counts even if the lease is no longer valid.
    package var host: HostReport?
    /// Whether an earlier turn, which failed with the code `unavailable`, may have recorded it.
    package var mayBeRecorded = false

    package init(lease: JobLease, outcome: Outcome, host: HostReport? = nil) {
        self.lease = lease
        self.outcome = outcome
        self.host = host
    }
}

package struct JobTurn: Sendable, Hashable {
    /// The leases of settlements that had no effect because the leases were no longer valid. If such a job was done and is waiting now, the
    /// next claim says that its file may have been published.
    package var refused: [JobLease]
    package var claimed: [ClaimedJob]
    /// The time until the next delay, lease or host pause ends, or `nil` if there is none.
    package var nextDue: Duration?
    /// Whether no job is waiting or running; if the claim names a batch, in that batch. False if the turn had no claim.
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
        /// The worker must stop the job and release it, because its members are paused.
        case paused
    }

    package var lease: JobLease
    package var stop: Stop?

    package init(lease: JobLease, stop: Stop? = nil) {
        self.lease = lease
        self.stop = stop
    }
}
