import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The steps of storing a file. The process may be killed after each step.
//
//      1 transaction   inserts a row `writing`, which reserves its bytes within the limit
//      2 file          is written
//      3 transaction   makes the row `ready`, and the row of the older version `leaving`
//      4 file          of the older version is removed
//      5 transaction   removes the row of the older version
//
// After steps 1 and 2, the next start finds the row in the state `writing`, and after 3 and 4, the old row in the state `leaving`
// (``DiskStore/sweep()``). No crash leaves a file without a row. The file needs no other name while it is written, because a file is read
// only if its row is ready.
//
// A small body is stored by one transaction, in place of 1 to 3. Steps 4 and 5 follow if the older version has a file.
extension DiskStore {
    /// Stores a response in place of the older one of the same variant, and of others. Returns no row if the response is too large or there
    /// is no room; the older ones are removed even then, because they are out of date. After an error (a `FileError` or
    /// `DatabaseFailure`), nothing of the response remains on disk.
    ///
    /// - Parameter isCurrent: Called in the transaction that changes the rows. If it returns false, nothing is stored or removed.
    func store(
        _ response: StoredResponse, for key: ResourceKey, replacing replaced: DiskIndex.Replaced = .rows([]),
        while isCurrent: @escaping @Sendable (Database) throws -> Bool = { _ in true }
    ) async throws -> (row: Int64?, evicted: Int) {
        @Sendable func removeOlder() async throws {
            try await removeWithinChange(key, response.head.variant.lines, replaced, while: isCurrent)
        }
        let count = response.body.count
        guard count <= entryLimit, let size = DiskIndex.size(of: response, key: key), size <= limit else {
            try await change { try await removeOlder() }
            return (nil, 0)
        }
        if count <= largestInIndex {
            let digest = Data(SHA256Digest.of(response.body))
            if let stored = try await storeInIndexAlone(response, size, digest, key, replaced, isCurrent) {
                return stored
            }
            return try await change { [self] in
                let stored = try await storeInIndex(response, size, digest, key, replaced, isCurrent)
                if stored.row == nil { try await removeOlder() }
                return stored
            }
        }
        let digest = await sha256(response.body)
        return try await change(storing: count) { [self] in
            let stored = try await storeInFile(response, size, digest, key, replaced, isCurrent)
            if stored.row == nil { try await removeOlder() }
            return stored
        }
    }

