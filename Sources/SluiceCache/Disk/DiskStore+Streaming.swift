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
    /// Opens the file of a row whose body is too large to be read as a whole. The digest is compared first, as ``verification`` says, in
    /// constant memory.
    func openBody(_ row: DiskIndex.Ready, _ key: ResourceKey) async throws -> Read<RandomAccessFile> {
        let url = file(row.id, key)
        let body: RandomAccessFile
        do {
            guard let status = try await files.status(of: url, followingLinks: false) else {
                return try await withoutFile(row)
            }
            guard status.kind == .file, status.size == row.bytes else { return .damaged }
            body = try await url.openForRandomAccess(using: files)
        } catch let error as FileError where error.code == .notFound || error.code == .notDirectory {
            return try await withoutFile(row)
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
        // A small directory isn't filled by reservations, most of which are larger than the bodies.
        let size = announced ?? min(DiskWriter.firstReservation, entryLimit, limit / 16)
        guard size <= entryLimit, let counted = DiskIndex.size(of: head, bytes: size, key: key), counted <= limit else {
            return nil
        }
        return try await change { [self] in
            let time = uses.next()
            let (row, evicted) = try await makeRoom(for: counted, key, isArriving: true) { [slot] database in
                try DiskIndex.insertWriting(
                    head, bytes: Int(clamping: size), digest: Data(count: 32), key: key, writer: slot.number, now: time,
                    in: database)
            }
            guard let row else { return nil }
            do {
                return DiskWriter(self, row, key, reserved: size, evicted: evicted, file: try await create(row, key))
            } catch {
                try? await database.write { try DiskIndex.delete([row], in: $0) }
                throw error
            }
        }
    }

    private func create(_ row: Int64, _ key: ResourceKey) async throws -> RandomAccessFile {
        let file = file(row, key)
        func create() async throws -> RandomAccessFile {
            try await file.openForRandomAccess(.createNew, permissions: 0o600, using: files)
        }
        do {
            return try await create()
        } catch let error as FileError where error.code == .notFound {
            try await files.makeDirectory(at: file.deletingLastPathComponent(), permissions: 0o700)
            return try await create()
        } catch let error as FileError where error.code == .exists {
            // The number was used before; see ``store(_:for:replacing:)``.
            try await remove(file)
            return try await create()
        }
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

    /// Appends chunks. Returns false, and appends nothing, if the body has become too large.
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
            let (isResized, evicted) = try await store.makeRoom(for: more, key, isArriving: true) { database in
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

    /// Stores the bytes that were appended as the body of a response, in place of older ones. Returns no row if another process has removed
    /// it, if `isCurrent` returns false in the transaction, or if the last bytes of the body are missing, because their write was cancelled.
    /// Then nothing remains on disk, nor after an error.
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
                let (isReady, old) = try await store.write(changing: key) { [store, row, key] database in
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
