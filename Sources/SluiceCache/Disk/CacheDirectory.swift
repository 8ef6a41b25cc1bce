import GRDB
import GRDBSQLite
import SluiceConcurrency
import SluiceDatabase
package import SluiceFiles
package import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A cache's directory, for tools that list, verify and trim it. Other processes may use the cache at the same time.
///
///     try await CacheDirectory.withDirectory(at: directory) { cache in
///         var position: CacheDirectory.Position? = .start
///         while let start = position {
///             let page = try await cache.entries(after: start)
///             for entry in page.entries { print(entry.url, entry.size) }
///             position = page.next
///         }
///     }
///
/// Nothing is created in a directory that doesn't belong to a cache.
///
/// - Failure: A `TransferError` with the code `cacheUnusable`, or a `FileError`.
package struct CacheDirectory: Sendable {
    let store: DiskStore
    let policy: CachePolicy
    let now: @Sendable () -> HTTPDate

    package var directory: URL { store.directory }

    /// Opens a directory that a cache created, calls `body` and closes the directory.
    package static func withDirectory<R>(
        at directory: URL, using files: FileIO = .shared,
        now: @escaping @Sendable () -> HTTPDate = {
            HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
        },
        _ body: (CacheDirectory) async throws -> R
    ) async throws -> R {
        try await check(directory, files)
        let store: DiskStore
        do {
            store = try await DiskStore.open(
                in: directory, limit: .max, entryLimit: .max, largestInIndex: DiskStore.largestInIndex,
                verification: .always, files: files)
        } catch let error as TransferError {
            throw (error.cause as? DatabaseFailure).map(unusable) ?? error
        }
        let cache = CacheDirectory(store: store, policy: CachePolicy(salt: store.salt), now: now)
        return try await scoped {
            do {
                return try await body(cache)
            } catch let failure as DatabaseFailure {
                throw unusable(failure)
            }
        } finally: {
            try await store.close()
        }
    }

    // MARK: Checking before opening

    /// Throws if the directory doesn't contain an index from this program. Only reads: opening the index would create it.
    private static func check(_ directory: URL, _ files: FileIO) async throws {
        guard let status = try await files.status(of: directory) else {
            throw unusable(
                directory, "No cache found.",
                "Check the path. The directory of a cache is created when the cache is used for the first time.")
        }
        guard status.kind == .directory else {
            throw unusable(directory, "This isn't a directory.", "Name the directory of a cache.")
        }
        let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
        let size = try await files.status(of: index).map { $0.kind == .file ? $0.size : nil } ?? nil
        let notACache = unusable(
            directory, "This isn't the directory of a cache\(size == nil ? ", because it has no index.db" : "").",
            "Name the directory of a cache.")
        guard let size, size > 0 else { throw notACache }
        let log = directory.appending(path: "index.db-wal", directoryHint: .notDirectory)
        let hasLog = try await files.exists(log)
        var header: IndexHeader?
        do {
            header = try await read(index, files) { try IndexHeader(of: index) }
        } catch let error as TransferError where !hasLog {
            throw error
        } catch is TransferError {
            // After a kill or on a full disk, an index may look damaged without its log.
        }
        if hasLog, header.map({ $0.application == 0 }) ?? true {
            // While a cache is open for the first time, all its tables are in the log.
            header = try await read(index, files) { try IndexHeader(withLogOf: index) }
        }
        guard let header, header.application == DiskIndex.schema.application, header.version >= 0 else {
            throw notACache
        }
        let known = DiskIndex.schema.migrations.count
        guard header.version <= known else {
            throw unusable(
                index,
                "The cache is of a newer version of the program: its tables have version \(header.version), and this program knows "
                    + "version \(known). Nothing was changed.",
                "Use the newer program, or another directory.")
        }
    }

    private static func read(
        _ index: URL, _ files: FileIO, _ header: @escaping @Sendable () throws -> IndexHeader
    ) async throws -> IndexHeader {
        do {
            return try await files.runBlocking(header)
        } catch let error as DatabaseError {
            let cause = error.message ?? "\(error.resultCode)"
            guard error.resultCode == .SQLITE_NOTADB || error.resultCode == .SQLITE_CORRUPT else {
                throw unusable(
                    index, "The index of the cache can't be read: \(cause).",
                    "Check that this user may read the file, and that no other program keeps it locked.")
            }
            // It may be another program's file.
            throw unusable(
                index, "The index of the cache can't be read: \(cause).",
                "Check that this is the directory of a cache. If it is, remove it, and its responses will be fetched again."
            )
        }
    }

    private static func unusable(_ failure: DatabaseFailure) -> TransferError {
        var remedy = failure.remedy
        // The index's application number has already been checked.
        if failure.code == .corrupt || failure.code == .other { remedy = DiskStore.damagedRemedy }
        if failure.code == .readOnly { remedy = "Allow this user to write the directory, or choose another directory." }
        var error = unusable(URL(filePath: failure.path), failure.message, remedy)
        error.cause = failure
        return error
    }

    private static func unusable(_ url: URL, _ message: String, _ remedy: String) -> TransferError {
        var error = TransferError(.cacheUnusable, url: url, message: message, remedy: remedy)
        let path = url.path(percentEncoded: false)
        error.subject = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        return error
    }
}

