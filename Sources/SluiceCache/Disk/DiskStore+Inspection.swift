import GRDB
import SluiceDatabase
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Reading all entries, for tools. The pages are separate transactions, so that other processes can write between them.
extension DiskIndex {
    /// A row as it is listed. `ready` is `nil` if its values are impossible.
    struct Listed: Sendable {
        var id: Int64
        var key: ResourceKey
        var accessed: Int64
        var ready: Ready?
    }

    /// The place of a row in an order of rows.
    struct Position: Sendable {
        var accessed: Int64 = .max
        var id: Int64 = .max
    }

    private static let columns =
        "id, bytes, digest, status, requested, received, fields, variant, body, CAST(key AS TEXT), accessed"

    /// Returns the ready rows after a position, the most recently used first.
    static func byLastUse(
        after position: Position, matching pattern: String?, most: Int, _ policy: CachePolicy, in database: Database
    ) throws -> [Listed] {
        let sql = """
            SELECT \(columns) FROM entry
            WHERE state = 0 AND (accessed, id) < (?, ?) AND (?3 IS NULL OR key GLOB ?3)
            ORDER BY accessed DESC, id DESC LIMIT ?4
            """
        return try listed(sql, [position.accessed, position.id, pattern, most], policy, database)
    }

    /// Returns the ready rows with larger numbers, in the order of their numbers.
    static func byNumber(
        after id: Int64, matching pattern: String? = nil, most: Int, _ policy: CachePolicy, in database: Database
    ) throws -> [Listed] {
        let sql = """
            SELECT \(columns) FROM entry
            WHERE state = 0 AND id > ? AND (?2 IS NULL OR key GLOB ?2)
            ORDER BY id LIMIT ?3
            """
        return try listed(sql, [id, pattern, most], policy, database)
    }

    /// Returns the ready rows that weren't used since a time, the least recently used first.
    static func unused(since time: Int64, most: Int, in database: Database) throws -> [Entry] {
        let rows = try Row.fetchAll(
            database,
            sql: "SELECT \(Entry.columns) FROM entry WHERE state = 0 AND accessed < ? ORDER BY accessed LIMIT ?",
            arguments: [time, most])
        return rows.map { Entry($0) }
    }

    private static func listed(
        _ sql: String, _ arguments: StatementArguments, _ policy: CachePolicy, _ database: Database
    ) throws -> [Listed] {
        try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
            Listed(
                id: row[0], key: ResourceKey(text: String.fromDatabaseValue(row[9]) ?? ""),
                accessed: Int64.fromDatabaseValue(row[10]) ?? 0, ready: ready(row, policy))
        }
    }

    /// The number of ready rows, and the first and last time of their use.
    static func extent(in database: Database) throws -> (count: Int, oldest: Int64?, newest: Int64?) {
        let row = try Row.fetchOne(
            database, sql: "SELECT count(*), min(accessed), max(accessed) FROM entry WHERE state = 0")
        return (
            row?[0] ?? 0, row.flatMap { Int64.fromDatabaseValue($0[1]) }, row.flatMap { Int64.fromDatabaseValue($0[2]) }
        )
    }

    /// The key of a row in any state.
    static func key(of id: Int64, in database: Database) throws -> ResourceKey? {
        try Row.fetchOne(database, sql: "SELECT key FROM entry WHERE id = ?", arguments: [id])
            .map { ResourceKey(text: String.fromDatabaseValue($0[0]) ?? "") }
    }

    /// Returns the recorded and the actual sum of sizes, or `nil` if they are equal.
    static func wrongSum(in database: Database) throws -> (recorded: String, actual: String)? {
        let row = try Row.fetchOne(
            database,
            sql: """
                SELECT CAST(bytes AS TEXT), CAST(actual AS TEXT), bytes IS actual
                FROM usage, (SELECT \(actualSum) AS actual FROM entry)
                """)
        guard let row, Bool.fromDatabaseValue(row[2]) != true else { return nil }
        return (String.fromDatabaseValue(row[0]) ?? "?", String.fromDatabaseValue(row[1]) ?? "?")
    }

    static func correctSum(in database: Database) throws {
        try database.execute(sql: "UPDATE usage SET bytes = (SELECT \(actualSum) FROM entry)")
    }

    private static let actualSum = "coalesce(sum(entry.bytes + \(overheadSQL(of: "entry."))), 0)"

    /// Returns the first line of SQLite's report about damage in the tables, or `nil` if they are undamaged.
    static func damage(in database: Database) throws -> String? {
        let line = try String.fetchOne(database, sql: "PRAGMA quick_check(1)")
        return line == "ok" ? nil : line
    }
}

extension DiskStore {
    /// Removes these entries unless they were replaced meanwhile, and returns how many.
    func remove(_ entries: [DiskIndex.Entry]) async throws -> Int {
        try await change { [self] in
            let (leaving, count) = try await database.write { [slot, verified] database in
                let ready = try entries.compactMap { try DiskIndex.entry($0.id, in: database) }
                for entry in ready { verified.forget(entry.key) }
                return (try DiskIndex.markLeaving(ready, writer: slot.number, in: database), ready.count)
            }
            try await finishLeaving(leaving)
            return count
        }
    }
}
