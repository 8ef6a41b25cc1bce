import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The table of the files in the cache's directory, and its statements. Each statement runs within the caller's transaction.
///
/// ```text
/// writing ─▶ ready ─▶ leaving ─▶ (no row)
///    └────────────────▲
/// ```
///
/// A row is created before its file and deleted after it, so each file has a row. A row that isn't ready names the writer that is working
/// on it (``WriterSlot``). So the index finds the files that a killed process left behind, without scanning the directory.
///
/// A small body is in its row and has no file. Such a row is always ready.
enum DiskIndex {
    enum State: Int {
        case ready = 0
        case writing = 1
        case leaving = 2
    }

    /// The minimum number of bytes that an entry counts in addition to its body, for its name, its row and the unused end of its last
    /// block. Without it, the number of empty entries would be unlimited. The value is part of the schema.
    private static let overhead = 512

    /// Returns SQL for the bytes that a row counts in addition to its body. A server determines the length of the fields. The table's
    /// triggers contain this SQL, so every other sum over the rows must use it, too.
    private static func overheadSQL(of row: String) -> String {
        let texts = ["key", "fields", "variant"].map { "length(CAST(\(row)\($0) AS BLOB))" }.joined(separator: " + ")
        return "max(\(overhead), \(texts))"
    }

    /// The bytes that a response's row counts, including its body, or `nil` if a server announces so many that the number overflows.
    static func size(of head: StoredResponse.Head, bytes: Int64, key: ResourceKey) -> Int64? {
        let texts = key.text.utf8.count + head.fields.linesSize + head.variant.lines.utf8.count
        let (sum, overflows) = bytes.addingReportingOverflow(Int64(max(overhead, texts)))
        return overflows ? nil : sum
    }

    static func size(of response: StoredResponse, key: ResourceKey) -> Int64? {
        size(of: response.head, bytes: Int64(response.body.count), key: key)
    }

