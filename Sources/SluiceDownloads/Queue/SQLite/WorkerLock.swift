import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A lock on a file that says that a worker lives: the system takes it away when the process ends, however it ends.
final class WorkerLock: Sendable {
    private let stream: Lock<AsyncFileStream<WriteMode>?>

    private init(_ stream: consuming sending AsyncFileStream<WriteMode>) {
        self.stream = Lock(stream)
    }

    private static func file(of worker: QueueWorker, beside database: URL) -> URL {
        database.deletingLastPathComponent()
            .appending(path: "\(database.lastPathComponent)-worker-\(worker.name)", directoryHint: .notDirectory)
    }

    /// A lock for a new worker, or nil where locks do not work: there a worker's death shows when its leases run out.
    static func taken(for worker: QueueWorker, beside database: URL, using files: FileIO) async -> WorkerLock? {
        let file = file(of: worker, beside: database)
        guard let stream = try? await file.openForWriting(existing: .fail, locked: true, using: files) else {
            return nil
        }
        let lock = WorkerLock(stream)
        // Some mounts grant every lock: then everybody would look dead.
        guard await !isFree(file, using: files) else {
            await lock.release()
            return nil
        }
        return lock
    }

    /// Whether the worker, another process's, is gone. Removes its file then.
    static func isDead(_ worker: QueueWorker, beside database: URL, using files: FileIO) async -> Bool {
        await isFree(file(of: worker, beside: database), removing: true, using: files)
    }

    /// Whether nobody holds a lock on the file, or the file is not there.
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

    /// Gives the lock back and removes the file.
    func release() async {
        let held = stream.withLock { $0.take() }
        if let held { try? await held.discard() }
    }
}
