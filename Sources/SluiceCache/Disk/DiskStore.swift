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

/// The disk stage: an index, and one file for each body that isn't small.
///
/// ```text
/// directory/index.db              the entries, their digests and times of use, and small bodies (``DiskIndex``)
/// directory/writer-0.lock         the lock of a process that writes (``WriterSlot``)
/// directory/3f/3f9a…c1-17         the body of row 17; its name is the key's SHA-256 and the row's number
/// ```
///
/// A file never changes. A newer version of an entry has a new row and a new file, and replaces the old version in one transaction. A
/// reader sees the old version, the new version or a file that was just removed, but never a mixture.
final class DiskStore: Sendable {
    /// The result of reading a body: its bytes, or an open file.
    enum Read<Body: Sendable>: Sendable {
        case found(Body)
        case damaged
        /// The response was removed after its row was read.
        case missing
    }

    /// A body in a row takes one transaction to store or to look up. With larger bodies, a row would need more than one page. See decision
    /// 0032.
    static let largestInIndex = 2048

    let directory: URL
    let limit: Int64
    let entryLimit: Int64
    /// The largest body that is stored in the index.
    let largestInIndex: Int
    let files: FileIO
    let database: SluiceDatabase
    let slot: WriterSlot
    /// The directory's random bytes for the digests of variants.
    let salt: [UInt8]
    let uses = UseTimes()
    let verification: ResourceCache.Configuration.Verification
    let verified = VerifiedRows()
    /// Limits concurrent changes of the directory, because each may reserve as many bytes as the largest entry has.
    private let changes = ConcurrencyLimiter(concurrency: 4)
    /// The same for bodies of at most a sixteenth of the largest entry.
    private let smallChanges = ConcurrencyLimiter(concurrency: 16)

    private init(
        directory: URL, limit: Int64, entryLimit: Int64, largestInIndex: Int,
        verification: ResourceCache.Configuration.Verification, files: FileIO, database: SluiceDatabase,
        slot: WriterSlot, salt: [UInt8]
    ) {
        self.directory = directory
        self.limit = limit
        self.entryLimit = entryLimit
        self.largestInIndex = largestInIndex
        self.verification = verification
        self.files = files
        self.database = database
        self.slot = slot
        self.salt = salt
    }

    // MARK: Opening and closing

    static func open(
        in directory: URL, limit: Int64, entryLimit: Int64, largestInIndex: Int,
        verification: ResourceCache.Configuration.Verification, files: FileIO
    ) async throws -> DiskStore {
        try await files.makeDirectory(at: directory, permissions: 0o700)
        let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
        let slot = try await WriterSlot.take(in: directory, using: files)
        do {
            let database = try await SluiceDatabase.open(
                at: index, schema: DiskIndex.schema, synchronous: .normal, using: files)
            do {
                let salt = try await database.read { try DiskIndex.salt(in: $0) }
                let store = DiskStore(
                    directory: directory, limit: limit, entryLimit: entryLimit, largestInIndex: largestInIndex,
                    verification: verification, files: files, database: database, slot: slot, salt: Array(salt))
                try await store.sweep()
                // A file that can't be removed only takes space.
                try? await store.removeFilesOfLostIndex()
                return store
            } catch {
                try? await database.close()
                throw error
            }
        } catch {
            try? await slot.release()
            guard let failure = error as? DatabaseFailure else { throw error }
            // Other statements have worked, so a table of this cache is missing or damaged.
            let remedy = failure.code == .other ? Self.damagedRemedy : failure.remedy
            var unusable = TransferError(
                .cacheUnusable, url: directory, message: failure.message, remedy: remedy, cause: failure)
            unusable.subject = failure.path
            throw unusable
        }
    }

    /// What to do about an index that belongs to this program, but whose tables are damaged.
    static let damagedRemedy = "Remove the directory. Its responses will be fetched again."