    /// The application number is "SLUC".
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
            },
            { try addVariants(to: $0) },
            { database in
                try countTexts(in: database)
                // The body, if it isn't in a file.
                try database.execute(sql: "ALTER TABLE entry ADD COLUMN body BLOB")
            },
            { database in
                try database.execute(
                    sql: """
                        -- How often responses were removed because they were out of date or unwanted (KnownKeys).
                        ALTER TABLE usage ADD COLUMN removals INTEGER NOT NULL DEFAULT 0;
                        -- What the URLs have in common that a response answers (SearchVariance); NULL if it is one URL.
                        ALTER TABLE entry ADD COLUMN search TEXT;
                        CREATE INDEX entry_search ON entry(search, received) WHERE search IS NOT NULL;
                        """)
            },
        ])

    private static func countTexts(in database: Database) throws {
        let (new, old) = (overheadSQL(of: "new."), overheadSQL(of: "old."))
        try database.execute(
            sql: """
                DROP TRIGGER entry_added;
                DROP TRIGGER entry_removed;
                DROP TRIGGER entry_resized;
                CREATE TRIGGER entry_added AFTER INSERT ON entry
                    BEGIN UPDATE usage SET bytes = bytes + new.bytes + \(new); END;
                CREATE TRIGGER entry_removed AFTER DELETE ON entry
                    BEGIN UPDATE usage SET bytes = bytes - old.bytes - \(old); END;
                CREATE TRIGGER entry_resized AFTER UPDATE OF bytes, key, fields, variant ON entry
                    BEGIN UPDATE usage SET bytes = bytes - old.bytes - \(old) + new.bytes + \(new); END;
                UPDATE usage SET bytes = (SELECT coalesce(sum(bytes + \(overheadSQL(of: ""))), 0) FROM entry);
                """)
    }

    /// A version 1 entry is the response to a request without header fields, so the fields that its `Vary` names were missing.
    private static func addVariants(to database: Database) throws {
        try database.execute(
            sql: """
                -- The request fields that the response depends on (Variant.lines). Their values are secrets, so it has salted digests.
                ALTER TABLE entry ADD COLUMN variant TEXT NOT NULL DEFAULT '';
                DROP INDEX entry_ready;
                CREATE UNIQUE INDEX entry_ready ON entry(key, variant) WHERE state = 0;
                ALTER TABLE usage ADD COLUMN salt BLOB;
                UPDATE usage SET salt = randomblob(16);
                """)
        let varying = try Row.fetchAll(
            database, sql: "SELECT id, fields FROM entry WHERE state = 0 AND fields LIKE '%vary:%'")
        for row in varying {
            let fields = String.fromDatabaseValue(row[1]).flatMap { HTTPFields(lines: $0) } ?? [:]
            // A row with an invalid variant is dropped when it is looked up.
            let variant = Variant(of: fields, for: [:], policy: CachePolicy())?.lines ?? "?"
            try database.execute(
                sql: "UPDATE entry SET variant = ? WHERE id = ?", arguments: [variant, row[0] as Int64])
        }
    }

    struct Entry: Sendable {
        var id: Int64
        var key: ResourceKey
        /// Whether the body is in the row and not in a file.
        var isInIndex = false

        /// The bytes that the row counts.
        var size: Int64 = 0

        static let columns = "id, key, body IS NOT NULL, bytes + \(overheadSQL(of: ""))"

        init(id: Int64, key: ResourceKey) {
            self.id = id
            self.key = key
        }

        /// A damaged index may contain values of other types, which make GRDB's subscripts trap, and sums that overflow.
        init(_ row: Row) {
            id = row[0]
            key = ResourceKey(text: String.fromDatabaseValue(row[1]) ?? "")
            isInIndex = Bool.fromDatabaseValue(row[2]) ?? false
            size = min(max(Int64.fromDatabaseValue(row[3]) ?? 0, 0), 1 << 60)
        }
    }

    struct Ready: Sendable {
        var id: Int64
        var bytes: Int
        var digest: Data
        var head: StoredResponse.Head
        /// The body, or `nil` if it is in a file.
        var body: Data?
    }

    /// The ready rows of a key: one for each variant.
    struct Found: Sendable {
        var ready: [Ready] = []
        /// Rows with impossible values.
        var garbage: [Int64] = []
    }

    /// The rows that a new one replaces, in addition to the row of the same key and variant.
    enum Replaced: Sendable {
        case rows([Int64])
        /// All rows of the key.
        case all
    }

    // MARK: Reading

    static func find(_ key: ResourceKey, _ policy: CachePolicy, in database: Database) throws -> Found {
        let sql = """
            SELECT id, bytes, digest, status, requested, received, fields, variant, body FROM entry
            WHERE key = ? AND state = 0 ORDER BY id
            """
        var found = Found()
        for row in try Row.fetchAll(database.cachedStatement(sql: sql), arguments: [key.text]) {
            if let ready = ready(row, policy) { found.ready.append(ready) } else { found.garbage.append(row[0]) }
        }
        return found
    }

    /// Whether a ready row takes precedence over a response that just arrived.
    static func supersedes(
        _ head: StoredResponse.Head, _ key: ResourceKey, at now: HTTPDate, _ policy: CachePolicy, in database: Database
    ) throws -> Bool {
        let sql = """
            SELECT id, bytes, digest, status, requested, received, fields, variant, NULL FROM entry
            WHERE key = ? AND variant = ? AND state = 0 AND requested > ?
            """
        let row = try Row.fetchOne(
            database.cachedStatement(sql: sql),
            arguments: [key.text, head.variant.lines, head.requested.secondsSince1970])
        guard let stored = row.flatMap({ ready($0, policy) }) else { return false }
        return head.isSuperseded(by: stored.head, at: now)
    }

    /// Returns the keys of the ready rows that belong to at least one of these groups, of whatever origin. Reads all rows.
    static func keys(inGroups groups: Set<String>, in database: Database) throws -> Set<ResourceKey> {
        let sql = "SELECT CAST(key AS TEXT), fields FROM entry WHERE state = 0 AND fields LIKE '%cache-groups:%'"
        var keys: Set<ResourceKey> = []
        let rows = try Row.fetchCursor(database.cachedStatement(sql: sql))
        while let row = try rows.next() {
            guard let fields = String.fromDatabaseValue(row[1]).flatMap({ HTTPFields(lines: $0) }),
                !fields.cacheGroups.isDisjoint(with: groups)
            else { continue }
            keys.insert(ResourceKey(text: String.fromDatabaseValue(row[0]) ?? ""))
        }
        return keys
    }

    static func ready(_ row: Row, _ policy: CachePolicy) -> Ready? {
        guard let bytes = Int.fromDatabaseValue(row[1]), bytes >= 0,
            let digest = Data.fromDatabaseValue(row[2]), digest.count == 32,
            let status = Int.fromDatabaseValue(row[3]), (200..<600).contains(status),
            let requested = Int64.fromDatabaseValue(row[4]), let received = Int64.fromDatabaseValue(row[5]),
            moments.contains(requested), moments.contains(received),
            let fields = String.fromDatabaseValue(row[6]).flatMap({ HTTPFields(lines: $0) }),
            let variant = String.fromDatabaseValue(row[7]).flatMap({ Variant(lines: $0) })
        else { return nil }
        let head = StoredResponse.Head(
            status: status, fields: fields, length: Int64(bytes), variant: variant,
            requested: HTTPDate(secondsSince1970: requested), received: HTTPDate(secondsSince1970: received),
            policy: policy)
        // Without its range, a part would be mistaken for the whole.
        guard status != 206 || head.part.map({ $0.upperBound - $0.lowerBound == Int64(bytes) }) ?? false else {
            return nil
        }
        return Ready(id: row[0], bytes: bytes, digest: digest, head: head, body: Data.fromDatabaseValue(row[8]))
    }

    /// The valid times. A range of about 30,000 years avoids overflow.
    private static let moments: Range<Int64> = 0..<(1 << 40)

    /// Whether the index has never had a row.
    static func isNew(in database: Database) throws -> Bool {
        try Bool.fetchOne(
            database, sql: "SELECT NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'entry')") ?? false
    }

    /// Whether a key has only one ready row.
    static func isOnly(_ key: ResourceKey, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(sql: "SELECT count(*) FROM entry WHERE key = ? AND state = 0")
        return try Int.fetchOne(statement, arguments: [key.text]) == 1
    }

    static func isReady(_ id: Int64, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(sql: "SELECT state = 0 FROM entry WHERE id = ?")
        return try Bool.fetchOne(statement, arguments: [id]) ?? false
    }

    static func salt(in database: Database) throws -> Data {
        try Data.fetchOne(database, sql: "SELECT salt FROM usage") ?? Data()
    }

    // MARK: Keys

    /// Returns the keys of the ready rows after `key`, in order, without duplicates.
    static func keys(after key: String, most: Int, in database: Database) throws -> [ResourceKey] {
        // The index entry_ready has everything that this needs.
        let sql = "SELECT DISTINCT key FROM entry WHERE state = 0 AND key > ? ORDER BY key LIMIT ?"
        return try keys(sql, [key, most], in: database)
    }

    static func unsettledKeys(in database: Database) throws -> [ResourceKey] {
        try keys("SELECT key FROM entry WHERE state <> 0", [], in: database)
    }

    /// Returns the keys of the ready rows with this text for equivalent URLs, the most recent first.
    static func keys(ofSearch search: String, most: Int, in database: Database) throws -> [ResourceKey] {
        let sql = "SELECT key FROM entry WHERE search = ? AND state = 0 ORDER BY received DESC, id DESC LIMIT ?"
        return try keys(sql, [search, most], in: database)
    }

    /// Returns the URLs, without queries, of rows that answer requests for several URLs, with their variances, of rows with larger numbers.
    static func searches(addedAfter row: Int64, in database: Database) throws -> [(key: ResourceKey, field: String)] {
        // The plus sign keeps SQLite from reading all rows in the order of their numbers. Few have the column.
        let sql = "SELECT key, fields FROM entry WHERE search IS NOT NULL AND +id > ?"
        return try Row.fetchAll(database.cachedStatement(sql: sql), arguments: [row]).compactMap { row in
            guard let key = String.fromDatabaseValue(row[0]),
                let field = String.fromDatabaseValue(row[1]).flatMap({ HTTPFields(lines: $0) })?[.noVarySearch]
            else { return nil }
            return (ResourceKey(text: key), field)
        }
    }

    /// Returns the keys of the rows with larger numbers, in any state.
    static func keys(addedAfter row: Int64, in database: Database) throws -> [ResourceKey] {
        try keys("SELECT key FROM entry WHERE id > ?", [row], in: database)
    }

    private static func keys(
        _ sql: String, _ arguments: StatementArguments, in database: Database
    ) throws -> [ResourceKey] {
        try Row.fetchAll(database.cachedStatement(sql: sql), arguments: arguments)
            .map { ResourceKey(text: String.fromDatabaseValue($0[0]) ?? "") }
    }

    /// The number of the newest row that was ever inserted.
    static func lastRow(in database: Database) throws -> Int64 {
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'entry'"
        return try Int64.fetchOne(database.cachedStatement(sql: sql)) ?? 0
    }

    // MARK: Sums

    static func removals(in database: Database) throws -> Int64 {
        try Int64.fetchOne(database.cachedStatement(sql: "SELECT removals FROM usage")) ?? 0
    }

    /// Counts a removal, and returns the count.
    static func noteRemoval(in database: Database) throws -> Int64 {
        // A damaged index may contain any value.
        let sql = "UPDATE usage SET removals = (max(removals, 0) + 1) & 0xFFFFFFFFFFFF RETURNING removals"
        return try Int64.fetchOne(database.cachedStatement(sql: sql)) ?? 0
    }

    static func usedBytes(in database: Database) throws -> Int64 {
        // A damaged index may contain any value. The range avoids overflow.
        let bytes = try Int64.fetchOne(database.cachedStatement(sql: "SELECT bytes FROM usage")) ?? 0
        return min(max(bytes, 0), 1 << 60)
    }

    /// Returns the number of bytes reserved for files that are being written.
    static func writingBytes(in database: Database) throws -> Int64 {
        let sql = "SELECT sum(bytes) FROM entry WHERE state <> 0 AND state = 1"
        return try Int64.fetchOne(database.cachedStatement(sql: sql)) ?? 0
    }

    /// Returns the rows that the writer was changing when it ended.
    static func unsettled(of writer: Int, in database: Database) throws -> [Entry] {
        let sql = "SELECT \(Entry.columns) FROM entry WHERE state <> 0 AND writer = ?"
        return try Row.fetchAll(database, sql: sql, arguments: [writer]).map { Entry($0) }
    }

    static func writersOfUnsettled(in database: Database) throws -> [Int] {
        try Int.fetchAll(database, sql: "SELECT DISTINCT writer FROM entry WHERE state <> 0 AND writer IS NOT NULL")
    }

    /// Returns the least recently used rows (at most `most`) to remove in order to get down to `target` bytes, and whether removing them is
    /// enough.
    static func leastRecentlyUsed(
        downTo target: Int64, most: Int = .max, in database: Database
    ) throws -> (entries: [Entry], areEnough: Bool) {
        var excess = try usedBytes(in: database) - target
        var victims: [Entry] = []
        guard excess > 0 else { return ([], true) }
        let sql = "SELECT \(Entry.columns) FROM entry WHERE state = 0 ORDER BY accessed"
        let rows = try Row.fetchCursor(database.cachedStatement(sql: sql))
        while excess > 0, victims.count < most, let row = try rows.next() {
            let entry = Entry(row)
            victims.append(entry)
            excess -= entry.size
        }
        return (victims, excess <= 0)
    }
}

