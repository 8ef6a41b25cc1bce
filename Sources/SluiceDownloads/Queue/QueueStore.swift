/// Where a ``DownloadCoordinator`` keeps its jobs: the seam between what a queue does and what remembers it.
///
/// A store decides which job runs: it hands out jobs under limits, each with a ``JobLease``, and takes back what became of
/// them. Several workers, in one process or in several, may share a store; the limits hold for all of them together, exactly.
///
/// ```text
/// waiting ──claim──▶ running ──done──▶ done          waiting: may be claimed, or will be when its delay is over
///    ▲                  │  ──failed─▶ failed         running: leased by a worker
///    └──retry, release,─┘  ──cancelled▶ cancelled
///       lease run out
/// ```
///
/// Every operation is atomic. Who writes about a running job names its lease. A lease that has run out lasts until somebody
/// claims: that takes it back, and from then on it changes nothing any more.
///
/// **Cancellation.** Operations are short and not cancelled: what has to be recorded when work is stopped is recorded.
///
/// **Failure.** A ``QueueStoreError``; nothing has changed then.
package protocol QueueStore: Sendable {
    /// Whether other processes may work with the same jobs, so that changes come without anybody here having made them.
    var isShared: Bool { get }

    /// Introduces a worker. Jobs of workers that are known to be dead, as after a kill, go back to waiting at once.
    func attach() async throws -> QueueWorker

    /// Takes leave: jobs that the worker still holds go back to waiting.
    func detach(_ worker: QueueWorker) async throws

    /// Takes in requests, in this order, and says of each what became of it. All of them are remembered, or none.
    ///
    /// A job's key is its URL and its target. A waiting or running job with the key is joined, and keeps the higher of the two
    /// priorities; one that has ended starts anew, or is kept if it is done and the options say so. A running one that is
    /// to be cancelled is wanted again then: it goes on, or back to waiting if its worker has stopped already.
    ///
    /// Nothing is taken in where a job for another URL, which waits or runs, writes the same file.
    func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob]

    /// Takes back what became of claimed jobs and hands out others, in one step.
    ///
    /// The settlements come first, then leases that have run out are taken back, then jobs are handed out: by priority, then
    /// in the order in which they were enqueued, those left out for which there is no room under the limits.
    func exchange(_ settlements: [JobSettlement], claiming claim: JobClaim?) async throws -> JobExchange

    /// Makes the worker's leases last from now on, and says which it holds.
    func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease]

    /// Cancels jobs: waiting ones at once, running ones as soon as their workers hear of it.
    func cancel(_ selection: QueuedDownload.Selection) async throws -> JobCancellation

    /// The jobs with these numbers, in this order, as they are now; those that are gone are left out.
    func jobs(_ ids: [JobID]) async throws -> [QueuedDownload]

    /// The queue as it is now, with at most this many jobs of each kind.
    func snapshot(listing count: Int) async throws -> QueueSnapshot

    /// Takes the ended jobs of a batch out of it, and forgets those that are in no other.
    func forget(batch: String) async throws

    /// Forgets those of the ended jobs that ended longer ago than this, and the oldest beyond this many.
    func prune(olderThan age: Duration, keeping count: Int) async throws

    /// Closes the store. Later operations fail.
    func close() async throws
}

/// What the queue's store calls a download.
package typealias JobID = QueuedDownload.ID
