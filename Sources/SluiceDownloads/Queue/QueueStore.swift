public import SluiceFiles
package import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where a ``DownloadCoordinator`` keeps its queue.
///
///     let downloads = DownloadCoordinator(store: .sqlite(at: directory.appending(path: "queue.db")))
///
/// The first operation that needs the queue opens it, and throws a ``QueueStoreError`` if that fails. The next operation retries.
public struct DownloadStore: Sendable {
    package let queue: any QueueStore

    package init(_ queue: any QueueStore) { self.queue = queue }

    /// A queue in memory, which ends with the process. Each access creates a new one.
    public static var memory: DownloadStore { DownloadStore(MemoryQueueStore()) }

    /// A queue in an SQLite file, which is created if it is missing. It survives the end of the process, a kill and a power loss.
    ///
    /// **Durability.** An operation's changes are on the disk when it returns (`synchronous = FULL`, write-ahead log).
    ///
    /// **Secrets.** Only the file's owner can read it. URLs are stored unchanged, and header fields aren't stored.
    ///
    /// **Several processes** on one machine can share the file. The limits hold for all of them together. If a process is killed, the next
    /// process that runs the queue takes over its downloads. The file must be on a local file system (sqlite.org/wal.html).
    ///
    /// - Parameters:
    ///   - url: A file URL. Its directory must exist.
    ///   - files: The engine that opens and locks the file.
    public static func sqlite(at url: URL, using files: FileIO = .shared) -> DownloadStore {
        DownloadStore(SQLiteQueueStore(at: url, using: files))
    }
}

// MARK: - The store

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

    /// Returns the jobs with these numbers, in this order. Removed jobs are skipped.
    func jobs(_ ids: [JobID]) async throws -> [QueuedDownload]

    /// Returns the first `count` selected jobs with numbers greater than `id`, ordered by number.
    func jobs(
        in selection: QueuedDownload.Selection, after id: JobID?, atMost count: Int
    ) async throws -> [QueuedDownload]

    /// Lists at most `count` jobs of each kind.
    func snapshot(listing count: Int) async throws -> QueueSnapshot

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

// MARK: - Enqueuing and changing

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

// MARK: - Leases

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
        /// The job wasn't completed and waits for a delay, and for another host if there is one. This doesn't use up an attempt.
        case postponed(by: Duration, host: String? = nil)
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

        /// The time until the job may be claimed again.
        package var delay: Duration? {
            switch self {
            case .retry(let delay, _), .postponed(let delay, _): delay
            case .done, .failed, .released, .moved, .cancelled: nil
            }
        }

        /// A different host that the job waits for from now on.
        package var newHost: String? {
            switch self {
            case .postponed(_, let host): host
            case .moved(let host): host
            case .done, .failed, .retry, .released, .cancelled: nil
            }
        }

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

// MARK: - Time

/// The clock of a queue, in milliseconds since 1970. Processes share the stored times, so a shared queue needs the time of day.
package struct QueueTime: Sendable {
    package let now: @Sendable () -> Int64

    package init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

    /// The time of day, which can be set at any moment.
    static let system = QueueTime { Int64(Date().timeIntervalSince1970 * 1000) }

    /// A clock for a queue that only this process uses. It starts at the time of day, but setting the system clock doesn't affect it.
    static func steady(from start: Int64 = system.now(), _ clock: some Clock<Duration> = .continuous) -> QueueTime {
        let began = clock.now
        return QueueTime { start + began.duration(to: clock.now).milliseconds }
    }
}

extension Duration {
    /// Rounded up, so that no delay is shortened, and clamped, so that adding it to a time can't overflow.
    package var milliseconds: Int64 {
        let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        let most = Int128(Int64.max / 4)
        return Int64(min(max(whole + (rest > 0 ? 1 : 0), -most), most))
    }
}

extension Date {
    package init(queueTime milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
