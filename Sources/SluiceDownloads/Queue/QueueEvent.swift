#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A change that a queue has recorded. See ``DownloadCoordinator/events(after:)``.
public struct QueueEvent: Sendable, Hashable, Codable, Identifiable {
    /// The number of an event in its queue. Later events have larger numbers, without gaps.
    ///
    /// Save the cursor of the last event that you handled, and continue after it.
    public struct Cursor: Sendable, Hashable, Comparable, Codable, RawRepresentable, CustomStringConvertible {
        /// The number.
        public var rawValue: Int64

        /// Creates a cursor from a saved number.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Orders cursors by their events.
        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        /// The number in decimal.
        public var description: String { "\(rawValue)" }
    }

    /// What has changed. Later versions may add kinds, so a `switch` needs a `default`.
    public struct Kind: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible {
        /// The name of the kind.
        public var rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the kind.
        public var description: String { rawValue }

        /// The download was added for a user and a batch.
        public static let added = Kind(rawValue: "added")
        /// Another member joined the download: a user and a batch.
        public static let joined = Kind(rawValue: "joined")
        /// A member was cancelled, and the download continues for others.
        public static let left = Kind(rawValue: "left")
        /// An attempt started. The user is the one the download is charged to.
        public static let started = Kind(rawValue: "started")
        /// An attempt failed, and another one follows after a delay.
        public static let retrying = Kind(rawValue: "retrying")
        /// The download was stopped and went back to waiting: its process ended or stopped responding, or the attempt couldn't be made now,
        /// for the reason in ``QueueEvent/message``.
        public static let released = Kind(rawValue: "released")
        /// The download is paused.
        public static let paused = Kind(rawValue: "paused")
        /// The download was resumed.
        public static let resumed = Kind(rawValue: "resumed")
        /// A failed or cancelled download went back to waiting, because a retry was requested.
        public static let retried = Kind(rawValue: "retried")
        /// The file exists.
        public static let done = Kind(rawValue: "done")
        /// The download failed and won't be retried.
        public static let failed = Kind(rawValue: "failed")
        /// The download was cancelled.
        public static let cancelled = Kind(rawValue: "cancelled")
        /// The download was removed from the queue.
        public static let removed = Kind(rawValue: "removed")
    }

    /// The number of the event.
    public var id: Cursor
    /// The time of the change.
    public var time: Date
    /// The download.
    public var download: QueuedDownload.ID
    /// What has changed.
    public var kind: Kind
    /// The user of the member that joined or left, or the user that the download is charged to.
    public var user: String?
    /// The batch of the member that joined or left.
    public var batch: String?
    /// The size of the file in bytes, if the download is done.
    public var fileSize: Int64?
    /// The description of the error, without secrets.
    public var message: String?

    /// Creates an event, for previews and tests.
    public init(
        id: Cursor, time: Date, download: QueuedDownload.ID, kind: Kind, user: String? = nil, batch: String? = nil,
        fileSize: Int64? = nil, message: String? = nil
    ) {
        self.id = id
        self.time = time
        self.download = download
        self.kind = kind
        self.user = user
        self.batch = batch
        self.fileSize = fileSize
        self.message = message
    }
}

/// The change of an event, before the queue has given it a number.
struct EventContent {
    var kind: QueueEvent.Kind
    var user = ""
    var batch = ""
    var bytes: Int64?
    var message: String?

    init(_ kind: QueueEvent.Kind, user: String = "", bytes: Int64? = nil, message: String? = nil) {
        self.kind = kind
        self.user = user
        self.bytes = bytes
        self.message = message
    }

    init(_ kind: QueueEvent.Kind, of element: JobMembers.Element) {
        (self.kind, user, batch) = (kind, element.user, element.batch)
    }

    /// The job's new state after an attempt ended with an outcome, or after its lease was lost.
    init(_ state: QueuedDownload.State, after outcome: JobSettlement.Outcome? = nil) {
        switch state {
        case .cancelled: kind = .cancelled
        case .paused: kind = .paused
        case .done: kind = .done
        case .failed: kind = .failed
        case .waiting, .running: kind = .released
        }
        switch outcome {
        case .done(let bytes): self.bytes = bytes
        case .failed(let error): message = error.storedLine
        case .retry(_, let error):
            message = error.storedLine
            if state == .waiting { kind = .retrying }
        case .postponed(_, _, let reason): message = reason?.storedLine
        case .moved, .released, .cancelled, nil: break
        }
    }

    func event(number: Int64, job: JobID, time: Int64) -> QueueEvent {
        QueueEvent(
            id: QueueEvent.Cursor(rawValue: number), time: Date(queueTime: time), download: job, kind: kind,
            user: user.isEmpty ? nil : user, batch: batch.isEmpty ? nil : batch, fileSize: bytes, message: message)
    }
}

/// The minimum number of events that a queue keeps.
package let keptEvents = 10_000
