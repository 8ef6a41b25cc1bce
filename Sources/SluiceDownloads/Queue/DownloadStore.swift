#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import SluiceFiles

/// Where a ``DownloadCoordinator`` keeps its queue.
///
///     let downloads = DownloadCoordinator(store: .sqlite(at: directory.appending(path: "queue.db")))
///
/// The first operation that needs the queue opens it, and throws a ``QueueStoreError`` if that fails; the next one tries again.
public struct DownloadStore: Sendable {
    package let queue: any QueueStore

    package init(_ queue: any QueueStore) { self.queue = queue }

    /// A new queue in memory, which ends with the process.
    public static var memory: DownloadStore { DownloadStore(MemoryQueueStore()) }

    /// The queue in an SQLite file, which is created if it is missing. It survives the process, a kill and a loss of power.
    ///
    /// **Durable.** What an operation changed is on the disk when it returns (`synchronous = FULL`, write-ahead log).
    ///
    /// **Private.** Only the file's owner can read it. URLs are stored as they are; header fields never are.
    ///
    /// **Several processes** on one machine may use the file, and the limits hold for all of them together. When a process is
    /// killed, the next one that runs the queue takes its downloads over. The file must be on a local file system
    /// (sqlite.org/wal.html).
    ///
    /// - Parameters:
    ///   - url: A file URL. Its directory must exist.
    ///   - files: The engine that looks for the file and locks it.
    public static func sqlite(at url: URL, using files: FileIO = .shared) -> DownloadStore {
        DownloadStore(SQLiteQueueStore(at: url, using: files))
    }
}