    /// Stores a small response in one transaction, and returns `nil` if a file must be removed to make room. A transaction runs to its end
    /// even if the task is cancelled, so the usual case needs no ``change(_:)``.
    private func storeInIndexAlone(
        _ response: StoredResponse, _ size: Int64, _ digest: Data, _ key: ResourceKey,
        _ replaced: DiskIndex.Replaced, _ isCurrent: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> (row: Int64?, evicted: Int)? {
        let target = limit - size
        let pending = uses.take()
        let time = uses.next()
        let stored: (id: Int64?, old: [DiskIndex.Entry], evicted: Int)? = try await write(changing: key) {
            [slot, verified] database in
            try DiskIndex.touch(pending, in: database)
            guard try isCurrent(database) else { return (nil, [], 0) }
            let (victims, areEnough) = try DiskIndex.leastRecentlyUsed(downTo: target, in: database)
            guard areEnough, victims.allSatisfy(\.isInIndex) else { return nil }
            for victim in victims { verified.forget(victim.key) }
            _ = try DiskIndex.markLeaving(victims, writer: slot.number, in: database)
            let (id, old) = try DiskIndex.insertReady(
                response, digest: digest, key: key, replacing: replaced, writer: slot.number, now: time, in: database)
            return (id, old, victims.count)
        }
        guard let stored else { return nil }
        // An old version that can't be removed stays `leaving` until the next start.
        if !stored.old.isEmpty { try? await change { [self] in try await finishLeaving(stored.old) } }
        return (stored.id, stored.evicted)
    }

    private func storeInIndex(
        _ response: StoredResponse, _ size: Int64, _ digest: Data, _ key: ResourceKey,
        _ replaced: DiskIndex.Replaced, _ isCurrent: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> (row: Int64?, evicted: Int) {
        let time = uses.next()
        let (inserted, evicted) = try await makeRoom(for: size, key) { [slot] in
            try isCurrent($0)
                ? DiskIndex.insertReady(
                    response, digest: digest, key: key, replacing: replaced, writer: slot.number, now: time, in: $0)
                : nil
        }
        guard let inserted = inserted ?? nil else { return (nil, evicted) }
        try? await finishLeaving(inserted.old)
        return (inserted.id, evicted)
    }

    private func storeInFile(
        _ response: StoredResponse, _ size: Int64, _ digest: Data, _ key: ResourceKey,
        _ replaced: DiskIndex.Replaced, _ isCurrent: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> (row: Int64?, evicted: Int) {
        let time = uses.next()
        let (inserted, evicted) = try await makeRoom(for: size, key) { [slot] in
            try DiskIndex.insertWriting(
                response.head, bytes: response.body.count, digest: digest, key: key, writer: slot.number, now: time,
                in: $0)
        }
        guard let row = inserted else { return (nil, evicted) }
        let old: [DiskIndex.Entry]
        do {
            try await write(response.body, to: file(row, key))
            let (isReady, leaving) = try await write(changing: key) { [slot] in
                try isCurrent($0)
                    ? DiskIndex.makeReady(row, key: key, replacing: replaced, writer: slot.number, in: $0)
                    : (false, [])
            }
            guard isReady else {
                // On a file system without locks, another process may also have taken this writer for dead and removed the row.
                try await removeFile(of: row, key)
                try await database.write { try DiskIndex.delete([row], in: $0) }
                return (nil, evicted)
            }
            old = leaving
        } catch {
            try? await removeFile(of: row, key)
            try? await database.write { try DiskIndex.delete([row], in: $0) }
            throw error
        }
        // The new version is stored. An old version that can't be removed stays `leaving` until the next start.
        try? await finishLeaving(old)
        return (row, evicted)
    }

    private func write(_ body: Data, to file: URL) async throws {
        do {
            try await files.create(file, contents: body, permissions: 0o600)
        } catch let error as FileError where error.code == .notFound {
            try await files.makeDirectory(at: file.deletingLastPathComponent(), permissions: 0o700)
            try await files.create(file, contents: body, permissions: 0o600)
        } catch let error as FileError where error.code == .exists {
            // The number was used before: a loss of power has undone the transaction that inserted that row.
            try await remove(file)
            try await files.create(file, contents: body, permissions: 0o600)
        }
    }

    /// Updates the head of a confirmed response. Returns false if the row is gone, or if `isCurrent` returns false in the transaction.
    func update(
        _ row: Int64, _ key: ResourceKey, _ head: StoredResponse.Head,
        while isCurrent: @escaping @Sendable (Database) throws -> Bool = { _ in true }
    ) async throws -> Bool {
        try await change { [self] in
            let (isReady, old) = try await write(changing: key) { [slot] in
                try isCurrent($0) ? DiskIndex.update(row, key, head, writer: slot.number, in: $0) : (false, [])
            }
            try? await finishLeaving(old)
            return isReady
        }
    }

    // MARK: Removing

    /// Removes a damaged version of an entry, but not a newer version.
    func drop(_ row: Int64, _ key: ResourceKey) async throws {
        try await change { [self] in
            let leaving = try await write(changing: key) { [slot, verified] database in
                verified.remove(row)
                let entry = try DiskIndex.entry(row, in: database)
                return try DiskIndex.markLeaving(entry.map { [$0] } ?? [], writer: slot.number, in: database)
            }
            try await finishLeaving(leaving)
        }
    }

    func remove(_ key: ResourceKey, _ removed: DiskIndex.Replaced = .all) async throws {
        try await change { [self] in try await removeWithinChange(key, nil, removed) }
    }

    private func removeWithinChange(
        _ key: ResourceKey, _ variant: String?, _ removed: DiskIndex.Replaced,
        while isCurrent: @escaping @Sendable (Database) throws -> Bool = { _ in true }
    ) async throws {
        let entries = try await write(changing: key) { [slot] in
            try isCurrent($0) ? DiskIndex.markLeaving(key, variant, removed, writer: slot.number, in: $0) : []
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
                try await removeFile(of: entry.id, entry.key)
                gone.append(entry.id)
            } catch {
                failure = failure ?? error
            }
        }
        try await database.grouped(mayWrite: true) { [gone] in try DiskIndex.delete(gone, in: $0) }
        if let failure { throw failure }
    }

    func removeFile(of row: Int64, _ key: ResourceKey) async throws { try await remove(file(row, key)) }

    func remove(_ file: URL) async throws {
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
