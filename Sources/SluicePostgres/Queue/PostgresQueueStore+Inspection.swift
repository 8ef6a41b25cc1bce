#if PostgreSQL
package import SluiceDownloads
import SluiceFiles
internal import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// MARK: - Lists

extension PostgresQueueStore {
    package func list(
        _ filter: DownloadFilter, after position: ListPosition?, atMost count: Int
    ) async throws -> [ListedDownload] {
        guard !filter.hasZeroBytes else { return [] }
        let rows = try await read([Self.listQuery(filter, after: position, atMost: count)])[0]
        return try decoding { try rows.map(ListedDownload.init) }
    }

    package func count(_ filter: DownloadFilter) async throws -> Int {
        guard !filter.hasZeroBytes else { return 0 }
        let rows = try await read([Self.countQuery(filter)])[0]
        return try decoding { Int(clamping: try rows.scalar(as: Int64?.self).flatMap(\.self) ?? 0) }
    }

    static func listQuery(_ filter: DownloadFilter, after position: ListPosition?, atMost count: Int) -> Operation {
        var conditions = FilterConditions(filter)
        let order = conditions.order(of: filter.state, after: position)
        return Operation(
            // The jobs are found first, because the view formats the members of each.
            sql: """
                SELECT download.*, listed.key, job.host, job.place, job.is_unresolved, job.worker, job.lease_until,
                    progress.received, progress.total
                FROM (
                    SELECT id, \(order.key) AS key FROM job WHERE queue = $1 AND \(conditions.text)
                    ORDER BY \(order.terms) LIMIT \(conditions.parameter(.integer(Int64(max(0, count)))))) AS listed
                CROSS JOIN LATERAL (
                    SELECT * FROM download WHERE queue = $1 AND download.id = listed.id OFFSET 0) AS download
                CROSS JOIN LATERAL (
                    SELECT * FROM job WHERE queue = $1 AND job.id = listed.id OFFSET 0) AS job
                LEFT JOIN LATERAL (
                    SELECT * FROM progress
                    WHERE queue = $1 AND progress.job = listed.id AND progress.worker = job.worker OFFSET 0) AS progress ON true
                """,
            parameters: conditions.parameters)
    }

    static func countQuery(_ filter: DownloadFilter) -> Operation {
        if filter.isOnlyState {
            let states = filter.state.map { $0.stored } ?? JobState.allCases
            return Operation(
                sql: "SELECT sum(number)::int8 FROM tally WHERE queue = $1 AND state = ANY ($2::int8[])",
                parameters: [.integers(states.map { Int64($0.rawValue) })])
        }
        let conditions = FilterConditions(filter)
        return Operation(
            sql: "SELECT count(*) FROM job WHERE queue = $1 AND \(conditions.text)", parameters: conditions.parameters)
    }
}

/// The conditions of a filter, as SQL.
private struct FilterConditions {
    private var texts: [String] = []
    /// The parameters after `$1`, the queue's number.
    private(set) var parameters: [PostgresValue] = []

    var text: String { texts.isEmpty ? "true" : texts.joined(separator: " AND ") }

    init(_ filter: DownloadFilter) {
        switch filter.state {
        // The server uses a partial index only if the condition of the index is among the conditions.
        case .done: texts += ["state IN (\(JobState.ended))", "state = \(JobState.done)"]
        case .failed: texts += ["state IN (\(JobState.ended))", "state = \(JobState.failed)"]
        case .cancelled: texts += ["state IN (\(JobState.ended))", "state = \(JobState.cancelled)"]
        case .paused: texts.append("state = \(JobState.paused)")
        case .running: texts.append("state = \(JobState.running)")
        case .waiting: texts.append("state IN (\(JobState.waiting))")
        case nil: break
        }
        if let host = filter.host { texts.append("host = \(parameter(.text(host.storedHost)))") }
        if let user = filter.user { texts.append(hasMember("user_name", user)) }
        if let batch = filter.batch { texts.append(hasMember("batch", batch)) }
        if let name = filter.name {
            texts.append("strpos(lower(name), \(parameter(.text(name.asciiLowercased)))) > 0")
        }
    }

    mutating func parameter(_ value: PostgresValue) -> String {
        parameters.append(value)
        return "$\(parameters.count + 1)"
    }

    private mutating func hasMember(_ column: String, _ value: String) -> String {
        """
        EXISTS (SELECT FROM member WHERE member.queue = $1 AND member.job = job.id AND member.\(column) = \(parameter(.text(value))))
        """
    }

    mutating func order(of state: QueuedDownload.State?, after position: ListPosition?) -> (key: String, terms: String)
    {
        let id = position.map { PostgresValue.integer($0.id) }
        let key = position.map { PostgresValue.integer($0.key) }
        switch state {
        case .waiting, .paused:
            if let key, let id { texts.append("(rank, id) > (\(parameter(key)), \(parameter(id)))") }
            return ("rank", "rank, id")
        case .running:
            if let id { texts.append("id > \(parameter(id))") }
            // Only one index has the order of workers. There are few running jobs.
            return ("0::int8", "id")
        case .done, .failed, .cancelled:
            if let key, let id { texts.append("(ended, id) < (\(parameter(key)), \(parameter(id)))") }
            return ("ended", "ended DESC, id DESC")
        case nil:
            if let id { texts.append("id < \(parameter(id))") }
            return ("0::int8", "id DESC")
        }
    }
}

