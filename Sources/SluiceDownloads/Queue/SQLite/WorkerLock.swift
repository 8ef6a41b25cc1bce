import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file lock that shows that a worker is alive. The system releases it when the process ends, for any reason.
final class WorkerLock: Sendable {
    private let stream: Lock<AsyncFileStream<WriteMode>?>

    private init(_ stream: consuming sending AsyncFileStream<WriteMode>) {
        self.stream = Lock(stream)
    }

    private static func file(of worker: QueueWorker, beside database: URL) -> URL {
        database.deletingLastPathComponent()
            .appending(path: "\(database.lastPathComponent)-worker-\(worker.name)", directoryHint: .notDirectory)
    }

    /// Returns `nil` if locks don't work here: then a worker's death is noticed when its leases expire.
    static func taken(for worker: QueueWorker, beside database: URL, using files: FileIO) async -> WorkerLock? {
        let file = file(of: worker, beside: database)
        guard let stream = try? await file.openForWriting(existing: .fail, locked: true, using: files) else {
            return nil
        }
        let lock = WorkerLock(stream)
        // Some mounted file systems grant every lock, so that every worker would appear dead.
        guard await !isFree(file, using: files) else {
            await lock.release()
            return nil
        }
        return lock
    }

    /// Whether a worker of another process is dead. If so, its file is removed.
    static func isDead(_ worker: QueueWorker, beside database: URL, using files: FileIO) async -> Bool {
        await isFree(file(of: worker, beside: database), removing: true, using: files)
    }

    /// Free means that no process holds a lock on the file, or that the file doesn't exist.
    private static func isFree(_ file: URL, removing: Bool = false, using files: FileIO) async -> Bool {
        do {
            guard try await files.status(of: file) != nil else { return true }
            let stream = try await file.openForWriting(existing: .append, locked: true, using: files)
            if removing { try await stream.discard() } else { try await stream.close() }
            return true
        } catch {
            return false
        }
    }

    func release() async {
        let held = stream.withLock { $0.take() }
        if let held { try? await held.discard() }
    }
}
