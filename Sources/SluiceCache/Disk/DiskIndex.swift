import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The table of what is in the folder, and its statements. Each runs within a transaction of the caller's.
///
/// ```text
/// writing ─▶ ready ─▶ leaving ─▶ (no row)
///    └────────────────▲
/// ```
///
/// A file exists only while it has a row: the row is there before the file is, and goes after it. Rows that are not ready
/// name the writer that works on them (``WriterSlot``). So whatever a killed process leaves is found from the index, without
/// a search of the folder.
enum DiskIndex {
    enum State: Int {
        case ready = 0
        case writing = 1
        case leaving = 2
    }

    /// What an entry counts beside its body, for its name, its row and the end of its last block: without it, empty
    /// entries would be kept without end. Part of the schema.
    static let overhead = 512

    /// "SLUC"
    static let schema = DatabaseSchema(
        application: 0x534C_5543,
        migrations: [
            { database in
                try database.execute(
                    sql: """
                        CREATE TABLE entry (
                            -- Never used again: a file of this number is this version of the entry, or nothing.
                            id INTEGER PRIMARY KEY AUTOINCREMENT,
                            key TEXT NOT NULL,
                            state INTEGER NOT NULL,
                            writer INTEGER,
                            bytes INTEGER NOT NULL CHECK (bytes >= 0),
                            digest BLOB NOT NULL,
                            accessed INTEGER NOT NULL,
                            status INTEGER NOT NULL,
                            requested INTEGER NOT NULL,
                            received INTEGER NOT NULL,
                            fields TEXT NOT NULL
                        ) STRICT;
                        CREATE UNIQUE INDEX entry_ready ON entry(key) WHERE state = 0;
                        CREATE INDEX entry_accessed ON entry(accessed) WHERE state = 0;
                        CREATE INDEX entry_unsettled ON entry(writer) WHERE state <> 0;
                        CREATE TABLE usage (bytes INTEGER NOT NULL) STRICT;
                        INSERT INTO usage VALUES (0);
                        CREATE TRIGGER entry_added AFTER INSERT ON entry
                            BEGIN UPDATE usage SET bytes = bytes + new.bytes + 512; END;
                        CREATE TRIGGER entry_removed AFTER DELETE ON entry
                            BEGIN UPDATE usage SET bytes = bytes - old.bytes - 512; END;
                        CREATE TRIGGER entry_resized AFTER UPDATE OF bytes ON entry
                            BEGIN UPDATE usage SET bytes = bytes - old.bytes + new.bytes; END;
                        """)
            }
        ])

    /// A row, as much of it as names its file.
    struct Entry: Sendable {
        var id: Int64
        var key: ResourceKey
        var bytes: Int
    }

    /// A ready row.
    struct Ready: Sendable {
        var id: Int64
        var bytes: Int
        var digest: Data
        var head: StoredResponse.Head
    }

    enum Found: Sendable {
        case nothing
        case ready(Ready)
        /// A row that says what cannot be.
        case garbage(Int64)
    }

    // MARK: Reading

    static func find(_ key: ResourceKey, _ maximumHeuristicLifetime: Duration, in database: Database) throws -> Found {
        let sql = "SELECT id, bytes, digest, status, requested, received, fields FROM entry WHERE key = ? AND state = 0"
        guard let row = try Row.fetchOne(database, sql: sql, arguments: [key.text]) else { return .nothing }
        let id: Int64 = row[0]
        guard let bytes = Int.fromDatabaseValue(row[1]), bytes >= 0,
            let digest = Data.fromDatabaseValue(row[2]), digest.count == 32,
            let status = Int.fromDatabaseValue(row[3]), status == 200 || status == 203,
            let requested = Int64.fromDatabaseValue(row[4]), let received = Int64.fromDatabaseValue(row[5]),
            moments.contains(requested), moments.contains(received),
            let fields = String.fromDatabaseValue(row[6]).flatMap({ HTTPFields(lines: $0) })
        else { return .garbage(id) }
        let head = StoredResponse.Head(
            status: status, fields: fields, requested: HTTPDate(secondsSince1970: requested),
            received: HTTPDate(secondsSince1970: received), maximumHeuristicLifetime: maximumHeuristicLifetime)
        return .ready(Ready(id: id, bytes: bytes, digest: digest, head: head))
    }

    /// Times that can be calculated with: some 30,000 years.
    private static let moments: Range<Int64> = 0..<(1 << 40)

    static func isReady(_ id: Int64, in database: Database) throws -> Bool {
        try Bool.fetchOne(database, sql: "SELECT state = 0 FROM entry WHERE id = ?", arguments: [id]) ?? false
    }

