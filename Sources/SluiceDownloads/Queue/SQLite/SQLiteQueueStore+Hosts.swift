import GRDB
import SluiceDatabase

extension Database {
    /// The hosts that aren't known to be well.
    func hosts() throws -> [String: HostHealth] {
        var hosts: [String: HostHealth] = [:]
        let rows = try Row.fetchCursor(cachedStatement(sql: "SELECT name, until, failures, is_open FROM host"))
        while let row = try rows.next() { hosts[try row.value("name")] = try HostHealth(row) }
        return hosts
    }

    /// Notes how many jobs of a host may run, once for a claim. A claim looks up the few hosts that it considers, because thousands may be
    /// down.
    func learnLimit(of host: String, _ running: inout RunningCounts, now: Int64) throws {
        guard running.hostLimits[host] == nil else { return }
        running.hostLimits[host] = try health(of: host)?.limit(now: now) ?? .max
    }

    private func health(of host: String) throws -> HostHealth? {
        let query = "SELECT until, failures, is_open FROM host WHERE name = ?"
        return try Row.fetchOne(cachedStatement(sql: query), arguments: [host]).map(HostHealth.init)
    }

    /// Records what an attempt of a job found out about its host.
    func note(_ report: HostReport, by job: Int64, now: Int64) throws {
        let query = "SELECT host FROM job WHERE id = ?"
        guard let host = try String.fetchOne(cachedStatement(sql: query), arguments: [job]) else { return }
        let before = try health(of: host)
        let after = HostHealth.after(report, before, now: now)
        guard after != before else { return }
        if let after {
            try run(
                "INSERT OR REPLACE INTO host (name, until, failures, is_open) VALUES (?, ?, ?, ?)",
                [host, after.until, after.failures, after.isOpen])
        } else {
            try run("DELETE FROM host WHERE name = ?", [host])
        }
    }
}

extension HostHealth {
    fileprivate init(_ row: Row) throws {
        self.init(
            until: try row.value("until"), failures: try row.value("failures"), isOpen: try row.value("is_open"))
    }
}