// MARK: - Entries

extension CacheDirectory {
    /// A stored response.
    package struct Entry: Sendable, Equatable {
        /// The URL, without a fragment. It may contain secrets.
        package var url: String
        package var status: Int
        /// The length of the body.
        package var size: Int
        /// The last-use time in the index, which lags a little (see `UseTimes`).
        package var lastUse: Date
        /// The seconds since the server created or confirmed the response, or `nil` if the clock was set back since then.
        package var age: Int64?
        /// How many seconds the response stays fresh; negative if it is stale. `nil` if the age is unknown, or if the server wants each use
        /// to be validated.
        package var freshFor: Int64?
        package var isFresh: Bool
        /// The names of the request fields that the response depends on (`Vary`), in lowercase.
        package var variantFields: [String]
    }

    /// A position in the list of entries.
    package struct Position: Sendable {
        fileprivate var row: DiskIndex.Position
        /// The position before the first entry.
        package static let start = Self(row: DiskIndex.Position())
    }

    package struct Page: Sendable {
        package var entries: [Entry]
        /// The position of the next page, or `nil` after the last one.
        package var next: Position?
    }

    /// The totals of a cache.
    package struct Totals: Sendable, Equatable {
        package var entries = 0
        package var fresh = 0
        /// The size of all bodies plus the overhead of each entry, as it counts toward the cache's limit.
        package var bytes: Int64 = 0
        /// The size of the index.
        package var indexBytes: Int64 = 0
        package var oldestUse: Date?
        package var newestUse: Date?
    }

    /// A selection of URLs: all URLs that begin with a text or, if the text contains a `*`, all URLs that match it as a whole. A `*` stands
    /// for any text.
    package struct Pattern: Sendable {
        let glob: String

        package init(_ text: String) {
            // The other special characters in SQLite's GLOB are common in URLs.
            let escaped = text.reduce(into: "") { $0 += $1 == "?" || $1 == "[" ? "[\($1)]" : String($1) }
            glob = text.contains("*") ? escaped : escaped + "*"
        }
    }

    /// Returns entries, most recently used first. An entry that is used in the meantime may be missing from the pages.
    package func entries(
        after position: Position, matching pattern: Pattern? = nil, most: Int = 500
    ) async throws -> Page {
        let rows = try await store.database.read { [policy] database in
            try DiskIndex.byLastUse(
                after: position.row, matching: pattern?.glob, most: most, policy, in: database)
        }
        let now = now()
        let next = rows.count == most ? rows.last : nil
        return Page(
            entries: rows.compactMap { entry($0, now) },
            next: next.map { Position(row: DiskIndex.Position(accessed: $0.accessed, id: $0.id)) })
    }

    /// Returns the totals without reading the entries. The number of fresh entries and the size of the index are missing.
    package func size() async throws -> Totals {
        let (extent, used) = try await store.database.read { database in
            (try DiskIndex.extent(in: database), try DiskIndex.usedBytes(in: database))
        }
        return Totals(
            entries: extent.count, bytes: used, oldestUse: extent.oldest.map(Self.date),
            newestUse: extent.newest.map(Self.date))
    }

    package func totals() async throws -> Totals {
        var totals = try await size()
        var position: Position? = .start
        while let start = position {
            let page = try await entries(after: start)
            totals.fresh += page.entries.count { $0.isFresh }
            position = page.next
            try Task.checkCancellation()
        }
        for name in ["index.db", "index.db-wal"] {
            let file = directory.appending(path: name, directoryHint: .notDirectory)
            totals.indexBytes += try await store.files.status(of: file)?.size ?? 0
        }
        return totals
    }

