import Foundation
import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// The cost of a statement must not grow with the number of entries.
@Suite struct `Plans of the index's statements` {
    @Test func `no statement of a lookup, a change, an eviction or a start reads the whole table or sorts it`()
        async throws
    {
        try await withDirectory { directory in
            try await withCache(in: directory, ScriptedTransport([:])) { cache in
                for name in ["a", "b", "c"] { try await cache.store(pattern(10), for: url(name)) }
                let statements = Recorder<String>()
                let plans = try await cache.disk.database.write { [policy = cache.policy, now = cache.now()] database in
                    database.trace { statements.note($0.expandedDescription) }
                    let key = ResourceKey(url("a"))
                    let head = StoredResponse.Head(
                        status: 200, fields: [:], length: 10, requested: now, received: now, policy: policy)
                    let response = StoredResponse(head: head, body: pattern(10))
                    _ = try DiskIndex.find(key, policy, in: database)
                    _ = try DiskIndex.isReady(1, in: database)
                    _ = try DiskIndex.leastRecentlyUsed(downTo: 600, in: database)
                    let digest = Data(count: 32)
                    let row = try DiskIndex.insertWriting(
                        head, bytes: 10, digest: digest, key: key, writer: 0, now: 1, in: database)
                    _ = try DiskIndex.makeReady(row, key: key, replacing: .rows([]), writer: 0, in: database)
                    _ = try DiskIndex.insertReady(
                        response, digest: digest, key: key, replacing: .all, writer: 0, now: 1, in: database)
                    _ = try DiskIndex.update(2, ResourceKey(url("b")), head, writer: 0, in: database)
                    try DiskIndex.touch([2: 5], in: database)
                    _ = try DiskIndex.entry(2, in: database)
                    try DiskIndex.delete([2], in: database)
                    _ = try DiskIndex.unsettled(of: 0, in: database)
                    _ = try DiskIndex.writersOfUnsettled(in: database)
                    database.trace(options: [])
                    return try statements.values.filter { $0.contains("entry") && !$0.hasPrefix("--") }.map { sql in
                        (
                            sql,
                            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(sql)").map { $0["detail"] as String }
                        )
                    }
                }
                #expect(plans.count >= 14)
                for (sql, plan) in plans {
                    // The table `usage` has one row.
                    for step in plan where !step.contains("usage") {
                        // A key has few rows, which may be sorted.
                        let isSort = step.contains("TEMP B-TREE") && sql.contains("key = ")
                        #expect(isSort || step.contains("USING"), "\(sql): \(step)")
                    }
                }
                let eviction = plans.first { $0.0.contains("ORDER BY accessed") }
                #expect(eviction?.1 == ["SCAN entry USING INDEX entry_accessed"])
            }
        }
    }
}
