public import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A download in a queue.
///
/// You can store it or send it to another process, for example as JSON. The decoded value equals the encoded one, except for the header
/// fields of its request and the `cause` and `retryAfter` of its error. URLs are encoded unchanged, including any secrets they contain.
public struct QueuedDownload: Sendable, Hashable, Identifiable {
    /// The number of a download in its queue. Later downloads have larger numbers.
    public struct ID: Sendable, Hashable, Comparable, Codable, RawRepresentable, CustomStringConvertible {
        /// The number.
        public var rawValue: Int64

        /// Creates an ID from a number that a queue assigned.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Orders IDs by when their downloads were enqueued.
        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        /// The number in decimal.
        public var description: String { "\(rawValue)" }
    }

    /// The state of a download. The raw values are the case names. Later versions may add cases.
    public enum State: String, Sendable, Hashable, Codable, CodingKeyRepresentable, CaseIterable {
        /// The download is waiting to start, possibly until a delay is over.
        case waiting
        /// The download is running.
        case running
        /// All members of the download are paused, so it doesn't start until one of them is resumed.
        case paused
        /// The file exists.
        case done
        /// The download failed and won't be retried.
        case failed
        /// The download was cancelled.
        case cancelled

        /// Whether the download has ended.
        public var isFinal: Bool {
            switch self {
            case .waiting, .running, .paused: false
            case .done, .failed, .cancelled: true
            }
        }
    }

    /// A member of a download: a user, and the batch in which the user requested it.
    ///
    /// A download exists once, however many users request it and in however many batches. Each of these requests creates a member. A
    /// download stops when its last member is cancelled.
    public struct Member: Sendable, Hashable, Codable {
        /// The user; `nil` for a request without a user.
        public var user: String?
        /// The batch; `nil` for a request without a batch.
        public var batch: String?
        /// The priority of the request. The download has the highest priority of its members.
        public var priority: Int
        /// Whether the member is paused. A download runs for the members that aren't paused.
        public var isPaused: Bool

        /// Creates a member, for previews and tests of a user interface. An empty user or batch means none.
        public init(user: String? = nil, batch: String? = nil, priority: Int = 0, isPaused: Bool = false) {
            self.user = user?.isEmpty == true ? nil : user
            self.batch = batch?.isEmpty == true ? nil : batch
            self.priority = priority
            self.isPaused = isPaused
        }
    }

    /// A selection of downloads. Later versions may add cases.
    ///
    ///     try await downloads.cancel(.user("ann"))                      // everything that Ann requested
    ///     try await downloads.cancel(.user("ann", ids: [handle.id]))    // one song, for Ann
    ///     try await downloads.cancel(.ids([handle.id]))                 // one song, for everyone
    ///
    /// An operation changes the selected downloads whose state it applies to, and ignores the others. If you select by user or batch, only
    /// the members of that user or batch change, not the other members of the same downloads. Any other selection means all members.
    ///
    /// A queue in a file or a database changes a thousand downloads at a time, ordered by ID, so that other processes needn't wait for all
    /// of them. In between, they see only some of the downloads changed. If such a change fails, the downloads changed so far stay changed;
    /// repeat the call.
    public enum Selection: Sendable, Hashable {
        /// All downloads.
        case all
        /// The downloads in a state.
        case state(State)
        /// The downloads of a batch.
        case batch(String)
        /// The downloads with these IDs.
        case ids([ID])
        /// The downloads that a user requested, or those of them with the given IDs.
        case user(String, ids: [ID]? = nil)
        /// The downloads from a host, spelled like ``DownloadRequest/host``.
        case host(String)

        /// The waiting downloads.
        public static var waiting: Selection { .state(.waiting) }
    }

    /// The download's number in its queue.
    public var id: ID
    /// The request. While the download runs, its user is the one that ``DownloadCoordinator/Limits/perUser`` counts the download for;
    /// otherwise, it is the first member's user. Its priority is the highest priority of the members.
    public var request: DownloadRequest
    /// The users and batches that requested the download, in the order of their requests. The last one stays here after it is cancelled.
    public var members: [Member]
    /// The state.
    public var state: State
    /// The number of failed attempts.
    public var failureCount: Int
    /// The size of the file in bytes, if the download is done.
    public var fileSize: Int64?
    /// The error of the last attempt that failed or had to be postponed, without its cause; `nil` if there was none, or if the download is
    /// done.
    ///
    /// If an earlier version of Sluice stored the error, its code is `unknown`, and its message is the whole description.
    public var error: TransferError?
    /// The earliest time of the next attempt, if the download is waiting for a delay.
    public var notBefore: Date?
    /// Whether the download is running and being cancelled.
    package var isCancelling = false

    /// Whether the download is still running, but is being cancelled or paused. Its worker stops it as soon as it notices.
    public var isStopping: Bool {
        state == .running && (isCancelling || !members.isEmpty && members.allSatisfy(\.isPaused))
    }

    /// Creates a value, for previews and tests of a user interface.
    public init(
        id: ID, request: DownloadRequest, members: [Member] = [], state: State, failureCount: Int = 0,
        fileSize: Int64? = nil, error: TransferError? = nil, notBefore: Date? = nil
    ) {
        self.id = id
        self.request = request
        self.members = members
        self.state = state
        self.failureCount = failureCount
        self.fileSize = fileSize
        self.error = error
        self.notBefore = notBefore
    }
}
