#if PostgreSQL
package import SluiceDownloads
import SluiceFiles
internal import SluiceHTTP

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension PostgresQueueStore {
    package func jobs(_ ids: [JobID]) async throws -> [QueuedDownload] {
        let rows = try await read([Self.find(ids)])[0]
        return try decoding {
            let found = try Dictionary(
                rows.map(QueuedDownload.init).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            return ids.compactMap { found[$0] }
        }
    }

    static func find(_ ids: [JobID]) -> Operation {
        Operation(
            // In no particular order, and one by one, because the server may read the whole queue for a condition on the array.
            sql: """
                SELECT download.* FROM unnest($2::int8[]) AS listed (id)
                CROSS JOIN LATERAL (
                    SELECT * FROM download WHERE queue = $1 AND download.id = listed.id OFFSET 0) AS download
                """,
            parameters: [.integers(Set(ids).map(\.rawValue))])
    }

    /// The counts, the running, waiting, paused and ended jobs, and the last event.
    static func snapshotQueries(listing count: Int) -> [Operation] {
        let count = PostgresValue.integer(Int64(max(0, count)))
        func list(_ rest: String) -> Operation {
            Operation(sql: "SELECT * FROM download WHERE queue = $1 AND \(rest) LIMIT $2", parameters: [count])
        }
        return [
            Operation(sql: "SELECT state, number FROM tally WHERE queue = $1 AND number > 0", parameters: []),
            // Only one index has the inner order. Without it, the server may look for running jobs among all jobs.
            Operation(
                sql: """
                    SELECT download.* FROM (
                        SELECT id FROM (
                            SELECT id FROM job WHERE queue = $1 AND state = \(JobState.running) ORDER BY worker, id OFFSET 0) AS held
                        ORDER BY id LIMIT $2) AS running
                    CROSS JOIN LATERAL (
                        SELECT * FROM download WHERE queue = $1 AND download.id = running.id OFFSET 0) AS download
                    """, parameters: [count]),
            list("state IN (\(JobState.waiting)) ORDER BY rank, id"),
            list("state = \(JobState.paused) ORDER BY rank, id"),
            list("state IN (\(JobState.ended)) ORDER BY ended DESC, id DESC"),
            Operation(sql: "SELECT number FROM event WHERE queue = $1 ORDER BY number DESC LIMIT 1", parameters: []),
        ]
    }

    package func snapshot(listing count: Int) async throws -> QueueSnapshot {
        let results = try await read(Self.snapshotQueries(listing: count) + [call("held_back_hosts")])
        return try decoding {
            var snapshot = QueueSnapshot()
            for row in results[0] {
                let state = QueuedDownload.State(column: try row.value("state"))
                snapshot.counts[state] = try snapshot.count(in: state).addingClamped(row.value("number"))
            }
            snapshot.running = try results[1].map { .init(download: try QueuedDownload($0)) }
            snapshot.waiting = try results[2].map(QueuedDownload.init)
            snapshot.paused = try results[3].map(QueuedDownload.init)
            snapshot.ended = try results[4].map(QueuedDownload.init)
            snapshot.cursor = QueueEvent.Cursor(rawValue: try results[5].scalar(as: Int64?.self).flatMap(\.self) ?? 0)
            snapshot.hosts = try results[6].map { row in
                QueueSnapshot.Host(
                    name: try row.value("name"), notBefore: Date(queueTime: try row.value("until")),
                    isUnreachable: try row.value("is_open"))
            }.sorted { $0.name < $1.name }
            return snapshot
        }
    }

    /// The number of the first event that has been kept, and some events.
    static func eventQueries(after number: Int64?, atMost count: Int) -> [Operation] {
        [
            Operation(sql: "SELECT number FROM event WHERE queue = $1 ORDER BY number LIMIT 1", parameters: []),
            Operation(
                sql: "SELECT * FROM event WHERE queue = $1 AND number > $2 ORDER BY number LIMIT $3",
                parameters: [.integer(number ?? 0), .integer(Int64(max(0, count)))]),
        ]
    }

    package func events(after number: Int64?, atMost count: Int) async throws -> [QueueEvent] {
        let results = try await read(Self.eventQueries(after: number, atMost: count))
        return try decoding {
            let first = try results[0].scalar(as: Int64?.self).flatMap(\.self) ?? 1
            if let number, number < first.addingClamped(-1) { throw eventsRemoved(after: number) }
            return try results[1].map(QueueEvent.init)
        }
    }
}

extension QueueEvent {
    init(_ row: PostgresRow) throws {
        let (user, batch): (String, String) = (try row.value("user_name"), try row.value("batch"))
        self.init(
            id: Cursor(rawValue: try row.value("number")), time: Date(queueTime: try row.value("time")),
            download: JobID(rawValue: try row.value("job")), kind: Kind(rawValue: try row.value("kind")),
            user: user.isEmpty ? nil : user, batch: batch.isEmpty ? nil : batch, fileSize: try row.value("bytes"),
            message: try row.value("message"))
    }
}

extension QueuedDownload {
    /// A member, as the view `download` formats it.
    private struct StoredMember: Decodable {
        var user: String
        var batch: String
        var priority: Int
        var isPaused: Bool
    }

    init(_ row: PostgresRow) throws {
        let json: String = try row.value("members")
        guard let stored = try? JSONDecoder().decode([StoredMember].self, from: Data(json.utf8)) else {
            throw PostgresError.unreadable("the members of a job")
        }
        let members = stored.map {
            Member(user: $0.user, batch: $0.batch, priority: $0.priority, isPaused: $0.isPaused)
        }
        let user: String = try row.value("charged", as: String?.self) ?? members.first?.user ?? ""
        let request = try DownloadRequest(row, user: user)
        let (line, parts): (String?, String?) = (try row.value("message"), try row.value("error"))
        self.init(
            id: JobID(rawValue: try row.value("id")), request: request, members: members,
            state: State(column: try row.value("state")), failureCount: try row.value("failures"),
            fileSize: try row.value("bytes"),
            error: line.map { TransferError(line: $0, parts: parts, url: request.url) },
            notBefore: try row.value("not_before", as: Int64?.self).map { Date(queueTime: $0) })
        isCancelling = try row.value("is_cancelled")
    }
}

extension DownloadRequest {
    init(_ row: PostgresRow, user: String) throws {
        let name: String = try row.value("name")
        let stored = DownloadRequest(
            storedURL: try row.value("url"), directory: try row.value("directory"), name: name, user: user,
            priority: ~(try row.value("rank", as: Int.self)), checksum: try row.value("checksum"),
            mirrors: try row.value("mirrors"))
        guard let stored else { throw PostgresError.unreadable("the job named '\(name)'") }
        self = stored
    }
}
#endif