// MARK: - Inserting, changing and removing

extension DiskIndex {
    // MARK: Inserting

    /// Inserts a row in the state `writing`, whose body is then written to a file.
    ///
    /// - Parameter bytes: The length of the body, or the bytes to reserve for it.
    static func insertWriting(
        _ head: StoredResponse.Head, bytes: Int, digest: Data, key: ResourceKey, writer: Int, now: Int64,
        in database: Database
    ) throws -> Int64 {
        try insert(head, bytes, digest, key, state: .writing, writer: writer, body: nil, now: now, in: database)
    }

    /// Inserts a ready row with its body, and marks the rows that it replaces as leaving. Returns the row, and the replaced rows that have
    /// files.
    ///
    /// - Parameter replaced: `nil` if the key has no rows.
    static func insertReady(
        _ response: StoredResponse, digest: Data, key: ResourceKey, replacing replaced: Replaced?, writer: Int,
        now: Int64, in database: Database
    ) throws -> (id: Int64, old: [Entry]) {
        let old =
            try replaced.map {
                try markLeaving(key, response.head.variant.lines, $0, writer: writer, in: database)
            } ?? []
        let id = try insert(
            response.head, response.body.count, digest, key, state: .ready, writer: nil, body: response.body,
            now: now, in: database)
        return (id, old)
    }

