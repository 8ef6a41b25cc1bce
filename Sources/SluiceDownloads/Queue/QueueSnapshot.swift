import SluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The state of a queue at one moment, for a user interface.
///
/// You can send it to another process, for example as JSON, where ``counts`` is an object with state names as keys. URLs are encoded
/// unchanged, including any secrets they contain.
public struct QueueSnapshot: Sendable, Hashable, Codable {
    /// A running download and its progress.
    public struct Running: Sendable, Hashable, Codable, Identifiable {
        /// The download.
        public var download: QueuedDownload
        /// The number of received bytes; 0 if another process runs the download.
        public var receivedBytes: Int64
        /// The size of the whole file in bytes, if the server sent it.
        public var totalBytes: Int64?

        /// The download's ID.
        public var id: QueuedDownload.ID { download.id }

        /// Creates a value, for previews and tests.
        public init(download: QueuedDownload, receivedBytes: Int64 = 0, totalBytes: Int64? = nil) {
            self.download = download
            self.receivedBytes = receivedBytes
            self.totalBytes = totalBytes
        }

        /// The received fraction of the file, from 0 to 1, if the size is known.
        public var fractionCompleted: Double? {
            guard let totalBytes else { return nil }
            return totalBytes > 0 ? max(0, min(1, Double(receivedBytes) / Double(totalBytes))) : 1
        }
    }

    /// A host in backoff, from which no downloads start for now.
    public struct Host: Sendable, Hashable, Codable, Identifiable {
        /// The host, spelled like ``DownloadRequest/host``.
        public var name: String
        /// No download from the host starts before this time, because the server asked for a delay (`Retry-After`) or connections failed.
        public var notBefore: Date
        /// Whether the last connections failed, so that after that time, downloads are tried one at a time.
        public var isUnreachable: Bool

        /// The host's name.
        public var id: String { name }

        /// Creates a value, for previews and tests.
        public init(name: String, notBefore: Date, isUnreachable: Bool = false) {
            self.name = name
            self.notBefore = notBefore
            self.isUnreachable = isUnreachable
        }
    }

    /// The number of downloads in each state.
    public var counts: [QueuedDownload.State: Int]
    /// The running downloads, ordered by ID.
    public var running: [Running]
    /// The first waiting downloads, by priority and then in the order in which they were enqueued.
    public var waiting: [QueuedDownload]
    /// The first paused downloads, in the same order.
    public var paused: [QueuedDownload]
    /// The most recently ended downloads, latest first.
    public var ended: [QueuedDownload]
    /// The hosts in backoff, sorted by name. No downloads from them start for now.
    public var hosts: [Host]
    /// The last event that the snapshot contains, for ``DownloadCoordinator/events(after:)``; 0 if there was none.
    public var cursor: QueueEvent.Cursor

    /// Creates a snapshot for previews, for tests, or as the first state of a user interface. By default, the queue is empty.
    public init(
        counts: [QueuedDownload.State: Int] = [:], running: [Running] = [], waiting: [QueuedDownload] = [],
        paused: [QueuedDownload] = [], ended: [QueuedDownload] = [],
        hosts: [Host] = [], cursor: QueueEvent.Cursor = QueueEvent.Cursor(rawValue: 0)
    ) {
        self.counts = counts
        self.running = running
        self.waiting = waiting
        self.paused = paused
        self.ended = ended
        self.hosts = hosts
        self.cursor = cursor
    }

    /// The downloads in ``ended`` that failed. ``count(in:)`` also counts earlier ones.
    public var failed: [QueuedDownload] { ended.filter { $0.state == .failed } }

    /// The number of downloads in a state.
    public func count(in state: QueuedDownload.State) -> Int { counts[state] ?? 0 }

    /// The number of downloads that wait or run. Paused ones aren't counted.
    public var openCount: Int { count(in: .waiting).addingClamped(count(in: .running)) }
}

extension QueueSnapshot.Host {
    /// - Parameter ahead: How far the time of day is ahead of the queue's clock.
    init?(_ name: String, _ health: HostHealth, now: Int64, ahead: Int64 = 0) {
        guard health.until > now || health.isOpen else { return nil }
        self.init(name: name, notBefore: Date(queueTime: health.until + ahead), isUnreachable: health.isOpen)
    }
}
