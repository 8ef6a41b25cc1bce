import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The store of a ``DownloadCoordinator``'s jobs.
///
/// A store decides which jobs run: it hands out jobs under limits, each with a ``JobLease``, and records their outcomes. Several workers,
/// in one process or several, can share a store. The limits are exact for all of them together.
///
/// ```text
/// waiting ──claim──▶ running ──done──▶ done          waiting: may be claimed, or will be when its delay is over
///  ▲   ▲                │  ──failed─▶ failed         running: leased by a worker
///  │   └─retry, release─┤  ──cancelled▶ cancelled    paused: all members are paused
///  │     lease expired  │
///  └──resume── paused ◀─┘
/// ```
///
/// Every operation is atomic, except that a shared store changes more than ``changedAtOnce`` selected jobs in steps, ordered by number.
/// Between the steps, others can use the store and see only some of the jobs changed. If a step fails, the jobs of earlier steps stay
/// changed, and the call can be repeated. Every write about a running job names its lease. An expired lease remains valid until the next
/// claim by any worker takes it back. After that, writes with it have no effect.
///
/// **Members.** A job has one or more members (``QueuedDownload/Member``). A member that isn't paused is active. A running job is charged
/// to the user of one active member: the limit per user counts it there. A claim charges the earliest member whose user has room. If the
/// charged member leaves or is paused, the job is charged to the active member whose user has the fewest running jobs (the earliest if
/// there is a tie). That user may then be over the limit, and no job is claimed for that user until the number is below it.
///
/// **Cancellation.** Operations are short and ignore cancellation, so that the outcomes of stopped jobs are recorded.
///
/// **Errors.** Operations throw ``QueueStoreError``. Then nothing has changed, except by earlier steps of a long change.
package protocol QueueStore: Sendable {
    /// Whether other processes can change the same jobs.
    var isShared: Bool { get }

    /// Whether workers on several machines can use the store. Only then do the machines of jobs and claims matter.
    var spansMachines: Bool { get }

    /// Registers a worker. Jobs of workers that are known to be dead, for example after a kill, go back to waiting immediately.
    func attach() async throws -> QueueWorker

    /// Removes a worker. The jobs that it still holds go back to waiting.
    func detach(_ worker: QueueWorker) async throws

    /// Takes back jobs of workers that are known to be dead, and jobs whose leases have expired. They go back to waiting, or count as
    /// stopped if they were cancelled or paused.
    func releaseJobsOfDeadWorkers() async throws

    /// Adds requests, in this order, and returns what happened to each. Stores all of them or none.
    ///
    /// A job is identified by its URL and its target. A request for an unfinished job becomes a member of it. If there already is a member
    /// with the same user and batch, it gets the higher priority and is resumed. An ended job starts again, or is kept if it is done and
    /// the options say so. Joining a running job that has been cancelled replaces its members and revokes the cancellation: the job
    /// continues, or goes back to waiting if its worker has already stopped.
    ///
    /// A request isn't added if an unfinished job for another URL writes the same file.
    func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob]

    /// Records the outcomes of claimed jobs and hands out more jobs, in one step.
    ///
    /// The settlements come first. Then expired leases are taken back. Then jobs are handed out by priority, and in the order in which they
    /// were enqueued. Jobs that don't fit within the limits are passed over. A claim for a batch gets jobs with an active member in the
    /// batch; they may be charged to any of their members.
    func takeTurn(_ settlements: [JobSettlement], claiming claim: JobClaim?) async throws -> JobTurn

    func renew(_ worker: QueueWorker, lease: Duration) async throws -> [RenewedLease]

    /// Ends members of unfinished jobs. A job is cancelled when it has no other members: a waiting job immediately, a running job as soon
    /// as its worker notices. A cancelled job keeps its last members, for ``retry(_:)``.
    func cancel(_ selection: QueuedDownload.Selection) async throws -> JobChange

    /// Pauses members of unfinished jobs that aren't being cancelled. A job is paused when all its members are.
    func pause(_ selection: QueuedDownload.Selection) async throws -> JobChange

    /// Resumes members of unfinished jobs, and returns the jobs that are no longer paused, ordered by number.
    func resume(_ selection: QueuedDownload.Selection) async throws -> [JobID]

    /// Moves failed and cancelled jobs back to waiting, resets their failed attempts, and returns them ordered by number. Their members are
    /// resumed.
    ///
    /// A job isn't retried if an unfinished job writes the same file.
    func retry(_ selection: QueuedDownload.Selection) async throws -> [JobID]

    /// Changes the priority of members of unfinished jobs, and returns how many jobs that affects.
    func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int

    /// Removes members of ended jobs, and the jobs that have no others. Returns the number of jobs with removed members.
    func remove(_ selection: QueuedDownload.Selection) async throws -> Int

    /// Stores the rates of all workers together. Announces them, if the store announces changes.
    func setRates(_ rates: DownloadCoordinator.MaximumRates) async throws

    /// Returns the rates of all workers together, and how many workers other than this one have running jobs.
    func rates(besides worker: QueueWorker?) async throws -> SharedRates

    /// Returns the jobs with these numbers, in this order. Removed jobs are skipped.
    func jobs(_ ids: [JobID]) async throws -> [QueuedDownload]

    /// Returns the first `count` selected jobs with numbers greater than `id`, ordered by number.
    func jobs(
        in selection: QueuedDownload.Selection, after id: JobID?, atMost count: Int
    ) async throws -> [QueuedDownload]

    /// Lists at most `count` jobs of each kind.
    func snapshot(listing count: Int) async throws -> QueueSnapshot

    /// Returns the first `count` downloads that a filter lets through, after a place in the list. See ``ListPosition`` for the order.
    ///
    /// - Complexity: A list of one state, or of all, is read through an index. With other conditions, the jobs of the state are searched in
    ///   the order of the list until there are enough, which takes up to a few microseconds for each.
    func list(_ filter: DownloadFilter, after position: ListPosition?, atMost count: Int) async throws
        -> [ListedDownload]

    /// Returns how many downloads a filter lets through.
    func count(_ filter: DownloadFilter) async throws -> Int

    /// Stores what a worker says about itself and its running jobs, until it detaches or its jobs are taken back because it is dead. It is
    /// only shown, so a crash of the machine may lose it.
    ///
    /// A worker that has failed reports why after it has detached. This is stored for a day, or until a later worker of the same machine
    /// reports.
    func report(_ presence: WorkerPresence, of worker: QueueWorker, _ progress: [ReportedProgress]) async throws

    /// Returns the workers that have reported, sorted by machine and process.
    func workers() async throws -> [SeenWorker]

    /// Returns how many jobs are running: what the limits count.
    func runningCounts() async throws -> RunningCounts

    /// Returns what the queue has done in each minute since a time, as far as events have been kept. Minutes in which nothing ended are
    /// left out.
    func minutes(since time: Date) async throws -> [QueueMinute]

    /// Returns the last `count` events of a job, latest first.
    func events(of job: JobID, atMost count: Int) async throws -> [QueueEvent]

    /// Returns the first `count` events after a number; with `nil`, the oldest events that have been kept.
    ///
    /// Every change of a job is an event. Events are numbered from 1, without gaps, in the order of the operations. If events after the
    /// number have been removed, the error has the code `eventsRemoved`.
    func events(after number: Int64?, atMost count: Int) async throws -> [QueueEvent]

    /// Calls a function when other processes announce changes, until the task is cancelled. The first call means that announcements are
    /// arriving from now on.
    ///
    /// Returns immediately if the store announces nothing.
    ///
    /// - Throws: ``QueueStoreError`` if announcements don't arrive; `CancellationError`.
    func listen(_ onAnnouncement: @Sendable (QueueAnnouncement) -> Void) async throws

    /// Removes some of the jobs that ended longer ago than `age` or before the latest `count`, oldest first, and some of the events that
    /// needn't be kept. Returns whether there is more to remove.
    ///
    /// It takes a few milliseconds, however long the history is: at most ``prunedAtOnce`` jobs.
    func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool

    func close() async throws
}