    static func usedBytes(in database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "SELECT bytes FROM usage") ?? 0
    }

    /// What the writer was at when it ended.
    static func unsettled(of writer: Int, in database: Database) throws -> [Entry] {
        try entries(
            Row.fetchAll(
                database, sql: "SELECT id, key, bytes FROM entry WHERE state <> 0 AND writer = ?", arguments: [writer]))
    }

    static func writersOfUnsettled(in database: Database) throws -> [Int] {
        try Int.fetchAll(database, sql: "SELECT DISTINCT writer FROM entry WHERE state <> 0 AND writer IS NOT NULL")
    }

    /// The rows that have to leave until no more than `target` bytes are used, those first that were not used for longest.
    ///
    /// - Parameter most: so many are looked at.
    /// - Returns: those rows, and whether they are enough.
    static func leastRecentlyUsed(
        downTo target: Int, most: Int = .max, in database: Database
    ) throws -> (entries: [Entry], areEnough: Bool) {
        var excess = try usedBytes(in: database) - target
        var victims: [Entry] = []
        guard excess > 0 else { return ([], true) }
        let rows = try Row.fetchCursor(
            database, sql: "SELECT id, key, bytes FROM entry WHERE state = 0 ORDER BY accessed")
        while excess > 0, victims.count < most, let row = try rows.next() {
            let entry = Entry(id: row[0], key: ResourceKey(text: row[1]), bytes: row[2])
            victims.append(entry)
            excess -= entry.bytes + overhead
        }
        return (victims, excess <= 0)
    }

    private static func entries(_ rows: [Row]) -> [Entry] {
        rows.map { Entry(id: $0[0], key: ResourceKey(text: $0[1]), bytes: $0[2]) }
    }

    // MARK: Writing

    static func insertWriting(
        _ response: StoredResponse, digest: Data, key: ResourceKey, writer: Int, now: Int64, in database: Database
    ) throws -> Int64 {
        try database.execute(
            sql: """
                INSERT INTO entry (key, state, writer, bytes, digest, accessed, status, requested, received, fields)
                VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                key.text, writer, response.body.count, digest, now, response.head.status,
                response.head.requested.secondsSince1970, response.head.received.secondsSince1970,
                response.head.fields.lines,
            ])
        return database.lastInsertedRowID
    }

    /// The file is there: its row takes the place of the one that was ready. Returns the old row; nil if ours is gone.
    static func makeReady(
        _ id: Int64, key: ResourceKey, writer: Int, in database: Database
    ) throws -> (isReady: Bool, old: [Entry]) {
        let isOurs = try Bool.fetchOne(
            database, sql: "SELECT 1 FROM entry WHERE id = ? AND state = 1 AND writer = ?", arguments: [id, writer])
        guard isOurs == true else { return (false, []) }
        let old = try markLeaving(key, writer: writer, in: database)
        try database.execute(sql: "UPDATE entry SET state = 0, writer = NULL WHERE id = ?", arguments: [id])
        return (true, old)
    }

    static func markLeaving(_ key: ResourceKey, writer: Int, in database: Database) throws -> [Entry] {
        let rows = try Row.fetchAll(
            database, sql: "SELECT id, key, bytes FROM entry WHERE key = ? AND state = 0", arguments: [key.text])
        let entries = entries(rows)
        try markLeaving(entries.map(\.id), writer: writer, in: database)
        return entries
    }

    /// Returns how many were ready, and now leave on behalf of this writer.
    @discardableResult
    static func markLeaving(_ ids: [Int64], writer: Int, in database: Database) throws -> Int {
        var marked = 0
        for id in ids {
            try database.execute(
                sql: "UPDATE entry SET state = 2, writer = ? WHERE id = ? AND state = 0", arguments: [writer, id])
            marked += database.changesCount
        }
        return marked
    }

    static func delete(_ ids: [Int64], in database: Database) throws {
        for id in ids { try database.execute(sql: "DELETE FROM entry WHERE id = ?", arguments: [id]) }
    }

    static func update(_ id: Int64, _ head: StoredResponse.Head, in database: Database) throws -> Bool {
        try database.execute(
            sql: "UPDATE entry SET requested = ?, received = ?, fields = ? WHERE id = ? AND state = 0",
            arguments: [
                head.requested.secondsSince1970, head.received.secondsSince1970, head.fields.lines, id,
            ])
        return database.changesCount == 1
    }

    static func touch(_ uses: [Int64: Int64], in database: Database) throws {
        for (id, time) in uses {
            try database.execute(
                sql: "UPDATE entry SET accessed = max(accessed, ?) WHERE id = ? AND state = 0", arguments: [time, id])
        }
    }
}
