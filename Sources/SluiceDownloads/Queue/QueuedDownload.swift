#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A download as the queue remembers it.
public struct QueuedDownload: Sendable, Hashable, Identifiable {
    /// A download's number in its queue. Later downloads have greater numbers.
    public struct ID: Sendable, Hashable, Comparable, RawRepresentable, CustomStringConvertible {
        /// The number.
        public var rawValue: Int64

        /// A number that a queue gave.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// The order of enqueuing.
        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        /// The number in decimal.
        public var description: String { "\(rawValue)" }
    }

    /// What a download is doing.
    public enum State: Int, Sendable, Hashable, CaseIterable {
        /// It waits to be started, immediately or when its delay is over.
        case waiting
        /// It is being transferred.
        case running
        /// The file is there.
        case done
        /// It failed for good.
        case failed
        /// It was cancelled.
        case cancelled

        /// Whether the state doesn't change any more.
        public var isFinal: Bool { self != .waiting && self != .running }
    }

    /// Which downloads an operation is about. A later version may add cases.
    public enum Selection: Sendable, Hashable {
        /// Every download that has not ended.
        case all
        /// Those of a batch. Downloads that belong to other batches, too, only leave this one.
        case batch(String)
        /// Those with these numbers.
        case ids([ID])
        /// Those of a user.
        case user(String)
    }

    /// Its number.
    public var id: ID
    /// What to download.
    public var request: DownloadRequest
    /// What it is doing.
    public var state: State
    /// How many attempts failed.
    public var failureCount: Int
    /// The file's size in bytes, once it is done.
    public var bytes: Int64?
    /// Why it failed, or failed last: the description of the error, without secrets.
    public var message: String?
    /// When it is tried again at the earliest, while it waits for that.
    public var notBefore: Date?

    /// Creates a value, for previews and tests of a user interface.
    public init(
        id: ID, request: DownloadRequest, state: State, failureCount: Int = 0, bytes: Int64? = nil,
        message: String? = nil, notBefore: Date? = nil
    ) {
        self.id = id
        self.request = request
        self.state = state
        self.failureCount = failureCount
        self.bytes = bytes
        self.message = message
        self.notBefore = notBefore
    }
}