extension QueueStore {
    package var spansMachines: Bool { false }

    /// This machine, for ``JobClaim/machine`` and ``EnqueueOptions/machine``, or `nil` if all workers of the store are on one machine.
    package var machine: String? { spansMachines ? MachineName.current : nil }

    package func listen(_ onAnnouncement: @Sendable (QueueAnnouncement) -> Void) async throws {}

    /// Prunes in steps until nothing is left to remove. Others can use the store between the steps.
    package func prune(olderThan age: Duration, keeping count: Int) async throws {
        while try await pruneSome(olderThan: age, keeping: count) { try Task.checkCancellation() }
    }
}

/// The most jobs that one step of pruning removes.
package let prunedAtOnce = 256

/// The most selected jobs that a shared store changes in one step.
package let changedAtOnce = 1000

/// What another process announces to the workers of a store.
package enum QueueAnnouncement: Sendable, Hashable {
    /// There are jobs to claim.
    case jobs
    /// Running jobs may have been cancelled or paused, too (a renewal tells which), or announcements may have been missed.
    case anything
}

package typealias JobID = QueuedDownload.ID

// MARK: - Copying

/// A store whose unfinished jobs can be copied to another store.
package protocol CopyableQueue: QueueStore {
    /// Returns at most `count` unfinished jobs with numbers greater than `id`, ordered by number.
    func unfinished(after id: JobID, atMost count: Int) async throws -> [QueuedDownload]

    /// Adds jobs with all their members and failed attempts, in this order, and returns what happened to each. Adds all of them or none.
    ///
    /// If a job is already here and unfinished, it gets the members that it doesn't have yet, and its other members aren't changed. A job
    /// that is done here stays done.
    ///
    /// - Parameter machine: The machine that absolute targets belong to, if the store spans machines. See ``JobClaim/machine``.
    func add(_ downloads: [QueuedDownload], machine: String?) async throws -> [EnqueuedJob]
}

extension CopyableQueue {
    package func add(_ downloads: [QueuedDownload]) async throws -> [EnqueuedJob] {
        try await add(downloads, machine: nil)
    }
}
