#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A download in a queue.
public struct QueuedDownload: Sendable, Hashable, Identifiable {
    /// The number of a download in its queue. Later downloads have greater numbers.
    public struct ID: Sendable, Hashable, Comparable, RawRepresentable, CustomStringConvertible {
        /// The number.
        public var rawValue: Int64

        /// Creates an ID from a number that a queue assigned.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Orders IDs in the order in which their downloads were enqueued.
        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        /// The number in decimal.
        public var description: String { "\(rawValue)" }
    }

    /// The state of a download.
    public enum State: Int, Sendable, Hashable, CaseIterable {
        /// The download waits to start, possibly until a delay is over.
        case waiting
        /// The download is running.
        case running
        /// The file exists.
        case done
        /// The download failed and isn't tried again.
        case failed
        /// The download was cancelled.
        case cancelled

        /// Whether the download has ended.
        public var isFinal: Bool { self != .waiting && self != .running }
    }

    /// A selection of downloads. Later versions may add cases.
    ///
    /// An operation changes the selected downloads that are in a state it applies to, and ignores the others.
    public enum Selection: Sendable, Hashable {
        /// All downloads.
        case all
        /// The downloads in a state.
        case state(State)
        /// The downloads of a batch. If one of them also belongs to another batch, cancelling only removes it from this one.
        case batch(String)
        /// The downloads with these numbers.
        case ids([ID])
        /// The downloads of a user.
        case user(String)
        /// The downloads from a host, as ``DownloadRequest/host`` names it.
        case host(String)

        /// The downloads that wait.
        public static var waiting: Selection { .state(.waiting) }
    }

    /// The number of the download.
    public var id: ID
    /// The request.
    public var request: DownloadRequest
    /// The state.
    public var state: State
    /// The number of failed attempts.
    public var failureCount: Int
    /// The size of the file in bytes, if the download is done.
    public var bytes: Int64?
    /// The description of the last error, without secrets.
    public var message: String?
    /// The earliest time of the next attempt, if the download waits for a delay.
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
