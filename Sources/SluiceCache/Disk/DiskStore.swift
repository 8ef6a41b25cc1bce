import GRDB
import HTTPTypes
import SluiceConcurrency
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import SluiceLock
import Synchronization

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

    /// A body in a row takes one transaction to store or look up. A row with a larger body would need more than one page. See decision
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
    let knownKeys: KnownKeys
    /// The number of lookups that needed a query, and of those that found a response.
    private let queryCount = Atomic(0)
    private let hitCount = Atomic(0)
    /// The tasks that read the index ahead.
    private let reading = BackgroundWork<ReadAhead>()
    /// Limits concurrent changes of the directory, because each may reserve as many bytes as the largest entry has.
    private let changes = ConcurrencyLimiter(concurrency: 4)
    /// The same, for bodies of at most a sixteenth of the maximum entry size.
    private let smallChanges = ConcurrencyLimiter(concurrency: 16)

    private init(
        directory: URL, limit: Int64, entryLimit: Int64, largestInIndex: Int,
        verification: ResourceCache.Configuration.Verification, files: FileIO, database: SluiceDatabase,
        slot: WriterSlot, salt: [UInt8], knownKeys: KnownKeys
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
        self.knownKeys = knownKeys
    }

    // MARK: Opening and closing

    static func open(
        in directory: URL, limit: Int64, entryLimit: Int64, largestInIndex: Int,
        verification: ResourceCache.Configuration.Verification, files: FileIO
    ) async throws -> DiskStore {
        try await files.createDirectory(at: directory, permissions: 0o700)
        let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
        let slot = try await WriterSlot.take(in: directory, using: files)
        do {
            let knownKeys = KnownKeys()
            let database = try await SluiceDatabase.open(
                at: index, schema: DiskIndex.schema, synchronous: .normal, using: files,
                onForeignCommits: { try knownKeys.catchUp(in: $0) })
            do {
                let salt = try await database.read { try DiskIndex.salt(in: $0) }
                let store = DiskStore(
                    directory: directory, limit: limit, entryLimit: entryLimit, largestInIndex: largestInIndex,
                    verification: verification, files: files, database: database, slot: slot, salt: Array(salt),
                    knownKeys: knownKeys)
                try? await files.expectLocalSubdirectories(of: directory)
                try await store.sweep()
                // A file that can't be removed only takes up space.
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

    /// What to do about an index that belongs to this program but has damaged tables.
    static let damagedRemedy = "Remove the directory. Its responses will be fetched again."

    /// Reads some recently used rows, so that the first lookups of a process need no query.
    func readRecentRows(_ policy: CachePolicy) async throws { _ = try await readRecentRows(after: .init(), policy) }

    /// What a busy process reads before it is asked for.
    private enum ReadAhead {
        /// ``knownKeys``, so that lookups that find nothing need no query.
        case keys
        /// More of the recently used rows, so that lookups that find a response need none.
        case rows
    }

    /// A process that looks up one response is done before reading ahead would help.
    private func readAhead(after found: DiskIndex.Found, _ policy: CachePolicy) {
        if queryCount.add(1, ordering: .relaxed).newValue == 2 { readKeys() }
        guard !found.ready.isEmpty, hitCount.add(1, ordering: .relaxed).newValue == 2 else { return }
        inBackground(.rows) { [self] in
            var position: DiskIndex.Position? = DiskIndex.Position()
            while let start = position, !verified.isHalfFull {
                try Task.checkCancellation()
                position = try await readRecentRows(after: start, policy)
            }
        }
    }

    private func readKeys() { inBackground(.keys) { [self] in try await knownKeys.load(from: database) } }

    /// Begins to read ``knownKeys`` again if most of them have been removed.
    func reloadKnownKeysIfNeeded() {
        if knownKeys.needsReload { readKeys() }
    }

    /// Begins to read the index in the background, unless such a task is running. After an error, lookups use the index.
    private func inBackground(_ kind: ReadAhead, _ read: @escaping @Sendable () async throws -> Void) {
        reading.start(kind) { try? await read() }
    }

    /// Reads a page of recently used rows, and returns the position of the next page.
    private func readRecentRows(
        after position: DiskIndex.Position, _ policy: CachePolicy
    ) async throws -> DiskIndex.Position? {
        let most = 128
        return try await database.grouped(mayWrite: false) { [verified] database in
            let rows = try DiskIndex.byLastUse(after: position, matching: nil, most: most, policy, in: database)
            for row in rows {
                guard let ready = row.ready, try DiskIndex.isOnly(row.key, in: database) else { continue }
                verified.note(DiskIndex.Found(ready: [ready]), of: row.key)
            }
            return rows.count < most ? nil : rows.last.map { DiskIndex.Position(accessed: $0.accessed, id: $0.id) }
        }
    }

    func close() async throws {
        await reading.end()
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

    /// Returns the stored responses for a URL, without their bodies, which may be damaged.
    func find(_ key: ResourceKey, _ policy: CachePolicy) async throws -> DiskIndex.Found {
        // In this order, because a key that another process adds isn't known before the next transaction.
        if !database.mayHaveForeignCommits, !knownKeys.mayContain(key) { return DiskIndex.Found() }
        let found = try await database.grouped(mayWrite: false) { [verified] database in
            let found = try DiskIndex.find(key, policy, in: database)
            verified.note(found, of: key)
            return found
        }
        readAhead(after: found, policy)
        return found
    }

    /// Returns the keys of other URLs whose stored responses may answer a request for this one (``SearchVariance``), the most recent first.
    func equivalents(of key: ResourceKey) async throws -> [ResourceKey] {
        let searches = knownKeys.variances(of: key).map { $0.indexKey(of: key) }
        guard !searches.isEmpty else { return [] }
        return try await database.read { database in
            try searches.flatMap { try DiskIndex.keys(ofSearch: $0, most: 16, in: database) }.filter { $0 != key }
        }
    }

    /// Returns the keys of the stored responses that belong to at least one of these groups, of whatever origin. Reads the whole index.
    func keys(inGroups groups: Set<String>) async throws -> Set<ResourceKey> {
        try await database.read { try DiskIndex.keys(inGroups: groups, in: $0) }
    }

    /// Returns the body if it has the row's length and digest; ``verification`` says when the digest is checked. An error, for example
    /// because the file can't be read, doesn't mean that the response is damaged.
    func body(of row: DiskIndex.Ready, _ key: ResourceKey) async throws -> Read<Data> {
        // We read one byte more than the length, to detect a file that is too long. That must not overflow.
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

    /// Opens the file of a row whose body is too large to read at once. The digest is checked first, as ``verification`` says, in constant
    /// memory.
    func openBody(_ row: DiskIndex.Ready, _ key: ResourceKey) async throws -> Read<RandomAccessFile> {
        let url = file(row.id, key)
        let body: RandomAccessFile
        do {
            guard let status = try await files.status(of: url, followsLinks: false) else {
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

    /// Returns whether the body has the row's digest, or had it earlier if ``verification`` allows that.
    private func isVerified(_ body: Data, _ row: DiskIndex.Ready, path: String) async -> Bool {
        if verification == .firstRead, verified.path(of: row.id) != nil { return true }
        // A thread hop takes longer than computing the digest of a small body.
        let digest = body.count <= Self.largestInIndex ? Data(SHA256Digest.of(body)) : await sha256(body)
        guard digest == row.digest else { return false }
        if verification == .firstRead { verified.insert(row.id, path: path) }
        return true
    }

    /// Returns `missing` if the entry was removed after its row was read, and `damaged` if only its file is gone.
    private func withoutFile<Body>(_ row: DiskIndex.Ready) async throws -> Read<Body> {
        try await database.read { try DiskIndex.isReady(row.id, in: $0) } ? .damaged : .missing
    }

    /// Returns the row and the body for a key if the body is in memory, either in a cached row or in a file in the page cache, and is
    /// verified, or so small that its digest can be checked now. Doesn't wait.
    ///
    /// The index isn't read. If another process has replaced the row, its file is usually removed, and the result is `nil`.
    func verifiedBody(
        for key: ResourceKey, where isUsable: (DiskIndex.Ready) -> Bool
    ) -> (row: DiskIndex.Ready, body: Data)? {
        guard !uses.isDue, let row = verified.row(for: key), isUsable(row) else { return nil }
        let known = verified.path(of: row.id)
        guard known != nil || row.bytes <= Self.largestVerifiedInline else { return nil }
        let path = known ?? (row.body == nil ? file(row.id, key).path(percentEncoded: false) : "")
        guard let body = row.body ?? files.contentsWithoutWaiting(ofPath: path, size: row.bytes) else { return nil }
        if known == nil {
            guard body.count == row.bytes, Data(SHA256Digest.of(body)) == row.digest else { return nil }
            if verification == .firstRead { verified.insert(row.id, path: path) }
        }
        uses.note(row.id)
        return (row, body)
    }

    /// The largest body whose digest is computed on the calling thread, which takes about 20 µs.
    private static let largestVerifiedInline = 32 << 10

    /// Returns the only row of a key, if its body is in a file that this process has verified. The index isn't read, as in
    /// ``verifiedBody(for:where:)``.
    func verifiedFile(of key: ResourceKey) -> DiskIndex.Ready? {
        guard !uses.isDue, let row = verified.row(for: key), row.body == nil, verified.path(of: row.id) != nil else {
            return nil
        }
        return row
    }

    /// Returns a part of a verified file if it is in the page cache. Doesn't wait.
    func part(_ bytes: Range<Int64>, of row: DiskIndex.Ready) -> Data? {
        guard let path = verified.path(of: row.id), let first = Int(exactly: bytes.lowerBound),
            let part = files.contentsWithoutWaiting(ofPath: path, size: row.bytes, part: first..<first + bytes.count)
        else { return nil }
        uses.note(row.id)
        return part
    }

    private static let meansDamage: Set<FileError.Code> = [
        .limitExceeded, .isDirectory, .tooManyLinks, .notRegularFile,
    ]

    private func writeUses() async {
        let pending = uses.take()
        // If this fails, the uses are lost, and the eviction order is less exact.
        try? await database.write { try DiskIndex.touch(pending, in: $0) }
    }

    /// Runs a transaction that changes the rows of these keys.
    func write<R: Sendable>(
        changing keys: [ResourceKey], _ body: @escaping @Sendable (Database) throws -> R
    ) async throws -> R {
        try await database.grouped(mayWrite: true) { [verified, knownKeys] database in
            for key in keys { verified.forget(key) }
            let result = try body(database)
            // Before the commit, and after the body, which looks for keys that have no rows yet.
            for key in keys { knownKeys.insert(key) }
            return result
        }
    }

    // MARK: Files

    func file(_ id: Int64, _ key: ResourceKey) -> URL {
        let name = SHA256Digest.of(Array(key.text.utf8)).hexadecimal
        return directory.appending(path: "\(name.prefix(2))/\(name)-\(id)", directoryHint: .notDirectory)
    }

    // MARK: Changes

    /// Runs a change to the directory, which stores at most `count` bytes, to completion even if the calling task is cancelled.
    func change<R: Sendable>(
        storing count: Int = .max, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let limiter = Int64(count) <= entryLimit / 16 ? smallChanges : changes
        // An unstructured task, because it isn't cancelled with the calling task, which waits for it.
        return try await Task { try await limiter.runUninterrupted { try await body() } }.value
    }
}

// MARK: - Eviction

// The directory stays below its limit because the store evicts entries before it writes a file.
//
// Every row counts until its file is removed. A row in the state `writing` counts all bytes of its file, and a row in the state `leaving`
// still counts. The sum over all rows never exceeds the limit, and a file never takes more bytes than its row counts.
extension DiskStore {
    /// Evicts entries if necessary, and calls `insert` in the transaction that found room for `size` more bytes. Returns `nil` if there
    /// isn't enough room, and the number of evicted entries.
    ///
    /// - Parameter isArriving: Whether the bytes are for a streaming body. Such bodies reserve at most half of the directory, so that they
    ///   don't evict everything.
    func makeRoom<R: Sendable>(
        for size: Int64, _ keys: [ResourceKey], isArriving: Bool = false,
        _ insert: @escaping @Sendable (Database) throws -> R
    ) async throws -> (inserted: R?, evicted: Int) {
        guard size <= limit else { return (nil, 0) }
        let pending = uses.take()
        let first: (inserted: R?, evicted: Int, leaving: [DiskIndex.Entry]) = try await write(changing: keys) {
            [limit, verified, slot] database in
            try DiskIndex.touch(pending, in: database)
            let (victims, areEnough) = try DiskIndex.leastRecentlyUsed(downTo: limit - size, in: database)
            let mayReserve = try !isArriving || DiskIndex.writingBytes(in: database) <= limit / 2 - size
            guard areEnough, mayReserve else { return (nil, 0, []) }
            for victim in victims { verified.forget(victim.key) }
            let leaving = try DiskIndex.markLeaving(victims, writer: slot.number, in: database)
            let inserted = leaving.isEmpty ? try insert(database) : nil
            return (inserted, victims.count - leaving.count, leaving)
        }
        guard !first.leaving.isEmpty else { return (first.inserted, first.evicted) }

        let (gone, failure) = await removeFiles(of: first.leaving)
        // One transaction, so that no other writer can take the freed room.
        let inserted: R? = try await write(changing: keys) { [limit] database in
            try DiskIndex.delete(gone, in: database)
            guard try DiskIndex.usedBytes(in: database) <= limit - size else { return nil }
            return try insert(database)
        }
        if inserted == nil, let failure { throw failure }
        return (inserted, first.evicted + gone.count)
    }

    func trim(toBytes bytes: Int64) async throws -> Int {
        let pending = uses.take()
        return try await change { [self] in
            try await database.write { [knownKeys] database in
                try DiskIndex.touch(pending, in: database)
                if bytes == 0 { try knownKeys.noteRemoval(in: database) }
            }
            var removed = 0
            while true {
                let (count, leaving) = try await database.write { [slot, verified] database in
                    let victims = try DiskIndex.leastRecentlyUsed(downTo: bytes, most: 256, in: database).entries
                    for victim in victims { verified.forget(victim.key) }
                    return (victims.count, try DiskIndex.markLeaving(victims, writer: slot.number, in: database))
                }
                if count == 0 { return removed }
                try await finishLeaving(leaving)
                removed += count
            }
        }
    }
}

// MARK: - Uses

/// The last-use times of entries, collected in memory until the next write to the index.
final class UseTimes: Sendable {
    /// The number of collected uses after which a lookup writes them to the index.
    static let batch = 512
    /// The maximum number of collected uses. Beyond that, uses are dropped, and the eviction order is slightly less exact.
    private static let limit = 4096

    fileprivate struct State {
        var pending: [Int64: Int64] = [:]
        var last: Int64 = 0
    }

    private let state = Lock(State())

    @discardableResult
    func note(_ row: Int64) -> Bool {
        let clock = Self.clock()
        return state.withLock { state in
            let time = state.next(clock)
            if state.pending[row] != nil || state.pending.count < Self.limit { state.pending[row] = time }
            return state.pending.count >= Self.batch
        }
    }

    /// Whether the collected uses should be written to the index.
    var isDue: Bool { state.withLock { $0.pending.count >= Self.batch } }

    /// Returns a strictly increasing time: microseconds since 1970, or one more than the last time.
    func next() -> Int64 {
        let clock = Self.clock()
        return state.withLock { $0.next(clock) }
    }

    func take() -> [Int64: Int64] {
        state.withLock { state in
            defer { state.pending = [:] }
            return state.pending
        }
    }

    private static func clock() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }
}

extension UseTimes.State {
    fileprivate mutating func next(_ clock: Int64) -> Int64 {
        last = max(last + 1, clock)
        return last
    }
}

// MARK: - Verified rows

/// The rows whose bodies this process has verified. The digest of a body is checked when the process first reads it.
///
/// A body never changes and its row number is never reused, so a verified row stays verified. Each table is bounded. A row that has been
/// evicted is verified again.
final class VerifiedRows: Sendable {
    /// The path of the file of each verified row. It is empty for a body in the index.
    private let paths = MemoryCache<Int64, String>(maximumCost: .max, maximumCount: 16_384)
    /// The row of each key that has only one row, valid for all requests. It contains a small body. Another process may have replaced it.
    private let rows = MemoryCache<ResourceKey, DiskIndex.Ready>(maximumCost: maximumCost, maximumCount: .max)
    private static let maximumCost = 4 << 20

    func path(of row: Int64) -> String? { paths.value(for: row) }

    func insert(_ row: Int64, path: String) { paths.insert(path, for: row, cost: 1) }

    func remove(_ row: Int64) { paths.removeValue(for: row) }

    // MARK: Keys

    /// Returns the only row of a key. It may not be verified.
    func row(for key: ResourceKey) -> DiskIndex.Ready? { rows.value(for: key) }

    /// Whether there is little room for rows that haven't been used yet.
    var isHalfFull: Bool { rows.cost > Self.maximumCost / 2 }

    /// Records the rows of a key. Call this within the transaction that read them. A process's transactions run one after another, so no
    /// row is recorded after another transaction has removed it.
    func note(_ found: DiskIndex.Found, of key: ResourceKey) {
        guard found.ready.count == 1, found.garbage.isEmpty, found.ready[0].head.variant.isAny else {
            forget(key)
            return
        }
        let fields = found.ready[0].head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
        rows.insert(
            found.ready[0], for: key, cost: 512 + key.text.utf8.count + fields + (found.ready[0].body?.count ?? 0))
    }

    /// Forgets the rows of a key. Call this within the transaction that changes them.
    func forget(_ key: ResourceKey) { rows.removeValue(for: key) }
}

/// Returns the SHA-256 of the data. It runs off the caller's actor, because a large body takes milliseconds.
@concurrent func sha256(_ data: Data) async -> Data { Data(SHA256Digest.of(data)) }
