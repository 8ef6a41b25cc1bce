import GRDB
import SluiceDatabase
import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// MARK: - Lists

extension SQLiteQueueStore {
    package func list(
        _ filter: DownloadFilter, after position: ListPosition?, atMost count: Int
    ) async throws -> [ListedDownload] {
        try await read { database, _ in
            var (conditions, arguments) = filter.conditions
            let order = filter.order(after: position)
            if let place = order.place {
                conditions.append(place.condition)
                arguments += place.arguments
            }
            let query = """
                SELECT \(Database.downloadColumns), host, is_unresolved, worker, lease_until, received, total, ended, \(order.key) AS key
                FROM job WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(order.terms) LIMIT ?
                """
            let rows = try Row.fetchAll(
                database.cachedStatement(sql: query), arguments: arguments + [max(0, count)])
            return try rows.map { row in
                try ListedDownload(row: row, members: database.members(of: row.value("id")).members)
            }
        }
    }

    package func count(_ filter: DownloadFilter) async throws -> Int {
        try await read { database, _ in
            if filter.isOnlyState {
                let states = filter.state?.columns ?? JobState.allCases.map(\.description).joined(separator: ", ")
                return try Int.fetchOne(
                    database.cachedStatement(sql: "SELECT sum(number) FROM tally WHERE state IN (\(states))")) ?? 0
            }
            let (conditions, arguments) = filter.conditions
            let query = "SELECT count(*) FROM job WHERE \(conditions.joined(separator: " AND "))"
            return try Int.fetchOne(database.cachedStatement(sql: query), arguments: arguments) ?? 0
        }
    }
}

extension DownloadFilter {
    fileprivate var conditions: (texts: [String], arguments: StatementArguments) {
        var texts = ["true"]
        var arguments: StatementArguments = []
        switch state {
        // SQLite uses a partial index only if the condition of the index is among the conditions.
        case .done, .failed, .cancelled: texts += ["state IN (\(JobState.ended))", "state IN (\(state!.columns))"]
        case .paused: texts.append("state = \(JobState.paused)")
        case .running: texts.append("state = \(JobState.running)")
        case .waiting: texts.append("state IN (\(JobState.waiting))")
        case nil: break
        }
        if let host {
            texts.append("host = ?")
            arguments += [host]
        }
        if let user {
            texts.append("EXISTS (SELECT 1 FROM member WHERE job = job.id AND user = ?)")
            arguments += [user]
        }
        if let batch {
            texts.append("EXISTS (SELECT 1 FROM member WHERE job = job.id AND batch = ?)")
            arguments += [batch]
        }
        if let name {
            texts.append("instr(lower(name), ?) > 0")
            arguments += [name.asciiLowercased]
        }
        return (texts, arguments)
    }

    fileprivate func order(
        after position: ListPosition?
    ) -> (key: String, terms: String, place: (condition: String, arguments: StatementArguments)?) {
        switch state {
        case .waiting, .paused:
            (
                "~priority", "priority DESC, id",
                position.map { ("priority <= ? AND (priority < ? OR id > ?)", [~$0.key, ~$0.key, $0.id]) }
            )
        // The plus sign keeps SQLite from reading the whole table in this order.
        case .running: ("0", "+id", position.map { ("id > ?", [$0.id]) })
        case .done, .failed, .cancelled:
            ("ended", "ended DESC, id DESC", position.map { ("(ended, id) < (?, ?)", [$0.key, $0.id]) })
        case nil: ("0", "id DESC", position.map { ("id < ?", [$0.id]) })
        }
    }
}

extension ListedDownload {
    fileprivate init(row: Row, members: [QueuedDownload.Member]) throws {
        self.init(try QueuedDownload(row: row, members: members), host: try row.value("host"))
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

extension SQLiteQueueStore {
    package func report(
        _ presence: WorkerPresence, of worker: QueueWorker, _ progress: [ReportedProgress]
    ) async throws {
        try await write { database, now in
            try database.run(
                "DELETE FROM presence WHERE failure IS NOT NULL AND (machine = ? AND seen < ? OR seen < ?)",
                [presence.machine, presence.began.queueTime, now - 86_400_000])
            try database.run(
                """
                INSERT OR REPLACE INTO presence
                    (worker, machine, process, began, seen, total, per_host, per_user, resolves, failure)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    worker.name, presence.machine, presence.process, presence.began.queueTime, now,
                    presence.limits.total, presence.limits.perHost, presence.limits.perUser, presence.resolves,
                    presence.failure,
                ])
            for one in progress {
                try database.run(
                    "UPDATE job SET received = ?, total = ? WHERE state = \(JobState.running) AND id = ? AND worker = ?",
                    [one.receivedBytes, one.totalBytes, one.job.rawValue, worker.name])
            }
        }
    }

    package func workers() async throws -> [SeenWorker] {
        try await read { database, _ in
            let query = """
                SELECT worker, machine, process, began, seen, presence.total, per_host, per_user, resolves, failure,
                    (SELECT count(*) FROM job WHERE job.worker = presence.worker AND state = \(JobState.running)) AS running,
                    (SELECT min(lease_until) FROM job WHERE job.worker = presence.worker AND state = \(JobState.running)) AS lease
                FROM presence ORDER BY machine, process, worker
                """
            return try Row.fetchAll(database.cachedStatement(sql: query)).map { row in
                let presence = WorkerPresence(
                    machine: try row.value("machine"), process: try row.value("process"),
                    began: try row.value("began"), total: try row.value("total"),
                    perHost: try row.value("per_host"), perUser: try row.value("per_user"),
                    resolves: try row.value("resolves"), failure: try row.value("failure"))
                return SeenWorker(
                    name: try row.value("worker"), presence: presence,
                    seen: Date(queueTime: try row.value("seen")), runningCount: try row.value("running"),
                    leaseEnd: try row.value("lease", as: Int64?.self).map { Date(queueTime: $0) })
            }
        }
    }

    package func runningCounts() async throws -> RunningCounts {
        try await read { database, _ in try database.runningCounts() }
    }

    package func minutes(since time: Date) async throws -> [QueueMinute] {
        try await read { database, _ in
            let query = """
                SELECT time / 60000 AS minute, sum(kind = 'done') AS done, sum(kind = 'failed') AS failed,
                    sum(iif(kind = 'done', bytes, 0)) AS bytes
                FROM event WHERE number > ? AND time >= ? AND kind IN ('done', 'failed') GROUP BY minute ORDER BY minute
                """
            // Nobody prunes the events of a queue without workers.
            let first = try database.lastEvent.addingClamped(-10 * Int64(keptEvents))
            let rows = try Row.fetchAll(
                database.cachedStatement(sql: query), arguments: [first, time.queueTime])
            return try rows.map { row in
                QueueMinute(
                    time: Date(queueTime: try row.value("minute", as: Int64.self) * 60_000),
                    doneCount: try row.value("done"), failedCount: try row.value("failed"),
                    doneBytes: try row.value("bytes", as: Int64?.self) ?? 0)
            }
        }
    }
}