extension DownloadFilter {
    /// The server can't store such texts.
    fileprivate var hasZeroBytes: Bool { [user, batch, host, name].contains { $0?.utf8.contains(0) == true } }
}

extension ListedDownload {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(try QueuedDownload(row), host: try row.value("host"))
        let place: String = try row.value("place")
        machine = place.isEmpty ? nil : place
        isUnresolved = try row.value("is_unresolved")
        worker = try row.value("worker")
        leaseEnd = try row.value("lease_until", as: Int64?.self).map { Date(queueTime: $0) }
        receivedBytes = try row.value("received")
        totalBytes = try row.value("total")
        ended = try row.value("ended", as: Int64?.self).map { Date(queueTime: $0) }
        key = try row.value("key", as: Int64?.self) ?? 0
    }
}

// MARK: - Workers

extension PostgresQueueStore {
    package func report(
        _ presence: WorkerPresence, of worker: QueueWorker, _ progress: [ReportedProgress]
    ) async throws {
        let limits = presence.limits
        let operation = call(
            "report",
            [
                .text(worker.name), .text(presence.machine), .integer(presence.process),
                .integer(presence.began.queueTime), .integer(Int64(limits.total)),
                limits.perHost.map { .integer(Int64($0)) } ?? .null,
                limits.perUser.map { .integer(Int64($0)) } ?? .null, .bool(presence.resolves),
                presence.failure.map { .text($0) } ?? .null,
                .integers(progress.map(\.job.rawValue)), .integers(progress.map(\.receivedBytes)),
                .integers(progress.map(\.totalBytes)),
            ])
        try await write([operation], waitsForDisk: false)
    }

    package func workers() async throws -> [SeenWorker] {
        let query = Operation(
            sql: """
                SELECT presence.*, held.number, held.lease FROM presence
                CROSS JOIN LATERAL (
                    SELECT count(*) AS number, min(lease_until) AS lease FROM job
                    WHERE queue = $1 AND state = \(JobState.running) AND job.worker = presence.worker) AS held
                WHERE presence.queue = $1 ORDER BY machine, process, presence.worker
                """, parameters: [])
        let rows = try await read([query])[0]
        return try decoding {
            try rows.map { row in
                let presence = WorkerPresence(
                    machine: try row.value("machine"), process: try row.value("process"),
                    began: try row.value("began"), total: try row.value("total"),
                    perHost: try row.value("per_host"), perUser: try row.value("per_user"),
                    resolves: try row.value("resolves"), failure: try row.value("failure"))
                return SeenWorker(
                    name: try row.value("worker"), presence: presence, seen: Date(queueTime: try row.value("seen")),
                    runningCount: try row.value("number"),
                    leaseEnd: try row.value("lease", as: Int64?.self).map { Date(queueTime: $0) })
            }
        }
    }

    package func runningCounts() async throws -> RunningCounts {
        let query = Operation(
            sql: "SELECT kind, name, number FROM running WHERE queue = $1 AND number > 0", parameters: [])
        let rows = try await read([query])[0]
        return try decoding {
            var (total, ofHost, ofUser): (Int, [String: Int], [String: Int]) = (0, [:], [:])
            for row in rows {
                let (name, number): (String, Int) = (try row.value("name"), try row.value("number"))
                switch try row.value("kind", as: Int.self) {
                case 0: total = number
                case 1: ofHost[name] = number
                default: ofUser[name] = number
                }
            }
            return RunningCounts(total: total, ofHost: ofHost, ofUser: ofUser)
        }
    }

    package func minutes(since time: Date) async throws -> [QueueMinute] {
        let query = Operation(
            sql: """
                SELECT time / 60000 AS minute, count(*) FILTER (WHERE kind = 'done') AS done,
                    count(*) FILTER (WHERE kind = 'failed') AS failed,
                    (sum(bytes) FILTER (WHERE kind = 'done'))::int8 AS bytes
                FROM (
                    -- Only one index has this order.
                    SELECT * FROM event WHERE queue = $1 AND kind IN ('done', 'failed') AND time >= $2 ORDER BY time OFFSET 0
                ) AS event
                GROUP BY minute ORDER BY minute
                """, parameters: [.integer(time.queueTime)])
        let rows = try await read([query])[0]
        return try decoding {
            try rows.map { row in
                QueueMinute(
                    time: Date(queueTime: try row.value("minute", as: Int64.self) * 60_000),
                    doneCount: try row.value("done"), failedCount: try row.value("failed"),
                    doneBytes: try row.value("bytes", as: Int64?.self) ?? 0)
            }
        }
    }

    package func events(of job: JobID, atMost count: Int) async throws -> [QueueEvent] {
        let query = Operation(
            // Without an index: each change would have to maintain it.
            sql: """
                SELECT * FROM (SELECT * FROM event WHERE queue = $1 ORDER BY number DESC LIMIT \(10 * keptEvents)) AS event
                WHERE job = $2 ORDER BY number DESC LIMIT $3
                """, parameters: [.integer(job.rawValue), .integer(Int64(max(0, count)))])
        let rows = try await read([query])[0]
        return try decoding { try rows.map(QueueEvent.init) }
    }
}
#endif
