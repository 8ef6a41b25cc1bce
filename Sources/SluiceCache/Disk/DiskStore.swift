import GRDB
import SluiceConcurrency
import SluiceDatabase
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The disk stage: one file for each entry, and an index of them.
///
/// ```text
/// directory/index.db              which entries there are, their digests, when they were used (``DiskIndex``)
/// directory/writer-0.lock         which process writes (``WriterSlot``)
/// directory/3f/3f9a…c1-17         the body of row 17; its name is the key's SHA-256 and the row's number
/// ```
///
/// A file never changes: a newer version of an entry has a row and a file of its own, and takes the old one's place in one
/// transaction. So a reader sees the old version, the new one, or a file that has just gone, and never a mixture.
///
/// Whatever changes the folder runs to its end also when its task is cancelled. It is short: the bytes are there.
final class DiskStore: Sendable {
    /// What a lookup finds.
    enum Lookup: Sendable {
        case found(StoredResponse)
        /// A row whose file is not what it should be, or that makes no sense itself.
        case damaged(Int64)
        case missing
    }

    let folder: URL
    let limit: Int
    let entryLimit: Int
    let files: FileIO
    let database: SluiceDatabase
    let slot: WriterSlot
    let uses = UseTimes()
    /// At most so many change the folder at once: each may hold as much as the largest entry reserved.
    private let changes = ConcurrencyLimiter(concurrency: 4)

    private init(
        folder: URL, limit: Int, entryLimit: Int, files: FileIO, database: SluiceDatabase, slot: WriterSlot
    ) {
        self.folder = folder
        self.limit = limit
        self.entryLimit = entryLimit
        self.files = files
        self.database = database
        self.slot = slot
    }

    // MARK: Opening and closing

    static func open(in folder: URL, limit: Int, entryLimit: Int, files: FileIO) async throws -> DiskStore {
        try await files.makeDirectory(at: folder, permissions: 0o700)
        let index = folder.appending(path: "index.db", directoryHint: .notDirectory)
        let slot = try await WriterSlot.take(in: folder, using: files)
        do {
            let database = try await SluiceDatabase.open(
                at: index, schema: DiskIndex.schema, synchronous: .normal, using: files)
            let store = DiskStore(
                folder: folder, limit: limit, entryLimit: entryLimit, files: files, database: database, slot: slot)
            do {
                try await store.sweep()
                return store
            } catch {
                try? await database.close()
                throw error
            }
        } catch {
            try? await slot.release()
            guard let failure = error as? DatabaseFailure else { throw error }
            var unusable = TransferError(
                .cacheUnusable, url: folder, message: failure.message, remedy: failure.remedy, cause: failure)
            unusable.subject = failure.path
            throw unusable
        }
    }

    /// Waits for what is being changed, and closes the index.
    func close() async throws {
        await changes.waitUntilIdle()
        let pending = uses.take()
        if !pending.isEmpty { try? await database.write { try DiskIndex.touch(pending, in: $0) } }
        let result: Result<Void, any Error>
        do {
            result = .success(try await database.close())
        } catch {
            result = .failure(error)
        }
        try await slot.release()
        try result.get()
    }

    // MARK: Reading

    /// The entry, if its file has the length and the digest that it was stored with.
    ///
    /// - Throws: What says nothing about the entry: that the index or the file cannot be read just now.
    func lookUp(_ key: ResourceKey, _ maximumHeuristicLifetime: Duration) async throws -> Lookup {
        let row: DiskIndex.Ready
        switch try await database.read({ try DiskIndex.find(key, maximumHeuristicLifetime, in: $0) }) {
        case .nothing: return .missing
        case .garbage(let id): return .damaged(id)
        case .ready(let found): row = found
        }
        // A reader asks for one byte more than the limit, to see that there is none.
        guard row.bytes < Int.max else { return .damaged(row.id) }
        let file = file(row.id, key)
        let body: Data
        do {
            // Looked at first: a FIFO in its place would keep a thread until its writer comes.
            if let status = try await files.status(of: file, followingLinks: false),
                status.kind != .file || status.size != row.bytes
            {
                return .damaged(row.id)
            }
            body = try await Data(asyncContentsOf: file, limit: row.bytes, using: files)
        } catch let error as FileError where error.code == .notFound || error.code == .notDirectory {
            // Removed since the row was read, or lost.
            return try await database.read { try DiskIndex.isReady(row.id, in: $0) } ? .damaged(row.id) : .missing
        } catch let error as FileError where Self.meansDamage.contains(error.code) {
            return .damaged(row.id)
        }
        guard body.count == row.bytes, await sha256(body) == row.digest else { return .damaged(row.id) }
        if uses.note(row.id) { await writeUses() }
        return .found(StoredResponse(head: row.head, body: body, row: row.id))
    }

    private static let meansDamage: Set<FileError.Code> = [
        .limitExceeded, .isDirectory, .tooManyLinks, .notRegularFile,
    ]

    /// What is kept beside the body; the file is not looked at.
    func head(for key: ResourceKey, _ maximumHeuristicLifetime: Duration) async throws -> StoredResponse.Head? {
        let found = try await database.read { try DiskIndex.find(key, maximumHeuristicLifetime, in: $0) }
        guard case .ready(let row) = found else { return nil }
        return row.head
    }

    private func writeUses() async {
        let pending = uses.take()
        // Lost if it fails: then the order of eviction is less exact.
        try? await database.write { try DiskIndex.touch(pending, in: $0) }
    }

    // MARK: Places

    func file(_ id: Int64, _ key: ResourceKey) -> URL {
        let name = SHA256Digest.of(Array(key.text.utf8)).hexadecimal
        return folder.appending(path: String(name.prefix(2)), directoryHint: .isDirectory)
            .appending(path: "\(name)-\(id)", directoryHint: .notDirectory)
    }

    // MARK: Changes

    /// Runs a change of the folder to its end, whatever becomes of the calling task.
    func change<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
        // A task of its own is not cancelled with the caller's, which waits for it.
        try await Task { try await self.changes.runUninterrupted { try await body() } }.value
    }
}
