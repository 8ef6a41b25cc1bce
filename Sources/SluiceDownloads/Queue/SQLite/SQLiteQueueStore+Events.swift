import GRDB
import SluiceDatabase

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SQLiteQueueStore {
    package func events(after number: Int64?, atMost count: Int) async throws -> [QueueEvent] {
        try await read { [path] database, _ in
            if let number, try number < database.firstEvent - 1 {
                throw QueueStoreError.eventsRemoved(after: number, path)
            }
            let query = """
                SELECT number, time, job, kind, user, batch, bytes, message FROM event WHERE number > ?
                ORDER BY number LIMIT ?
                """
            let rows = try Row.fetchAll(database.cachedStatement(sql: query), arguments: [number ?? 0, count])
            return try rows.map { row in
                var content = EventContent(
                    QueueEvent.Kind(rawValue: try row.value("kind")), user: try row.value("user"),
                    bytes: try row.value("bytes"), message: try row.value("message"))
                content.batch = try row.value("batch")
                return content.event(
                    number: try row.value("number"), job: JobID(rawValue: try row.value("job")),
                    time: try row.value("time"))
            }
        }
    }
}

extension Database {
    /// Gives an event the next number. Only one transaction writes at a time, and a number of a transaction that fails is used again.
    func record(_ content: EventContent, _ job: Int64, now: Int64) throws {
        try run(
            "INSERT INTO event (time, job, kind, user, batch, bytes, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [now, job, content.kind.rawValue, content.user, content.batch, content.bytes, content.message])
    }

    /// The number of the last event, also if it has been removed; 0 if there was none.
    var lastEvent: Int64 {
        get throws {
            let query = "SELECT seq FROM sqlite_sequence WHERE name = 'event'"
            return try Int64.fetchOne(cachedStatement(sql: query)) ?? 0
        }
    }

    /// The number of the first event that is kept, or of the next event if there is none.
    var firstEvent: Int64 {
        get throws {
            try Int64.fetchOne(cachedStatement(sql: "SELECT min(number) FROM event")) ?? lastEvent + 1
        }
    }
}
