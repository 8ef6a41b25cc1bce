public import SluiceFiles

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
