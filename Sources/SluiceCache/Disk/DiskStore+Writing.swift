import GRDB
import SluiceDatabase
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The steps of storing a file. The process may be killed after each step.
//
//      1 transaction   inserts a row `writing`, which reserves its bytes within the limit
//      2 file          is written under a hidden name, then renamed
//      3 transaction   makes the row `ready`, and the row of the older version `leaving`
//      4 file          of the older version is removed
//      5 transaction   removes the row of the older version
//
// After steps 1 and 2, the next start finds the row in the state `writing`, and after 3 and 4, the old row in the state `leaving`
// (``DiskStore/sweep()``). No crash leaves a file without a row.
extension DiskStore {
    /// Stores a response in place of the older one of the same variant, and of others. Returns no row if the response is too large or there
    /// is no room; the older ones are removed even then, because they are out of date. After an error (a `FileError` or
    /// `DatabaseFailure`), nothing of the response remains on disk.
    func store(
        _ response: StoredResponse, for key: ResourceKey, replacing replaced: DiskIndex.Replaced = .rows([])
    ) async throws -> (row: Int64?, evicted: Int) {
        let variant = response.head.variant.lines
        let digest = await sha256(response.body)
        return try await change { [self] in
            guard response.body.count <= entryLimit, DiskIndex.size(of: response, key: key) <= limit else {
                try await removeWithinChange(key, variant, replaced)
                return (nil, 0)
            }
            let (row, evicted) = try await reserve(response, digest, key)
            guard let row else {
                try await removeWithinChange(key, variant, replaced)
                return (nil, evicted)
            }
            let old: [DiskIndex.Entry]
            do {
                try await write(response.body, to: file(row, key))
                let (isReady, leaving) = try await write(changing: key) { [slot] in
                    try DiskIndex.makeReady(row, key: key, replacing: replaced, writer: slot.number, in: $0)
                }
                // On a file system without locks, another process may have taken this writer for dead and removed the row.
                if !isReady { try await removeFiles(of: row, key) }
                guard isReady else { return (nil, evicted) }
                old = leaving
            } catch {
                try? await removeFiles(of: row, key)
                try? await database.write { try DiskIndex.delete([row], in: $0) }
                throw error
            }
            // The new version is stored. An old version that can't be removed stays `leaving` until the next start.
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

    /// Updates the head of a confirmed response. Returns false if the row is gone.
    func update(_ row: Int64, _ key: ResourceKey, _ head: StoredResponse.Head) async throws -> Bool {
        try await change { [self] in
            let (isReady, old) = try await write(changing: key) { [slot] in
                try DiskIndex.update(row, key, head, writer: slot.number, in: $0)
            }
            try? await finishLeaving(old)
            return isReady
        }
    }

    // MARK: Removing

    /// Removes a damaged version of an entry, but not a newer version.
    func drop(_ row: Int64, _ key: ResourceKey) async throws {
        try await change { [self] in
            let marked = try await write(changing: key) { [slot, verified] in
                verified.remove(row)
                return try DiskIndex.markLeaving([row], writer: slot.number, in: $0)
            }
            if marked == 1 { try await finishLeaving([DiskIndex.Entry(id: row, key: key, bytes: 0)]) }
        }
    }

    func remove(_ key: ResourceKey, _ removed: DiskIndex.Replaced = .all) async throws {
        try await change { [self] in try await removeWithinChange(key, nil, removed) }
    }

    private func removeWithinChange(
        _ key: ResourceKey, _ variant: String?, _ removed: DiskIndex.Replaced
    ) async throws {
        let entries = try await write(changing: key) { [slot] in
            try DiskIndex.markLeaving(key, variant, removed, writer: slot.number, in: $0)
        }
        try await finishLeaving(entries)
    }

    /// Removes the files of rows that this writer has marked as `leaving`, and then the rows. Throws the first error after it has removed
    /// all that it can.
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

    /// Removes a row's file, and its temporary file, which a killed process may have left.
    func removeFiles(of row: Int64, _ key: ResourceKey) async throws {
        for file in [file(row, key), temporaryFile(row, key)] {
            do {
                try await files.remove(file)
            } catch let error as FileError where error.code == .notFound || error.code == .notDirectory {
                // The file is already gone.
            } catch let error as FileError where error.code == .notEmpty {
                // Another program has created a directory of that name.
                try await files.removeTree(file)
            }
        }
    }

    func temporaryFile(_ row: Int64, _ key: ResourceKey) -> URL {
        let file = file(row, key)
        return file.deletingLastPathComponent()
            .appending(path: Self.temporaryName(of: file), directoryHint: .notDirectory)
    }

    private static func temporaryName(of file: URL) -> String { ".\(file.lastPathComponent).part" }
}