    func close() async throws {
        await changes.waitUntilIdle()
        await smallChanges.waitUntilIdle()
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

    /// Returns the stored responses of a URL, without their bodies, which are unknown to be undamaged.
    func find(_ key: ResourceKey, _ policy: CachePolicy) async throws -> DiskIndex.Found {
        try await database.grouped(mayWrite: false) { [verified] database in
            let found = try DiskIndex.find(key, policy, in: database)
            verified.note(found, of: key)
            return found
        }
    }

    /// Returns the body if it has the length of the row and the digest, which is compared as ``verification`` says. An error, for example if
    /// the file can't be read, doesn't mean that the response is damaged.
    func body(of row: DiskIndex.Ready, _ key: ResourceKey) async throws -> Read<Data> {
        // The read requests one byte more than the length, to detect a file that is too long. That must not overflow.
        guard row.bytes < Int.max else { return .damaged }
        if let body = row.body {
            guard body.count == row.bytes, await isVerified(body, row, path: "") else { return .damaged }
            if uses.note(row.id) { await writeUses() }
            return .found(body)
        }
        let file = file(row.id, key)
        let body: Data?
        do {
            body = try await files.contents(of: file, size: row.bytes)
        } catch let error as FileError where error.code == .notFound || error.code == .notDirectory {
            return try await withoutFile(row)
        } catch let error as FileError where Self.meansDamage.contains(error.code) {
            return .damaged
        }
        guard let body, await isVerified(body, row, path: file.path(percentEncoded: false)) else { return .damaged }
        if uses.note(row.id) { await writeUses() }
        return .found(body)
    }

    /// Returns whether the body has the digest of the row, or had it earlier if ``verification`` allows that.
    private func isVerified(_ body: Data, _ row: DiskIndex.Ready, path: String) async -> Bool {
        if verification == .firstRead, verified.path(of: row.id) != nil { return true }
        // A switch to another thread takes longer than the digest of a small body.
        let digest = body.count <= Self.largestInIndex ? Data(SHA256Digest.of(body)) : await sha256(body)
        guard digest == row.digest else { return false }
        if verification == .firstRead { verified.insert(row.id, path: path) }
        return true
    }

    /// The entry was removed after the row was read, or the file is lost.
    func withoutFile<Body>(_ row: DiskIndex.Ready) async throws -> Read<Body> {
        try await database.read { try DiskIndex.isReady(row.id, in: $0) } ? .damaged : .missing
    }

    /// Returns the row and the body for a key if the body is verified and in memory: in a row that is remembered, or in a file that the
    /// system has in memory. Doesn't wait.
    ///
    /// The index isn't read. If another process has replaced the row, its file is usually removed, and the result is `nil`.
    func verifiedBody(
        for key: ResourceKey, where isUsable: (DiskIndex.Ready) -> Bool
    ) -> (row: DiskIndex.Ready, body: Data)? {
        guard !uses.isDue, let (row, path) = verified.row(for: key), isUsable(row),
            let body = row.body ?? files.contentsWithoutWaiting(ofPath: path, size: row.bytes)
        else { return nil }
        uses.note(row.id)
        return (row, body)
    }

    static let meansDamage: Set<FileError.Code> = [
        .limitExceeded, .isDirectory, .tooManyLinks, .notRegularFile,
    ]

    private func writeUses() async {
        let pending = uses.take()
        // If this fails, the uses are lost, and the order of eviction is less exact.
        try? await database.write { try DiskIndex.touch(pending, in: $0) }
    }

    /// Runs a transaction that changes the rows of a key.
    func write<R: Sendable>(
        changing key: ResourceKey, _ body: @escaping @Sendable (Database) throws -> R
    ) async throws -> R {
        try await database.grouped(mayWrite: true) { [verified] database in
            verified.forget(key)
            return try body(database)
        }
    }

    // MARK: Places

    func file(_ id: Int64, _ key: ResourceKey) -> URL {
        let name = SHA256Digest.of(Array(key.text.utf8)).hexadecimal
        return directory.appending(path: "\(name.prefix(2))/\(name)-\(id)", directoryHint: .notDirectory)
    }

    // MARK: Changes

    /// Runs a change of the directory, which stores at most `count` bytes, to its end, even if the calling task is cancelled.
    func change<R: Sendable>(
        storing count: Int = .max, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let limiter = Int64(count) <= entryLimit / 16 ? smallChanges : changes
        // An unstructured task isn't cancelled with the calling task, which waits for it.
        return try await Task { try await limiter.runUninterrupted { try await body() } }.value
    }
}
