public import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A download in a queue.
///
/// It can be sent to another process or stored, for example as JSON. The decoded value equals the encoded one, except for the header fields
/// of its request and the `cause` and `retryAfter` of its error. URLs are encoded unchanged, with the secrets that they may contain.
public struct QueuedDownload: Sendable, Hashable, Identifiable {
    /// The number of a download in its queue. Later downloads have greater numbers.
    public struct ID: Sendable, Hashable, Comparable, Codable, RawRepresentable, CustomStringConvertible {
        /// The number.
        public var rawValue: Int64

        /// Creates an ID from a number that a queue assigned.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Orders IDs in the order in which their downloads were enqueued.
        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        /// The number in decimal.
        public var description: String { "\(rawValue)" }
    }

    /// The state of a download. The raw values are the names of the cases.
    public enum State: String, Sendable, Hashable, Codable, CodingKeyRepresentable, CaseIterable {
        /// The download waits to start, possibly until a delay is over.
        case waiting
        /// The download is running.
        case running
        /// The download doesn't start until it is resumed, because all its members are paused.
        case paused
        /// The file exists.
        case done
        /// The download failed and isn't tried again.
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
    /// A download exists once, however many users request it and in however many batches. Each of these requests makes a member, in the
    /// order of arrival. A download stops when its last member is cancelled.
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
    /// An operation changes the selected downloads that are in a state it applies to, and ignores the others. A selection by user or batch
    /// means only the members of that user or batch: other members of the same downloads aren't changed. Other selections mean
    /// all members.
    ///
    /// A queue in a file or a database changes a thousand downloads at a time, in the order of their numbers, so that other processes needn't
    /// wait for all of them. They see some changed and some not meanwhile. If such a change fails, those changed so far stay changed: repeat
    /// it.
    public enum Selection: Sendable, Hashable {
        /// All downloads.
        case all
        /// The downloads in a state.
        case state(State)
        /// The downloads of a batch.
        case batch(String)
        /// The downloads with these numbers.
        case ids([ID])
        /// The downloads that a user requested.
        case user(String)
        /// The downloads from a host, as ``DownloadRequest/host`` names it.
        case host(String)

        /// The downloads that wait.
        public static var waiting: Selection { .state(.waiting) }
    }

    /// The number of the download.
    public var id: ID
    /// The request. While the download runs, its user is the member that ``DownloadCoordinator/Limits/perUser`` counts the download
    /// for, and otherwise the first member. Its priority is the highest of the members.
    public var request: DownloadRequest
    /// The requests that the download serves, in the order of their arrival. After the last one is cancelled, it stays here.
    public var members: [Member]
    /// The state.
    public var state: State
    /// The number of failed attempts.
    public var failureCount: Int
    /// The size of the file in bytes, if the download is done.
    public var bytes: Int64?
    /// The error of the last failed attempt, without its cause; `nil` if there was none, or if the download is done.
    ///
    /// If an earlier version of Sluice stored it, the code is `unknown`, and the message is the whole description.
    public var error: TransferError?
    /// The earliest time of the next attempt, if the download has to wait for a delay.
    public var notBefore: Date?
    /// Whether the download runs and is being cancelled.
    package var isCancelling = false

    /// Whether the download still runs, but is being cancelled or paused: its worker stops it as soon as it notices.
    public var isStopping: Bool {
        state == .running && (isCancelling || !members.isEmpty && members.allSatisfy(\.isPaused))
    }

    /// Creates a value, for previews and tests of a user interface.
    public init(
        id: ID, request: DownloadRequest, members: [Member] = [], state: State, failureCount: Int = 0,
        bytes: Int64? = nil, error: TransferError? = nil, notBefore: Date? = nil
    ) {
        self.id = id
        self.request = request
        self.members = members
        self.state = state
        self.failureCount = failureCount
        self.bytes = bytes
        self.error = error
        self.notBefore = notBefore
    }
}
