import GRDB

extension SQLiteQueueStore {
    package func retry(_ selection: QueuedDownload.Selection) async throws -> [JobID] {
        try await write { database, _ in
            try database.jobs(in: selection, states: "3, 4").filter { id in
                // One by one, because a job that waits again holds back others that write the same file.
                try database.run(
                    """
                    UPDATE job SET state = 0, failures = 0, message = NULL, ended = NULL WHERE id = ?
                        AND NOT EXISTS (
                            SELECT 1 FROM job AS other WHERE other.target = job.target AND other.state IN (0, 1, 5))
                    """, [id])
                return database.changesCount == 1
            }.map { JobID(rawValue: $0) }
        }
    }

    package func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int {
        try await write { database, _ in
            let ids = try database.jobs(in: selection, states: "0, 1, 5")
            for id in ids { try database.run("UPDATE job SET priority = ? WHERE id = ?", [priority, id]) }
            return ids.count
        }
    }

    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        try await write { database, _ in
            let ids = try database.jobs(in: selection, states: "2, 3, 4")
            for id in ids { try database.run("DELETE FROM job WHERE id = ?", [id]) }
            return ids.count
        }
    }
}

extension Database {
    /// Returns the selected jobs in these states, in the order of their numbers.
    func jobs(in selection: QueuedDownload.Selection, states: String) throws -> [Int64] {
        let wanted = "SELECT id FROM job WHERE state IN (\(states))"
        func jobs(_ condition: String, _ arguments: StatementArguments = []) throws -> [Int64] {
            try Int64.fetchAll(self, sql: "\(wanted) AND \(condition) ORDER BY id", arguments: arguments)
        }
        switch selection {
        case .all: return try jobs("true")
        case .state(.waiting): return try jobs("state IN (0, 5)")
        case .state(let state): return try jobs("state = ?", [state.rawValue])
        case .batch(let batch): return try jobs("id IN (SELECT job FROM membership WHERE batch = ?)", [batch])
        case .user(let user): return try jobs("lane IN (SELECT id FROM lane WHERE user = ?)", [user])
        case .host(let host): return try jobs("lane IN (SELECT id FROM lane WHERE host = ?)", [host])
        case .ids(let ids):
            let find = try cachedStatement(sql: "\(wanted) AND id = ?")
            return try Set(ids).sorted().compactMap { try Int64.fetchOne(find, arguments: [$0.rawValue]) }
        }
    }
}
