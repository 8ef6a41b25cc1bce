import GRDB
import SluiceDatabase
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// How a file comes into the folder. At each line the process may be killed.
//
//      1 transaction   row `writing`, its bytes reserved: with all others it is within the limit
//      2 file          written under a hidden name, then renamed
//      3 transaction   the row is `ready`, the older version of the entry `leaving`
//      4 file          the older version's is removed
//      5 transaction   and so is its row
//
// After 1 and 2 the row is found as one that a dead process left `writing`, after 3 and 4 the old one as `leaving`
// (``DiskStore/sweep()``). No crash leaves a file without a row.
extension DiskStore {
    /// Stores a response in place of the one that is there. No row means that it is too large, or that there is no room.
    ///
    /// - Throws: `FileError` or `DatabaseFailure`; then nothing of it is left.
    func store(_ response: StoredResponse, for key: ResourceKey) async throws -> (row: Int64?, evicted: Int) {
        let digest = await sha256(response.body)
        return try await change { [self] in
            guard response.body.count <= entryLimit, response.body.count + DiskIndex.overhead <= limit else {
                // Whatever is there is out of date.
                try await removeWithinChange(key)
                return (nil, 0)
            }
            let (row, evicted) = try await reserve(response, digest, key)
            guard let row else {
                try await removeWithinChange(key)
                return (nil, evicted)
            }
            let old: [DiskIndex.Entry]
            do {
                try await write(response.body, to: file(row, key))
                let (isReady, replaced) = try await database.write { [slot] in
                    try DiskIndex.makeReady(row, key: key, writer: slot.number, in: $0)
                }
                // Somebody took us for dead, on a file system without locks.
                if !isReady { try await removeFiles(of: row, key) }
                guard isReady else { return (nil, evicted) }
                old = replaced
            } catch {
                try? await removeFiles(of: row, key)
                try? await database.write { try DiskIndex.delete([row], in: $0) }
                throw error
            }
            // The new one is there; an old one that cannot be removed stays `leaving` until the next start.
            try? await finishLeaving(old)
            return (row, evicted)
        }
    }

    private func write(_ body: Data, to file: URL) async throws {
        let options = FileWriteOptions(
            durability: .none, existing: .replace, temporaryName: Self.temporaryName(of: file), permissions: 0o600)
        do {
            try await body.asyncWrite(to: file, options: options, using: files)
        } catch let error as FileError where error.code == .notFound {
            try await files.makeDirectory(at: file.deletingLastPathComponent(), permissions: 0o700)
            try await body.asyncWrite(to: file, options: options, using: files)
        }
    }

    /// Notes what a confirmation brought; false if the row is gone.
    func update(_ row: Int64, _ head: StoredResponse.Head) async throws -> Bool {
        try await database.write { try DiskIndex.update(row, head, in: $0) }
    }

    // MARK: Removing

    /// Removes the version of an entry that turned out to be damaged. A newer one is left alone.
    func drop(_ row: Int64, _ key: ResourceKey) async throws {
        try await change { [self] in
            let marked = try await database.write { [slot] in
                try DiskIndex.markLeaving([row], writer: slot.number, in: $0)
            }
            if marked == 1 { try await finishLeaving([DiskIndex.Entry(id: row, key: key, bytes: 0)]) }
        }
    }

    /// Removes the entry.
    func remove(_ key: ResourceKey) async throws {
        try await change { [self] in try await removeWithinChange(key) }
    }

    private func removeWithinChange(_ key: ResourceKey) async throws {
        let entries = try await database.write { [slot] in
            try DiskIndex.markLeaving(key, writer: slot.number, in: $0)
        }
        try await finishLeaving(entries)
    }

    /// Removes the files of rows that are `leaving` on our behalf, and then the rows.
    ///
    /// - Throws: The first error; the rows whose files are gone are removed all the same.
    func finishLeaving(_ entries: [DiskIndex.Entry]) async throws {
        guard !entries.isEmpty else { return }
        var gone: [Int64] = []
        var failure: (any Error)?
        for entry in entries {
            do {
                try await removeFiles(of: entry.id, entry.key)
                gone.append(entry.id)
            } catch {
                failure = failure ?? error
            }
        }
        try await database.write { [gone] in try DiskIndex.delete(gone, in: $0) }
        if let failure { throw failure }
    }

    /// Removes a row's file and what a killed process may have left beside it.
    func removeFiles(of row: Int64, _ key: ResourceKey) async throws {
        let file = file(row, key)
        let temporary = file.deletingLastPathComponent()
            .appending(path: Self.temporaryName(of: file), directoryHint: .notDirectory)
        for file in [file, temporary] {
            do {
                try await files.remove(file)
            } catch let error as FileError where error.code == .notFound || error.code == .notDirectory {
                // Then it is gone.
            } catch let error as FileError where error.code == .notEmpty {
                // Somebody put a folder there.
                try await files.removeTree(file)
            }
        }
    }

    private static func temporaryName(of file: URL) -> String { ".\(file.lastPathComponent).part" }
}
