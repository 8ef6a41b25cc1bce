/// The store of a ``DownloadCoordinator``'s jobs.
///
/// A store decides which jobs run: it hands out jobs under limits, each with a ``JobLease``, and records their outcomes. Several workers,
/// in one process or in several, can share a store. The limits hold exactly for all of them together.
///
/// ```text
/// waiting ──claim──▶ running ──done──▶ done          waiting: may be claimed, or will be when its delay is over
///  ▲   ▲                │  ──failed─▶ failed         running: leased by a worker
///  │   └─retry, release─┤  ──cancelled▶ cancelled    paused: all members are paused
///  │     lease expired  │
///  └──resume── paused ◀─┘
/// ```
///
/// Every operation is atomic, except that a shared store changes more than ``changedAtOnce`` selected jobs in steps, in the order of their
/// numbers. Others use the store between the steps and see some of the jobs changed. If a step fails, those of the earlier steps stay
/// changed, and the same call can be repeated. A write about a running job names its lease. An expired lease remains valid until the next claim of any
/// worker takes it back. After that, writes with it have no effect.
///
/// **Members.** A job has one or more members (``QueuedDownload/Member``). A member that isn't paused is active. A running job is charged to
/// the user of one active member: the limit per user counts it there. A claim charges the earliest member whose user has room. If the
/// charged member leaves or is paused, the job is charged to the active member whose user has the fewest running jobs, the earliest of
/// them if there are several. That user may then have more running jobs than the limit, and claims none until there are fewer.
///
/// **Cancellation.** Operations are short and ignore cancellation, so that the outcomes of stopped jobs are recorded.
///
/// **Errors.** Operations throw ``QueueStoreError``. Nothing has changed then, except by the earlier steps of a long change.
package protocol QueueStore: Sendable {
    /// Whether other processes can change the same jobs.
    var isShared: Bool { get }

    /// Whether workers on several machines can use the store. Only such a store heeds the places of jobs and claims.
    var spansMachines: Bool { get }

    /// The jobs of workers that are known to be dead, for example after a kill, wait again immediately.
    func attach() async throws -> QueueWorker

    /// The jobs that the worker still holds wait again.
    func detach(_ worker: QueueWorker) async throws

    /// Adds requests, in this order, and returns what was done with each. All of them are stored, or none.
    ///
    /// A job is identified by its URL and its target. A request for an unfinished job becomes a member of it. If there is a member of the
    /// same user and batch, that one gets the higher priority and is resumed. An ended job starts again, or is kept if it is done and the
    /// options say so. Joining a running job that has been cancelled replaces its members and revokes the cancellation: the job continues,
    /// or waits again if its worker has already stopped.
    ///
    /// A request isn't added if an unfinished job for another URL writes the same file.
    func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob]

    /// Records the outcomes of claimed jobs and hands out others, in one step.
    ///
    /// The settlements come first. Then expired leases are taken back. Then jobs are handed out by priority, and by the order in which they
    /// were enqueued. Jobs for which the limits leave no room are passed over. A claim for a batch gets jobs with an active member of it,
    /// which may be charged to any of their members.
    func exchange(_ settlements: [JobSettlement], claiming claim: JobClaim?) async throws -> JobExchange

    func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease]

    /// Ends members of unfinished jobs. A job is cancelled when it has no other members: a waiting one immediately, a running one as soon
    /// as its worker notices. A cancelled job keeps its last members, for ``retry(_:)``.
    func cancel(_ selection: QueuedDownload.Selection) async throws -> JobChange

    /// Pauses members of unfinished jobs that aren't being cancelled. A job is paused when all its members are.
    func pause(_ selection: QueuedDownload.Selection) async throws -> JobChange

    /// Resumes members of unfinished jobs, and returns the jobs that are no longer paused, in the order of their numbers.
    func resume(_ selection: QueuedDownload.Selection) async throws -> [JobID]

    /// Makes failed and cancelled jobs wait again, without failed attempts, and returns them in the order of their numbers. Their members
    /// are resumed.
    ///
    /// A job isn't tried again if an unfinished job writes the same file.
    func retry(_ selection: QueuedDownload.Selection) async throws -> [JobID]

    /// Changes the priority of members of unfinished jobs, and returns the number of these jobs.
    func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int

    /// Removes members of ended jobs, and the jobs that have no others. Returns the number of jobs with removed members.
    func remove(_ selection: QueuedDownload.Selection) async throws -> Int

    /// Returns the jobs with these numbers, in this order. Jobs that were removed are left out.
    func jobs(_ ids: [JobID]) async throws -> [QueuedDownload]

    /// Lists at most `count` jobs of each kind.
    func snapshot(listing count: Int) async throws -> QueueSnapshot

    /// Returns the first events after a number, at most `count`; after `nil`, the oldest ones that are kept.
    ///
    /// Every change of a job is an event. Events are numbered from 1, without gaps, in the order of the operations. If events after the
    /// number have been removed, the error has the code `eventsRemoved`.
    func events(after number: Int64?, atMost count: Int) async throws -> [QueueEvent]

    /// Calls a function when other processes announce changes, until the task is cancelled. The first call tells that announcements arrive
    /// from now on.
    ///
    /// Returns immediately if the store announces nothing.
    ///
    /// - Throws: ``QueueStoreError`` if announcements don't arrive; `CancellationError`.
    func listen(_ onAnnouncement: @Sendable (QueueAnnouncement) -> Void) async throws

    /// Removes some of the jobs that ended longer ago than `age` or before the latest `count`, the oldest first, and some of the events that
    /// are no longer kept. Returns whether there is more to remove.
    ///
    /// It takes a few milliseconds, however long the history is: at most ``prunedAtOnce`` jobs.
    func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool

    func close() async throws
}

extension QueueStore {
    package var spansMachines: Bool { false }

    package func listen(_ onAnnouncement: @Sendable (QueueAnnouncement) -> Void) async throws {}

    /// Prunes in steps until nothing is left to remove. Others use the store between the steps.
    package func prune(olderThan age: Duration, keeping count: Int) async throws {
        while try await pruneSome(olderThan: age, keeping: count) { try Task.checkCancellation() }
    }
}

/// The most jobs that one step of pruning removes.
package let prunedAtOnce = 256

/// The most jobs that one step of a change of selected jobs changes in a shared store.
package let changedAtOnce = 1000

/// What another process announces to the workers of a store.
package enum QueueAnnouncement: Sendable, Hashable {
    /// There are jobs to claim.
    case jobs
    /// Running jobs may have been cancelled or paused, too: a renewal tells which. Or announcements may have been missed.
    case anything
}

package typealias JobID = QueuedDownload.ID
