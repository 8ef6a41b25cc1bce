import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import SluiceLock

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
// (``DiskStore/sweep()``). No crash leaves a file without a row. The file doesn't need a temporary name while it is written, because a file
// is read only if its row is ready.
//
// A small body is stored in one transaction, in place of steps 1 to 3. Steps 4 and 5 follow if the older version has a file.
extension DiskStore {
    /// Stores a response in place of the older one with the same variant, and of others. Returns no row if the response is too large or
    /// there is no room; the older responses are removed even then, because they are out of date. After an error (a `FileError` or
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
                let time = uses.next()
                let (inserted, evicted) = try await makeRoom(for: size, [key]) { [slot] in
                    try isCurrent($0)
                        ? DiskIndex.insertReady(
                            response, digest: digest, key: key, replacing: replaced, writer: slot.number, now: time,
                            in: $0)
                        : nil
                }
                guard let inserted = inserted ?? nil else {
                    try await removeOlder()
                    return (nil, evicted)
                }
                try? await finishLeaving(inserted.old)
                return (inserted.id, evicted)
            }
        }
        let digest = await sha256(response.body)
        return try await change(storing: count) { [self] in
            let stored = try await storeInFile(response, size, digest, key, replaced, isCurrent)
            if stored.row == nil { try await removeOlder() }
            return stored
        }
    }

    /// Stores a small response in one transaction, and returns `nil` if a file must be removed to make room. A transaction finishes even if
    /// the task is cancelled, so the common case needs no ``change(_:)``.
    private func storeInIndexAlone(
        _ response: StoredResponse, _ size: Int64, _ digest: Data, _ key: ResourceKey,
        _ replaced: DiskIndex.Replaced, _ isCurrent: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> (row: Int64?, evicted: Int)? {
        let target = limit - size
        let pending = uses.take()
        let time = uses.next()
        let stored: (id: Int64?, old: [DiskIndex.Entry], evicted: Int)? = try await write(changing: [key]) {
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

    func storeInFile(
        _ response: StoredResponse, _ size: Int64, _ digest: Data, _ key: ResourceKey,
        _ replaced: DiskIndex.Replaced, _ isCurrent: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> (row: Int64?, evicted: Int) {
        let time = uses.next()
        let (inserted, evicted) = try await makeRoom(for: size, [key]) { [slot] in
            try DiskIndex.insertWriting(
                response.head, bytes: response.body.count, digest: digest, key: key, writer: slot.number, now: time,
                in: $0)
        }
        guard let row = inserted else { return (nil, evicted) }
        let old: [DiskIndex.Entry]
        do {
            try await creatingFile(of: row, key) {
                try await files.create($0, contents: response.body, permissions: 0o600)
            }
            let (isReady, leaving) = try await write(changing: [key]) { [slot] in
                try isCurrent($0)
                    ? DiskIndex.makeReady(row, key: key, replacing: replaced, writer: slot.number, in: $0)
                    : (false, [])
            }
            guard isReady else {
                // On a file system without locks, another process may also have presumed this writer dead and removed the row.
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

    /// Calls `create` with the file of a row. If the directory is missing or the file exists, fixes that and calls `create` again.
    func creatingFile<R>(
        of row: Int64, _ key: ResourceKey, _ create: (URL) async throws -> R
    ) async throws -> R {
        let file = file(row, key)
        do {
            return try await create(file)
        } catch let error as FileError where error.code == .notFound {
            try await files.createDirectory(at: file.deletingLastPathComponent(), permissions: 0o700)
        } catch let error as FileError where error.code == .exists {
            // The number was used before, but a power loss undid the transaction that inserted that row.
            try await remove(file)
        }
        return try await create(file)
    }

    /// Updates the head of a confirmed response. Returns false if the row is gone, or if `isCurrent` returns false in the transaction.
    func update(
        _ row: Int64, _ key: ResourceKey, _ head: StoredResponse.Head,
        while isCurrent: @escaping @Sendable (Database) throws -> Bool = { _ in true }
    ) async throws -> Bool {
        try await change { [self] in
            let (isReady, old) = try await write(changing: [key]) { [slot] in
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
            let leaving = try await write(changing: [key]) { [slot, verified] database in
                verified.remove(row)
                let entry = try DiskIndex.entry(row, in: database)
                return try DiskIndex.markLeaving(entry.map { [$0] } ?? [], writer: slot.number, in: database)
            }
            try await finishLeaving(leaving)
        }
    }

    /// Removes rows of a key that are out of date.
    func remove(_ key: ResourceKey, _ removed: DiskIndex.Replaced = .all) async throws {
        try await change { [self] in
            try await removeWithinChange(key, nil, removed) { [knownKeys] in
                try knownKeys.noteRemoval(in: $0)
                return true
            }
        }
    }

    /// Removes these entries unless they have been replaced in the meantime, and returns how many it removed.
    func remove(_ entries: [DiskIndex.Entry]) async throws -> Int {
        try await change { [self] in
            let (leaving, count) = try await database.write { [slot, verified, knownKeys] database in
                try knownKeys.noteRemoval(in: database)
                let ready = try entries.compactMap { try DiskIndex.entry($0.id, in: database) }
                for entry in ready { verified.forget(entry.key) }
                return (try DiskIndex.markLeaving(ready, writer: slot.number, in: database), ready.count)
            }
            try await finishLeaving(leaving)
            return count
        }
    }

    private func removeWithinChange(
        _ key: ResourceKey, _ variant: String?, _ removed: DiskIndex.Replaced,
        while isCurrent: @escaping @Sendable (Database) throws -> Bool = { _ in true }
    ) async throws {
        let entries = try await write(changing: [key]) { [slot] in
            try isCurrent($0) ? DiskIndex.markLeaving(key, variant, removed, writer: slot.number, in: $0) : []
        }
        try await finishLeaving(entries)
    }

    /// Removes the files of rows that this writer has marked as `leaving`, and then the rows. Removes everything it can, and then throws
    /// the first error.
    func finishLeaving(_ entries: [DiskIndex.Entry]) async throws {
        guard !entries.isEmpty else { return }
        let (gone, failure) = await removeFiles(of: entries)
        try await database.grouped(mayWrite: true) { try DiskIndex.delete(gone, in: $0) }
        if let failure { throw failure }
    }

    /// Removes the files of rows. Returns the rows whose files are gone, and the first error.
    func removeFiles(of entries: [DiskIndex.Entry]) async -> (gone: [Int64], failure: (any Error)?) {
        var (gone, failure): ([Int64], (any Error)?) = ([], nil)
        for entry in entries {
            do {
                try await removeFile(of: entry.id, entry.key)
                gone.append(entry.id)
            } catch {
                failure = failure ?? error
            }
        }
        return (gone, failure)
    }

    func removeFile(of row: Int64, _ key: ResourceKey) async throws { try await remove(file(row, key)) }

    func remove(_ file: URL) async throws {
        do {
            try await files.remove(file)
        } catch let error as FileError where error.code == .notFound || error.code == .notDirectory {
            // The file is already gone.
        } catch let error as FileError where error.code == .notEmpty {
            // Another program has created a directory with that name.
            try await files.removeTree(file)
        }
    }
}

// MARK: - Writing a body in pieces

extension DiskStore {
    /// Begins storing a response whose body arrives in pieces. Returns `nil` if it is too large or there is no room.
    ///
    /// - Parameter announced: The length of the body, if it is known.
    func beginWriting(
        _ head: StoredResponse.Head, announced: Int64?, for key: ResourceKey
    ) async throws -> DiskWriter? {
        // Most reservations are larger than the bodies, so keep them from filling a small directory.
        let size = announced ?? min(DiskWriter.firstReservation, entryLimit, limit / 16)
        guard size <= entryLimit, let counted = DiskIndex.size(of: head, bytes: size, key: key), counted <= limit else {
            return nil
        }
        return try await change { [self] in
            let time = uses.next()
            let (row, evicted) = try await makeRoom(for: counted, [key], isArriving: true) { [slot] database in
                try DiskIndex.insertWriting(
                    head, bytes: Int(clamping: size), digest: Data(count: 32), key: key, writer: slot.number, now: time,
                    in: database)
            }
            guard let row else { return nil }
            do {
                let file = try await creatingFile(of: row, key) {
                    try await $0.openForRandomAccess(.createNew, permissions: 0o600, using: files)
                }
                return DiskWriter(self, row, key, reserved: size, evicted: evicted, file: file)
            } catch {
                try? await database.write { try DiskIndex.delete([row], in: $0) }
                throw error
            }
        }
    }
}

/// Writes a body to disk while it arrives. The steps are the same as for storing any file (see ``DiskStore``), just spread over a longer
/// time.
final class DiskWriter: Sendable {
    /// How many bytes to reserve at first for a body of unknown length. The reservation doubles when it is used up.
    static let firstReservation: Int64 = 1 << 20

    /// The file, which readers of the body may use until they release it.
    let file: RandomAccessFile

    private struct Progress: ~Copyable {
        /// `nil` after the end.
        var digest: SHA256Digest? = SHA256Digest()
        var written: Int64 = 0
        var reserved: Int64
        var evicted: Int

        init(reserved: Int64, evicted: Int) {
            self.reserved = reserved
            self.evicted = evicted
        }

        mutating func takeDigest() -> [UInt8] {
            guard let whole = digest.take() else { preconditionFailure("A body must be finished only once.") }
            return whole.finish()
        }
    }

    private let store: DiskStore
    private let row: Int64
    private let key: ResourceKey
    private let progress: Lock<Progress>

    fileprivate init(
        _ store: DiskStore, _ row: Int64, _ key: ResourceKey, reserved: Int64, evicted: Int,
        file: RandomAccessFile
    ) {
        self.store = store
        self.row = row
        self.key = key
        self.file = file
        progress = Lock(Progress(reserved: reserved, evicted: evicted))
    }

    /// The number of entries that were evicted for this one.
    var evicted: Int { progress.withLock { $0.evicted } }

    /// Appends chunks. Returns false, and appends nothing, if the body gets too large or there is no room.
    func append(_ chunks: [Data]) async throws -> Bool {
        let (start, reserved) = progress.withLock { ($0.written, $0.reserved) }
        let end = start + chunks.reduce(0) { $0 + Int64($1.count) }
        if end > reserved {
            guard end <= store.entryLimit else { return false }
            let (doubled, overflows) = reserved.multipliedReportingOverflow(by: 2)
            let wanted = overflows ? store.entryLimit : min(max(end, doubled), store.entryLimit)
            var isReserved = try await reserve(wanted)
            if !isReserved, end < wanted { isReserved = try await reserve(end) }
            guard isReserved else { return false }
        }
        var position = start
        for chunk in chunks {
            try await file.write(chunk, at: position)
            position += Int64(chunk.count)
        }
        progress.withLock { progress in
            for chunk in chunks { progress.digest?.update(chunk) }
            progress.written = end
        }
        return true
    }

    private func reserve(_ bytes: Int64) async throws -> Bool {
        let more = bytes - progress.withLock { $0.reserved }
        let (isReserved, evicted) = try await store.change { [store, row, key] in
            let (isResized, evicted) = try await store.makeRoom(for: more, [key], isArriving: true) { database in
                try DiskIndex.resize(row, to: Int(clamping: bytes), in: database)
                return true
            }
            return (isResized ?? false, evicted)
        }
        progress.withLock { progress in
            progress.evicted += evicted
            if isReserved { progress.reserved = bytes }
        }
        return isReserved
    }

    /// Stores the appended bytes as the body of a response, in place of older ones. Returns `nil` if another process has removed the row,
    /// if `isCurrent` returns false in the transaction, or if the last bytes of the body are missing because writing them was cancelled. In
    /// these cases, and after an error, nothing remains on disk.
    func finish(
        _ head: StoredResponse.Head, replacing replaced: DiskIndex.Replaced,
        while isCurrent: @escaping @Sendable (Database) throws -> Bool = { _ in true }
    ) async throws -> Int64? {
        let (digest, bytes) = progress.withLock { progress in
            let all = progress.takeDigest()
            return (Data(all), progress.written)
        }
        guard bytes == head.length else {
            await abandon()
            return nil
        }
        return try await store.change { [self] in
            do {
                let (isReady, old) = try await store.write(changing: [key]) { [store, row, key] database in
                    guard try isCurrent(database) else { return (false, [DiskIndex.Entry]()) }
                    try DiskIndex.complete(row, head, bytes: Int(clamping: bytes), digest: digest, in: database)
                    return try DiskIndex.makeReady(
                        row, key: key, replacing: replaced, writer: store.slot.number, in: database)
                }
                guard isReady else {
                    await removeWithinChange()
                    return nil
                }
                // An old version that can't be removed stays `leaving` until the next start.
                try? await store.finishLeaving(old)
                return row
            } catch {
                await removeWithinChange()
                throw error
            }
        }
    }

    /// Removes what was written.
    func abandon() async {
        try? await store.change { [self] in await removeWithinChange() }
    }

    private func removeWithinChange() async {
        do {
            try await store.removeFile(of: row, key)
            try await store.database.write { [row] in try DiskIndex.delete([row], in: $0) }
        } catch {
            // The row stays `writing`, and the next start tries again.
        }
    }
}
