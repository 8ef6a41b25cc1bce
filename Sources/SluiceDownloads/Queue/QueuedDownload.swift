#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A job's number in its store. Later jobs have greater ones.
public struct JobID: Sendable, Hashable, Comparable, RawRepresentable, CustomStringConvertible {
    /// The number.
    public var rawValue: Int64

    /// A number that a store gave.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The order of enqueuing.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// The number in decimal.
    public var description: String { "\(rawValue)" }
}

/// Where a job stands.
public enum JobState: Int, Sendable, Hashable, CaseIterable {
    /// It may be claimed, at once or when its delay is over.
    case waiting
    /// A worker downloads it.
    case running
    /// The file is there.
    case done
    /// It failed for good.
    case failed
    /// Somebody cancelled it.
    case cancelled

    /// Whether nothing more happens to it.
    public var isFinal: Bool { self != .waiting && self != .running }
}

/// A job as a store remembers it.
public struct QueuedDownload: Sendable, Hashable, Identifiable {
    /// Its number.
    public var id: JobID
    /// What is to be downloaded.
    public var request: DownloadRequest
    /// Where it stands.
    public var state: JobState
    /// How many attempts failed.
    public var failures: Int
    /// The file's size in bytes, once it is done.
    public var bytes: Int64?
    /// Why it failed, or failed last; a line for a person, without secrets.
    public var message: String?
    /// When it is tried again at the earliest, while it waits for that.
    public var notBefore: Date?

    /// A job; for stores.
    public init(
        id: JobID, request: DownloadRequest, state: JobState, failures: Int = 0, bytes: Int64? = nil,
        message: String? = nil, notBefore: Date? = nil
    ) {
        self.id = id
        self.request = request
        self.state = state
        self.failures = failures
        self.bytes = bytes
        self.message = message
        self.notBefore = notBefore
    }
}

/// Which jobs an operation is about.
public enum JobSelection: Sendable, Hashable {
    /// Every job that has not ended.
    case all
    /// Those of a batch. Jobs that belong to other batches, too, only leave this one.
    case batch(String)
    /// Those with these numbers.
    case jobs([JobID])
    /// Those of a user.
    case user(String)
}

/// How ``DownloadCoordinator/enqueue(_:batch:options:)`` takes requests in.
public struct EnqueueOptions: Sendable, Hashable {
    /// A name for these requests together, such as "playlist 7". A job may belong to several batches.
    public var batch: String?
    /// Whether a job that is done already stays done, and is not downloaded again.
    public var keepsFinished: Bool

    /// By default no batch, and what is done already is downloaded anew.
    public init(batch: String? = nil, keepsFinished: Bool = false) {
        self.batch = batch
        self.keepsFinished = keepsFinished
    }
}

/// What became of a request that was enqueued.
public struct EnqueuedJob: Sendable, Hashable {
    /// How the request was taken in.
    public enum Outcome: Sendable, Hashable {
        /// A new job, or one that had ended and starts anew.
        case added
        /// A job with the same key waits or runs already.
        case joined
        /// The job is done already and stays so.
        case kept
        /// Nothing was taken in: a job for this other URL, which waits or runs, writes the same file.
        case conflict(with: URL)
    }

    /// The job; of a conflict, the other one.
    public var id: JobID
    /// How it was taken in.
    public var outcome: Outcome

    /// What became of a request; for stores.
    public init(id: JobID, outcome: Outcome) {
        self.id = id
        self.outcome = outcome
    }
}
