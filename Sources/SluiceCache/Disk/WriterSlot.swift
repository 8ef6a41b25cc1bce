import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The number under which a cache writes to a directory, and a file lock that shows that its process is alive.
///
/// ```text
/// this process                          a process that starts
/// locks writer-0.lock
/// row 7: writing, writer 0
/// killed: the kernel drops the lock
///                                       locks writer-0.lock
///                                       removes the rows of writer 0 that aren't ready
/// ```
///
/// A cache takes the lowest free number, so there are only as many lock files as there were concurrent caches. Process identifiers
/// aren't suitable: the system reuses them, and containers that share a directory don't share them.
///
/// On a file system without locks, every cache is writer 0. A cache that starts may then remove an entry that another one is writing,
/// and that entry isn't stored. There is no other harm.
final class WriterSlot: Sendable {
    let number: Int
    private let lock: Lock<AsyncFileStream<WriteMode>?>

    private init(_ number: Int, _ stream: consuming sending AsyncFileStream<WriteMode>) {
        self.number = number
        lock = Lock(stream)
    }

    static func take(in directory: URL, using files: FileIO) async throws -> WriterSlot {
        var number = 0
        while true {
            if let slot = try await take(number, in: directory, using: files) { return slot }
            number += 1
        }
    }

    /// Takes this number, or returns `nil` if a running cache has it.
    static func take(_ number: Int, in directory: URL, using files: FileIO) async throws -> WriterSlot? {
        let file = directory.appending(path: "writer-\(number).lock", directoryHint: .notDirectory)
        do {
            return WriterSlot(
                number, try await file.openForWriting(existing: .append, permissions: 0o600, locked: true, using: files)
            )
        } catch let error as FileError where error.code == .locked {
            return nil
        }
    }

    func release() async throws {
        let stream = lock.withLock { $0.take() }
        try await stream?.close()
    }
}
