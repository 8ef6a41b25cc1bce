import GRDB

extension SQLiteQueueStore {
    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        try await write { database, now in
            let ended = QueuedDownload.State.allCases.filter(\.isFinal)
            let ids = try database.jobs(in: selection, ended)
            for id in ids {
                let members = try database.members(of: id)
                let remaining = members.without(selection)
                if remaining.isEmpty {
                    try database.delete(id, now: now)
                } else if remaining.count < members.all.count {
                    try database.changeEnded(id, to: JobMembers(remaining))
                }
            }
            return ids.count
        }
    }

    package func prune(olderThan age: Duration, keeping count: Int) async throws {
        try await write { database, now in
            let query = """
                SELECT id FROM (
                    SELECT id, ended, row_number() OVER (ORDER BY ended DESC, id DESC) AS place
                    FROM job WHERE state IN (2, 3, 4))
                WHERE place > ? OR ended < ? ORDER BY place
                """
            let removed = try Int64.fetchAll(
                database.cachedStatement(sql: query), arguments: [count, now - age.milliseconds])
            for id in removed { try database.delete(id, now: now) }
            // More than are promised, because a list of many requests has many events.
            try database.run("DELETE FROM event WHERE number <= ?", [database.lastEvent - 10 * Int64(keptEvents)])
            try database.run("DELETE FROM host WHERE until < ?", [now - HostHealth.memory])
        }
    }
}

extension Database {
    /// Deletes an ended job.
    func delete(_ id: Int64, now: Int64) throws {
        try record(EventContent(.removed), id, now: now)
        try run("DELETE FROM member WHERE job = ?", [id])
        try run("DELETE FROM job WHERE id = ?", [id])
    }
}