    private static func insert(
        _ head: StoredResponse.Head, _ bytes: Int, _ digest: Data, _ key: ResourceKey, state: State, writer: Int?,
        body: Data?, now: Int64, in database: Database
    ) throws -> Int64 {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO entry
                    (key, state, writer, bytes, digest, accessed, status, requested, received, fields, variant, body,
                     search)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            key.text, state.rawValue, writer, bytes, digest, now, head.status, head.requested.secondsSince1970,
            head.received.secondsSince1970, head.fields.lines, head.variant.lines, body, head.searchKey(of: key),
        ])
        return database.lastInsertedRowID
    }

    // MARK: Changing

    /// Changes the reserved bytes of a row that is being written.
    static func resize(_ id: Int64, to bytes: Int, in database: Database) throws {
        try database.cachedStatement(sql: "UPDATE entry SET bytes = ? WHERE id = ? AND state = 1")
            .execute(arguments: [bytes, id])
    }

    /// Sets the columns that are known only after the body has arrived.
    static func complete(
        _ id: Int64, _ head: StoredResponse.Head, bytes: Int, digest: Data, in database: Database
    ) throws {
        let sql = """
            UPDATE entry SET bytes = ?, digest = ?, status = ?, requested = ?, received = ?, fields = ?, variant = ?
            WHERE id = ? AND state = 1
            """
        try database.cachedStatement(sql: sql).execute(arguments: [
            bytes, digest, head.status, head.requested.secondsSince1970, head.received.secondsSince1970,
            head.fields.lines, head.variant.lines, id,
        ])
    }

    /// Makes the row of a written file ready, and marks the rows that it replaces as leaving. Returns whether the row still existed, and
    /// the replaced rows that have files.
    static func makeReady(
        _ id: Int64, key: ResourceKey, replacing replaced: Replaced, writer: Int, in database: Database
    ) throws -> (isReady: Bool, old: [Entry]) {
        let variant = try String.fetchOne(
            database.cachedStatement(sql: "SELECT variant FROM entry WHERE id = ? AND state = 1 AND writer = ?"),
            arguments: [id, writer])
        guard let variant else { return (false, []) }
        let old = try markLeaving(key, variant, replaced, writer: writer, in: database)
        try database.cachedStatement(sql: "UPDATE entry SET state = 0, writer = NULL WHERE id = ?")
            .execute(arguments: [id])
        return (true, old)
    }

    /// Updates the head of a ready row, and marks any other row with the new variant as leaving. Returns whether the row still existed, and
    /// the replaced row if it has a file.
    static func update(
        _ id: Int64, _ key: ResourceKey, _ head: StoredResponse.Head, writer: Int, in database: Database
    ) throws -> (isReady: Bool, old: [Entry]) {
        guard try isReady(id, in: database) else { return (false, []) }
        let variant = head.variant.lines
        let sql = "SELECT \(Entry.columns) FROM entry WHERE key = ? AND variant = ? AND state = 0 AND id <> ?"
        let rows = try Row.fetchAll(database.cachedStatement(sql: sql), arguments: [key.text, variant, id])
        let old = try markLeaving(rows.map { Entry($0) }, writer: writer, in: database)
        let update = "UPDATE entry SET requested = ?, received = ?, fields = ?, variant = ?, search = ? WHERE id = ?"
        try database.cachedStatement(sql: update).execute(arguments: [
            head.requested.secondsSince1970, head.received.secondsSince1970, head.fields.lines, variant,
            head.searchKey(of: key), id,
        ])
        return (true, old)
    }

    static func touch(_ uses: [Int64: Int64], in database: Database) throws {
        guard !uses.isEmpty else { return }
        let sql = "UPDATE entry SET accessed = max(accessed, ?) WHERE id = ? AND state = 0"
        let statement = try database.cachedStatement(sql: sql)
        for (id, time) in uses { try statement.execute(arguments: [time, id]) }
    }

    // MARK: Removing

    /// Marks the ready rows of a key that a response with this variant replaces as leaving, and returns those that have files.
    static func markLeaving(
        _ key: ResourceKey, _ variant: String?, _ replaced: Replaced, writer: Int, in database: Database
    ) throws -> [Entry] {
        let sql = "SELECT \(Entry.columns), variant FROM entry WHERE key = ? AND state = 0"
        let rows = try Row.fetchAll(database.cachedStatement(sql: sql), arguments: [key.text])
        let leaving =
            switch replaced {
            case .all: rows
            case .rows(let ids): rows.filter { ids.contains($0[0]) || String.fromDatabaseValue($0[4]) == variant }
            }
        return try markLeaving(leaving.map { Entry($0) }, writer: writer, in: database)
    }

    /// Marks ready rows and their scaled copies as leaving, on behalf of this writer, and returns those that have files. The others are
    /// deleted.
    static func markLeaving(_ entries: [Entry], writer: Int, in database: Database) throws -> [Entry] {
        let entries = try withCopies(entries, in: database)
        try delete(entries.filter(\.isInIndex).map(\.id), in: database)
        let leaving = entries.filter { !$0.isInIndex }
        for entry in leaving {
            try database.cachedStatement(sql: "UPDATE entry SET state = 2, writer = ? WHERE id = ? AND state = 0")
                .execute(arguments: [writer, entry.id])
        }
        return leaving
    }

    /// Returns the row if it is ready.
    static func entry(_ id: Int64, in database: Database) throws -> Entry? {
        try Row.fetchOne(
            database, sql: "SELECT \(Entry.columns) FROM entry WHERE id = ? AND state = 0", arguments: [id]
        ).map { Entry($0) }
    }

    static func delete(_ ids: [Int64], in database: Database) throws {
        guard !ids.isEmpty else { return }
        let statement = try database.cachedStatement(sql: "DELETE FROM entry WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }
}

// MARK: - Reading all entries, for tools

// The pages are separate transactions, so that other processes can write between them.
extension DiskIndex {
    /// A row in a listing. `ready` is `nil` if its values are impossible.
    struct Listed: Sendable {
        var id: Int64
        var key: ResourceKey
        var accessed: Int64
        var ready: Ready?
    }

    /// The position of a row in an order of rows.
    struct Position: Sendable {
        var accessed: Int64 = .max
        var id: Int64 = .max
    }

    private static let columns =
        "id, bytes, digest, status, requested, received, fields, variant, body, CAST(key AS TEXT), accessed"

    /// Returns the ready rows after a position, most recently used first.
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

    /// Returns the ready rows with larger numbers, ordered by number.
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

    /// Returns the ready rows that haven't been used since a time, least recently used first.
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

    /// The number of ready rows, and their earliest and latest last-use times.
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

    /// Returns the first line of SQLite's report about damage to the tables, or `nil` if they are undamaged.
    static func damage(in database: Database) throws -> String? {
        let line = try String.fetchOne(database, sql: "PRAGMA quick_check(1)")
        return line == "ok" ? nil : line
    }
}
