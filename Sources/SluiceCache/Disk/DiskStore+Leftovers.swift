import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - Leftovers of dead processes

extension DiskStore {
    /// Removes the rows and files that dead writers were changing.
    func sweep() async throws {
        try await sweep(slot.number)
        for writer in try await database.read({ try DiskIndex.writersOfUnsettled(in: $0) }) where writer != slot.number
        {
            guard let dead = try await WriterSlot.take(writer, in: directory, using: files) else { continue }
            let result: Result<Void, any Error>
            do {
                result = .success(try await sweep(writer))
            } catch {
                result = .failure(error)
            }
            try await dead.release()
            try result.get()
        }
    }

    private func sweep(_ writer: Int) async throws {
        let entries = try await database.read { try DiskIndex.unsettled(of: writer, in: $0) }
        // A file that can't be removed keeps its row, and the next start tries again.
        try? await finishLeaving(entries)
    }
}

// MARK: - Files without a row

// A killed process leaves none. When the index is lost, no file has a row.
extension DiskStore {
    /// Removes the files of an earlier index if this one is new. The index doesn't know these files, so they would take up space forever.
    func removeFilesOfLostIndex() async throws {
        guard try await database.read({ try DiskIndex.isNew(in: $0) }) else { return }
        try await forEachStrayFile { try await removeStray($0) }
    }

    /// Calls `body` for each body file or temporary file without a row. Files with other names are ignored.
    func forEachStrayFile(_ body: (URL) async throws -> Void) async throws {
        for try await part in files.listing(of: directory) {
            guard part.name.utf8.count == 2, let subdirectory = part.url, part.kind ?? .directory == .directory else {
                continue
            }
            do {
                for try await entry in files.listing(of: subdirectory) {
                    guard let row = Self.row(ofFileNamed: entry.name), let file = entry.url,
                        try await isStray(file, row)
                    else { continue }
                    try await body(file)
                }
            } catch let error as FileError where error.code == .notDirectory || error.code == .notFound {
                // It is another program's file, or another process has removed the directory.
            }
        }
    }

    /// Returns whether the file has no row. A row exists before its file and for as long as the file does, so if a listed file has lost its
    /// row, the file has been removed since.
    private func isStray(_ file: URL, _ row: Int64) async throws -> Bool {
        let key = try await database.read { try DiskIndex.key(of: row, in: $0) }
        if let key {
            let own = self.file(row, key).lastPathComponent
            if file.lastPathComponent == own || file.lastPathComponent == ".\(own).part" { return false }
        }
        return try await files.exists(file, followsLinks: false)
    }

    func removeStray(_ file: URL) async throws {
        do {
            try await files.remove(file)
        } catch let error as FileError where error.code == .notFound {
            // Another process has removed it.
        } catch let error as FileError where error.code == .notEmpty {
            try await files.removeTree(file)
        }
    }

    /// Returns the row number in a file's name, such as `3f9a…c1-17`, or in the name of its temporary file.
    private static func row(ofFileNamed name: String) -> Int64? {
        var name = name[...]
        if name.hasPrefix("."), name.hasSuffix(".part") { name = name.dropFirst().dropLast(5) }
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64,
            parts[0].utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }), let row = Int64(parts[1]), row > 0
        else { return nil }
        return row
    }
}

// MARK: - Writers

/// The number that a cache writes to a directory under, and a file lock that shows that its process is alive.
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
/// A cache takes the lowest free number, so there are only as many lock files as there were concurrent caches. Process IDs wouldn't work:
/// the system reuses them, and containers can share a directory without sharing process IDs.
///
/// On a file system without locks, every cache is writer 0. A cache that starts may then remove an entry that another one is writing, so
/// that entry isn't stored. That is the only harm.
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
