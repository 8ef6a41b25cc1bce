import GRDB

extension SQLiteQueueStore {
    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        let ended = QueuedDownload.State.allCases.filter(\.isFinal)
        return try await inSteps(selection, ended, into: 0) { database, job, now, count in
            let remaining = job.members.without(selection)
            if remaining.isEmpty {
                try database.delete(job.id, now: now)
            } else if remaining.count < job.members.all.count {
                try database.changeEnded(job.id, to: JobMembers(remaining))
            }
            count += 1
        }
    }

    package func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool {
        try await write { database, now in
            let most = Int64(prunedAtOnce)
            let ended = "SELECT id FROM job WHERE state IN (2, 3, 4)"
            let excess = try database.endedCount - Int64(max(0, count))
            let many = try Int64.fetchAll(
                database.cachedStatement(sql: "\(ended) ORDER BY ended, id LIMIT ?"),
                arguments: [max(0, min(excess, most))])
            let old = try Int64.fetchAll(
                database.cachedStatement(sql: "\(ended) AND ended < ? ORDER BY ended, id LIMIT ?"),
                arguments: [now - age.milliseconds, most])
            // Both begin with the oldest.
            let gone = many.count > old.count ? many : old
            for id in gone { try database.delete(id, now: now) }
            // More than are promised, because a list of many requests has many events.
            let end = try database.lastEvent - 10 * Int64(keptEvents)
            let next = try min(end, database.firstEvent - 1 + 4 * most)
            try database.run("DELETE FROM event WHERE number <= ?", [next])
            try database.run(
                "DELETE FROM host WHERE name IN (SELECT name FROM host WHERE until < ? ORDER BY until LIMIT ?)",
                [now - HostHealth.memory, most])
            return gone.count == prunedAtOnce || next < end || database.changesCount == prunedAtOnce
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
