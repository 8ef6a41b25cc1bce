import GRDB

extension SQLiteQueueStore {
    package func cancel(_ selection: QueuedDownload.Selection) async throws -> JobCancellation {
        try await write { database, now in
            let ids = try database.jobs(in: selection, states: "0, 1, 5")
            if case .batch(let batch) = selection {
                for id in ids {
                    try database.run("DELETE FROM membership WHERE batch = ? AND job = ?", [batch, id])
                }
            }
            var cancellation = JobCancellation()
            for id in ids {
                if case .batch = selection, try database.hasMembership(id) { continue }
                if let stopped = try database.cancel(id, now: now) {
                    cancellation.stopped.append(stopped)
                } else {
                    cancellation.running.append(JobID(rawValue: id))
                }
            }
            return cancellation
        }
    }

    package func forget(batch: String) async throws {
        try await write { database, _ in
            try database.run(
                """
                DELETE FROM job WHERE state IN (2, 3, 4) AND id IN (SELECT job FROM membership WHERE batch = ?1)
                    AND NOT EXISTS (SELECT 1 FROM membership WHERE membership.job = job.id AND batch <> ?1)
                """, [batch])
            try database.run(
                """
                DELETE FROM membership WHERE batch = ?1
                    AND membership.job IN (SELECT id FROM job WHERE state IN (2, 3, 4))
                """, [batch])
        }
    }

    package func prune(olderThan age: Duration, keeping count: Int) async throws {
        try await write { database, now in
            try database.run(
                "DELETE FROM job WHERE state IN (2, 3, 4) AND ended < ?", [now - age.milliseconds])
            try database.run(
                """
                DELETE FROM job WHERE id IN (
                    SELECT id FROM job WHERE state IN (2, 3, 4) ORDER BY ended DESC, id DESC LIMIT -1 OFFSET ?)
                """, [count])
        }
    }
}

extension Database {
    fileprivate func hasMembership(_ id: Int64) throws -> Bool {
        let query = try cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM membership WHERE job = ?)")
        return try Bool.fetchOne(query, arguments: [id])!
    }

    fileprivate func cancel(_ id: Int64, now: Int64) throws -> QueuedDownload? {
        try run("UPDATE job SET state = 4, ended = ?, not_before = NULL WHERE id = ? AND state IN (0, 5)", [now, id])
        if changesCount == 1 { return try queuedDownload(id) }
        try run("UPDATE job SET is_cancelled = 1 WHERE id = ? AND state = 1", [id])
        return nil
    }
}