    private func entry(_ row: DiskIndex.Listed, _ now: HTTPDate) -> Entry? {
        guard let ready = row.ready else { return nil }
        let freshness = ready.head.freshness
        let age = freshness.isAgeKnown(at: now) ? freshness.age(at: now) : nil
        let (left, overflows) = freshness.lifetime.subtractingReportingOverflow(age ?? 0)
        return Entry(
            url: row.key.text, status: ready.head.status, size: ready.bytes, lastUse: Self.date(row.accessed), age: age,
            freshFor: age == nil || overflows || ready.head.control.noCache ? nil : left,
            isFresh: policy.isFresh(ready.head, at: now),
            variantFields: ready.head.variant.lines.split(separator: "\n").map {
                String($0.prefix { $0 != ":" })
            })
    }

    static func date(_ microseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}

// MARK: - Removal

// Each method returns the number of removed entries. Other processes may still have the removed responses in memory.
extension CacheDirectory {
    private static let batch = 256

    /// Removes all responses of a URL.
    package func remove(_ url: URL) async throws -> Int {
        let key = ResourceKey(url)
        let found = try await store.find(key, policy)
        let ids = found.ready.map(\.id) + found.garbage
        return try await store.remove(ids.map { DiskIndex.Entry(id: $0, key: key) })
    }

    package func remove(matching pattern: Pattern) async throws -> Int {
        try await remove(matching: pattern) { _ in true }
    }

    package func removeAll() async throws -> Int { try await store.trim(toBytes: 0) }

    /// Removes all stale responses. A server can then no longer confirm them, and has to send them again.
    package func removeStale() async throws -> Int {
        let now = now()
        return try await remove { [policy] row in row.ready.map { !policy.isFresh($0.head, at: now) } ?? true }
    }

    /// Removes the least recently used responses until the rest take at most this many bytes.
    package func trim(toBytes bytes: Int64) async throws -> Int { try await store.trim(toBytes: bytes) }

    /// Removes the responses that haven't been used since the given time.
    package func removeUnused(since time: Date) async throws -> Int {
        // The time may be far out of range: a caller can subtract any number of weeks.
        let exact = (time.timeIntervalSince1970 * 1_000_000).rounded(.down)
        let microseconds = Int64(exactly: exact) ?? (exact > 0 ? .max : .min)
        var removed = 0
        while true {
            let rows = try await store.database.read {
                try DiskIndex.unused(since: microseconds, most: Self.batch, in: $0)
            }
            if rows.isEmpty { return removed }
            removed += try await store.remove(rows)
            try Task.checkCancellation()
        }
    }

    private func remove(
        matching pattern: Pattern? = nil, where isRemoved: @escaping @Sendable (DiskIndex.Listed) -> Bool
    ) async throws -> Int {
        var removed = 0
        var last: Int64 = 0
        while true {
            let rows = try await store.database.read { [policy, last] in
                try DiskIndex.byNumber(after: last, matching: pattern?.glob, most: Self.batch, policy, in: $0)
            }
            guard let end = rows.last?.id else { return removed }
            last = end
            let leaving = rows.filter(isRemoved).map { DiskIndex.Entry(id: $0.id, key: $0.key) }
            if !leaving.isEmpty { removed += try await store.remove(leaving) }
            try Task.checkCancellation()
        }
    }
}

// MARK: - Verification

extension CacheDirectory {
    /// Damage that a verification found.
    package struct Problem: Sendable {
        package enum Kind: String, Sendable {
            /// An entry's file is missing, or has different bytes than were stored.
            case damagedFile = "damaged file"
            /// An entry's row has impossible values.
            case damagedRow = "damaged row"
            /// A file in the cache doesn't belong to any entry.
            case strayFile = "stray file"
            /// A file can't be read, so we don't know whether it is damaged.
            case unreadableFile = "unreadable file"
            /// SQLite reports that the index is damaged.
            case damagedIndex = "damaged index"
            /// The index's total size differs from the sum of its entries, so the limit is enforced too late or too early.
            case wrongSum = "wrong sum"
        }

        package var kind: Kind
        /// The URL of the entry. It may contain secrets.
        package var url: String?
        package var file: URL
        /// The error text from the system or SQLite.
        package var detail: String?
        package var isRepaired = false
    }

    package struct Verification: Sendable, Equatable {
        package var entries = 0
        package var bytes: Int64 = 0
        package var problems = 0
        package var repaired = 0
    }

