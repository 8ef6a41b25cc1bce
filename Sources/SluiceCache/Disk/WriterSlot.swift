import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The number under which a cache writes to a folder, and the proof that it lives: a lock that ends with its process.
///
/// ```text
/// this process                          one that starts
/// locks writer-0.lock
/// row 7: writing, writer 0
/// killed: the kernel drops the lock
///                                       locks writer-0.lock
///                                       rows of writer 0 that are not ready: no process works on them, remove
/// ```
///
/// The lowest free number is taken, so that there are as many files as there were caches at once. Process identifiers would
/// not do: they are used again, and containers that share a folder do not share them. On a file system without locks every
/// cache is writer 0, and one that starts may remove what another is writing, which then is not kept; nothing worse.
final class WriterSlot: Sendable {
    let number: Int
    private let lock: Lock<AsyncFileStream<WriteMode>?>

    private init(_ number: Int, _ stream: consuming sending AsyncFileStream<WriteMode>) {
        self.number = number
        lock = Lock(stream)
    }

    /// Takes the lowest free number.
    static func take(in folder: URL, using files: FileIO) async throws -> WriterSlot {
        var number = 0
        while true {
            if let slot = try await take(number, in: folder, using: files) { return slot }
            number += 1
        }
    }

    /// Takes this number; nil if a cache that lives has it.
    static func take(_ number: Int, in folder: URL, using files: FileIO) async throws -> WriterSlot? {
        let file = folder.appending(path: "writer-\(number).lock", directoryHint: .notDirectory)
        do {
            return WriterSlot(
                number, try await file.openForWriting(existing: .append, permissions: 0o600, locked: true, using: files)
            )
        } catch let error as FileError where error.code == .locked {
            return nil
        }
    }

    /// Gives it back.
    func release() async throws {
        let stream = lock.withLock { $0.take() }
        try await stream?.close()
    }
}
