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

// MARK: Reading a body in pieces

extension DiskStore {
    enum OpenedBody: Sendable {
        case found(RandomAccessFile)
        case damaged
        /// The response was removed after its row was read.
        case missing
    }

    /// Opens the file of a row whose body is too large to be read as a whole. The digest is compared first, as ``verification`` says, in
    /// constant memory.
    func openBody(_ row: DiskIndex.Ready, _ key: ResourceKey) async throws -> OpenedBody {
        let url = file(row.id, key)
        let body: RandomAccessFile
        do {
            guard let status = try await files.status(of: url, followingLinks: false) else {
                return try await missing(row)
            }
            guard status.kind == .file, status.size == row.bytes else { return .damaged }
            body = try await url.openForRandomAccess(using: files)
        } catch let error as FileError where error.code == .notFound || error.code == .notDirectory {
            return try await missing(row)
        } catch let error as FileError where Self.meansDamage.contains(error.code) {
            return .damaged
        }
        if verification == .always || verified.path(of: row.id) == nil {
            guard try await digest(of: body) == row.digest else { return .damaged }
            if verification == .firstRead { verified.insert(row.id, path: url.path(percentEncoded: false)) }
        }
        uses.note(row.id)
        return .found(body)
    }

    private func missing(_ row: DiskIndex.Ready) async throws -> OpenedBody {
        try await database.read { try DiskIndex.isReady(row.id, in: $0) } ? .damaged : .missing
    }

    @concurrent private func digest(of file: RandomAccessFile) async throws -> Data {
        var digest = SHA256Digest()
        var position: Int64 = 0
        while true {
            let piece = try await file.read(at: position, upToCount: 1 << 20)
            if piece.isEmpty { return Data(digest.finish()) }
            digest.update(piece)
            position += Int64(piece.count)
        }
    }
}

// MARK: Writing a body in pieces

extension DiskStore {
    /// Begins to store a response whose body arrives in pieces. Returns `nil` if it is too large or there is no room.
    ///
    /// - Parameter announced: The length of the body, if it is known.
    func beginWriting(
        _ head: StoredResponse.Head, announced: Int64?, for key: ResourceKey
    ) async throws -> DiskWriter? {
        let size = announced ?? DiskWriter.firstReservation
        guard size <= entryLimit, size + Int64(DiskIndex.overhead) <= limit else { return nil }
        return try await change { [self] in
            let time = uses.next()
            let (row, evicted) = try await makeRoom(for: size + Int64(DiskIndex.overhead)) { [slot] database in
                try DiskIndex.insertWriting(
                    head, bytes: Int(size), digest: Data(count: 32), key: key, writer: slot.number, now: time,
                    in: database)
            }
            guard let row else { return nil }
            let temporary = temporaryFile(row, key)
            do {
                return DiskWriter(
                    self, row, key, reserved: size, evicted: evicted, file: try await create(temporary),
                    temporary: temporary)
            } catch {
                try? await database.write { try DiskIndex.delete([row], in: $0) }
                throw error
            }
        }
    }

    private func create(_ temporary: URL) async throws -> RandomAccessFile {
        do {
            return try await temporary.openForRandomAccess(.createNew, permissions: 0o600, using: files)
        } catch let error as FileError where error.code == .notFound {
            try await files.makeDirectory(at: temporary.deletingLastPathComponent(), permissions: 0o700)
            return try await temporary.openForRandomAccess(.createNew, permissions: 0o600, using: files)
        }
    }

    /// Evicts entries until `bytes` more fit below the limit, and then makes a change in the same transaction. Returns `nil` if there isn't
    /// enough room. Bodies that arrive take at most half of the directory, so that they don't evict everything.
    fileprivate func makeRoom<R: Sendable>(
        for bytes: Int64, then change: @escaping @Sendable (Database) throws -> R
    ) async throws -> (R?, evicted: Int) {
        let found: (leaving: [DiskIndex.Entry], evicted: Int)? = try await database.write {
            [slot, limit, verified] database in
            guard try DiskIndex.writingBytes(in: database) + bytes <= limit / 2 else { return nil }
            let (victims, areEnough) = try DiskIndex.leastRecentlyUsed(downTo: limit - bytes, in: database)
            guard areEnough else { return nil }
            for victim in victims { verified.forget(victim.key) }
            return (try DiskIndex.markLeaving(victims, writer: slot.number, in: database), victims.count)
        }
        guard let found else { return (nil, 0) }
        try await finishLeaving(found.leaving)
        let result: R? = try await database.write { [limit] database in
            guard try DiskIndex.usedBytes(in: database) + bytes <= limit else { return nil }
            return try change(database)
        }
        return (result, found.evicted)
    }
}

/// Writes a body to the disk while it arrives. ``DiskStore`` describes the steps; the file and its row are those of a store that takes long.
final class DiskWriter: Sendable {
    /// The bytes that are reserved for a body of unknown length. They are doubled when they are used up.
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
    private let temporary: URL
    private let progress: Lock<Progress>

    fileprivate init(
        _ store: DiskStore, _ row: Int64, _ key: ResourceKey, reserved: Int64, evicted: Int,
        file: RandomAccessFile, temporary: URL
    ) {
        self.store = store
        self.row = row
        self.key = key
        self.file = file
        self.temporary = temporary
        progress = Lock(Progress(reserved: reserved, evicted: evicted))
    }

    /// The number of entries that were evicted for this one.
    var evicted: Int { progress.withLock { $0.evicted } }

    /// Appends chunks. Returns false, and appends nothing, if the body has become too large.
    func append(_ chunks: [Data]) async throws -> Bool {
        let (start, reserved) = progress.withLock { ($0.written, $0.reserved) }
        let end = start + chunks.reduce(0) { $0 + Int64($1.count) }
        if end > reserved {
            guard end <= store.entryLimit, try await reserve(min(max(end, reserved * 2), store.entryLimit)) else {
                return false
            }
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
        let (isReserved, evicted) = try await store.change { [store, row] in
            let (isResized, evicted) = try await store.makeRoom(for: more) { database in
                try DiskIndex.resize(row, to: Int(bytes), in: database)
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

    /// Stores the bytes that were appended as the body of a response, in place of older ones. Returns no row if another process has removed
    /// it. After an error, nothing remains on disk.
    func finish(_ head: StoredResponse.Head, replacing replaced: DiskIndex.Replaced) async throws -> Int64? {
        let (digest, bytes) = progress.withLock { progress in
            let all = progress.takeDigest()
            return (Data(all), progress.written)
        }
        return try await store.change { [self] in
            do {
                try await store.files.rename(temporary, to: store.file(row, key), existing: .replace)
                let (isReady, old) = try await store.write(changing: key) { [store, row, key] database in
                    try DiskIndex.complete(row, head, bytes: Int(bytes), digest: digest, in: database)
                    return try DiskIndex.makeReady(
                        row, key: key, replacing: replaced, writer: store.slot.number, in: database)
                }
                if !isReady { try await store.removeFiles(of: row, key) }
                // An old version that can't be removed stays `leaving` until the next start.
                try? await store.finishLeaving(old)
                return isReady ? row : nil
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
            try await store.removeFiles(of: row, key)
            try await store.database.write { [row] in try DiskIndex.delete([row], in: $0) }
        } catch {
            // The row stays `writing`, and the next start tries again.
        }
    }
}