    /// Reads every body and checks its length and digest against the index, and looks for cache files that aren't in the index.
    ///
    /// Reading doesn't count as using an entry. Files that aren't named like cache files are ignored. With `isRepairing`, damaged entries
    /// and stray files are removed; other problems stay.
    package func verify(
        isRepairing: Bool, onProblem: (Problem) async -> Void
    ) async throws -> Verification {
        var result = Verification()
        func note(_ problem: Problem) async {
            result.problems += 1
            if problem.isRepaired { result.repaired += 1 }
            await onProblem(problem)
        }
        if let damage = try await store.database.read({ try DiskIndex.damage(in: $0) }) {
            let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
            await note(Problem(kind: .damagedIndex, file: index, detail: damage))
        }
        if var problem = try await verifySum() {
            if isRepairing {
                try await store.database.write { try DiskIndex.correctSum(in: $0) }
                problem.isRepaired = true
            }
            await note(problem)
        }
        var last: Int64 = 0
        while true {
            let rows = try await store.database.read { [policy, last] in
                try DiskIndex.byNumber(after: last, most: 32, policy, in: $0)
            }
            guard let end = rows.last?.id else { break }
            last = end
            let found = try await rows.concurrentMap(concurrency: 4) { row in
                try await self.verify(row, isRepairing: isRepairing)
            }
            for (bytes, problem) in found {
                result.entries += 1
                result.bytes += Int64(bytes)
                if let problem { await note(problem) }
            }
            // Drop the uses. There are fewer than a batch, so none have been written.
            _ = store.uses.take()
        }
        try await store.forEachStrayFile { file in
            if isRepairing { try await store.removeStray(file) }
            await note(Problem(kind: .strayFile, file: file, isRepaired: isRepairing))
        }
        return result
    }

    private func verifySum() async throws -> Problem? {
        guard let sums = try await store.database.read({ try DiskIndex.wrongSum(in: $0) }) else { return nil }
        let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
        return Problem(kind: .wrongSum, file: index, detail: "\(sums.recorded) bytes instead of \(sums.actual)")
    }

    private func verify(_ row: DiskIndex.Listed, isRepairing: Bool) async throws -> (Int, Problem?) {
        let file = store.file(row.id, row.key)
        var problem: Problem
        if let ready = row.ready {
            do {
                switch try await store.body(of: ready, row.key) {
                case .found(let body): return (body.count, nil)
                case .missing: return (0, nil)
                case .damaged: problem = Problem(kind: .damagedFile, url: row.key.text, file: file)
                }
            } catch let error as FileError where error.code != .cancelled {
                return (0, Problem(kind: .unreadableFile, url: row.key.text, file: file, detail: error.message))
            }
        } else {
            problem = Problem(kind: .damagedRow, url: row.key.text, file: file)
        }
        if isRepairing {
            try await store.drop(row.id, row.key)
            problem.isRepaired = true
        }
        return (0, problem)
    }
}

// MARK: - The header of the index

/// The numbers in an SQLite file that identify it, read without changing anything in its directory.
///
/// The file is only ever opened through SQLite. If a process closes any descriptor for a file, it loses all its locks on the file,
/// including SQLite's (sqlite.org/howtocorrupt.html, section 2.2). If another process then closes the database, it thinks it is the last
/// one and removes the log, and this process's transactions are lost.
struct IndexHeader: Sendable {
    var application: Int32
    var version: Int32

    /// Reads the file without its log. Blocks.
    ///
    /// - Throws: A `DatabaseError`.
    init(of file: URL) throws {
        // An immutable database is read without a lock. Otherwise, SQLite would create the log's files beside it.
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2("\(file.absoluteURL.absoluteString)?immutable=1", &connection, flags, nil)
        defer { sqlite3_close_v2(connection) }
        guard code == SQLITE_OK else { throw Self.error(code, connection) }
        application = try Self.number("PRAGMA application_id", connection)
        version = try Self.number("PRAGMA user_version", connection)
    }

    /// Reads the file and its log. Blocks.
    ///
    /// - Throws: A `DatabaseError`.
    init(withLogOf file: URL) throws {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = LockWait.busyMode
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false), configuration: configuration)
        defer { try? queue.close() }
        (application, version) = try queue.read { database in
            (
                try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0,
                try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            )
        }
    }

    private static func number(_ sql: String, _ connection: OpaquePointer?) throws -> Int32 {
        var statement: OpaquePointer?
        var code = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        guard code == SQLITE_OK else { throw error(code, connection) }
        code = sqlite3_step(statement)
        guard code == SQLITE_ROW else { throw error(code, connection) }
        return sqlite3_column_int(statement, 0)
    }

    private static func error(_ code: CInt, _ connection: OpaquePointer?) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code), message: connection.map { String(cString: sqlite3_errmsg($0)) })
    }
}
