import GRDB

extension SQLiteQueueStore {
    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        try await write { database, _ in
            let ended = QueuedDownload.State.allCases.filter(\.isFinal)
            let ids = try database.jobs(in: selection, ended)
            for id in ids {
                let members = try database.members(of: id)
                let remaining = members.without(selection)
                if remaining.isEmpty {
                    try database.delete(id)
                } else if remaining.count < members.all.count {
                    try database.changeEnded(id, to: JobMembers(remaining))
                }
            }
            return ids.count
        }
    }

    package func prune(olderThan age: Duration, keeping count: Int) async throws {
        try await write { database, now in
            let old = try Int64.fetchAll(
                database.cachedStatement(sql: "SELECT id FROM job WHERE state IN (2, 3, 4) AND ended < ?"),
                arguments: [now - age.milliseconds])
            for id in old { try database.delete(id) }
            let query = """
                SELECT id FROM job WHERE state IN (2, 3, 4) ORDER BY ended DESC, id DESC LIMIT -1 OFFSET ?
                """
            for id in try Int64.fetchAll(database.cachedStatement(sql: query), arguments: [count]) {
                try database.delete(id)
            }
            try database.run("DELETE FROM host WHERE until < ?", [now - HostHealth.memory])
        }
    }
}

extension Database {
    /// Deletes an ended job.
    func delete(_ id: Int64) throws {
        try run("DELETE FROM member WHERE job = ?", [id])
        try run("DELETE FROM job WHERE id = ?", [id])
    }
}
