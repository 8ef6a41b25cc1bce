import GRDB
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DiskIndex {
    // MARK: Inserting

    /// Inserts a row in the state `writing`, whose body is then written to a file.
    static func insertWriting(
        _ head: StoredResponse.Head, bytes: Int, digest: Data, key: ResourceKey, writer: Int, now: Int64,
        in database: Database
    ) throws -> Int64 {
        try insert(head, bytes, digest, key, state: .writing, writer: writer, body: nil, now: now, in: database)
    }

    /// Inserts a ready row with its body, and marks the rows that it replaces as leaving. Returns the row, and the replaced rows that have
    /// files.
    static func insertReady(
        _ response: StoredResponse, digest: Data, key: ResourceKey, replacing replaced: Replaced, writer: Int,
        now: Int64, in database: Database
    ) throws -> (id: Int64, old: [Entry]) {
        let old = try markLeaving(key, response.head.variant.lines, replaced, writer: writer, in: database)
        let id = try insert(
            response.head, response.body.count, digest, key, state: .ready, writer: nil, body: response.body, now: now,
            in: database)
        return (id, old)
    }

    private static func insert(
        _ head: StoredResponse.Head, _ bytes: Int, _ digest: Data, _ key: ResourceKey, state: State, writer: Int?,
        body: Data?, now: Int64, in database: Database
    ) throws -> Int64 {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO entry
                    (key, state, writer, bytes, digest, accessed, status, requested, received, fields, variant, body)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            key.text, state.rawValue, writer, bytes, digest, now, head.status, head.requested.secondsSince1970,
            head.received.secondsSince1970, head.fields.lines, head.variant.lines, body,
        ])
        return database.lastInsertedRowID
    }

    // MARK: Changing

    /// Changes the reserved bytes of a row that is being written.
    static func resize(_ id: Int64, to bytes: Int, in database: Database) throws {
        try database.cachedStatement(sql: "UPDATE entry SET bytes = ? WHERE id = ? AND state = 1")
            .execute(arguments: [bytes, id])
    }

    /// Sets what is known of a response only after its body has arrived.
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

    /// Makes the row of a written file ready, and marks the rows that it replaces as leaving. Returns whether the row still existed, and the
    /// replaced rows that have files.
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

    /// Updates the head of a ready row, and marks another row that has the new variant as leaving. Returns whether the row still existed,
    /// and the replaced row if it has a file.
    static func update(
        _ id: Int64, _ key: ResourceKey, _ head: StoredResponse.Head, writer: Int, in database: Database
    ) throws -> (isReady: Bool, old: [Entry]) {
        guard try isReady(id, in: database) else { return (false, []) }
        let variant = head.variant.lines
        let sql = "SELECT \(Entry.columns) FROM entry WHERE key = ? AND variant = ? AND state = 0 AND id <> ?"
        let rows = try Row.fetchAll(database.cachedStatement(sql: sql), arguments: [key.text, variant, id])
        let old = try markLeaving(rows.map { Entry($0) }, writer: writer, in: database)
        let update = "UPDATE entry SET requested = ?, received = ?, fields = ?, variant = ? WHERE id = ?"
        try database.cachedStatement(sql: update).execute(arguments: [
            head.requested.secondsSince1970, head.received.secondsSince1970, head.fields.lines, variant, id,
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
            case .rows(let ids): rows.filter { ids.contains($0[0]) || $0[4] == variant }
            }
        return try markLeaving(leaving.map { Entry($0) }, writer: writer, in: database)
    }

    /// Marks ready rows as leaving, on behalf of this writer, and returns those that have files. The others are deleted.
    static func markLeaving(_ entries: [Entry], writer: Int, in database: Database) throws -> [Entry] {
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
