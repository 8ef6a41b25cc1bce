import SluiceDatabase
import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// Each method returns the number of removed entries. Other processes may still have removed responses in memory.
extension CacheDirectory {
    private static let batch = 256

    /// Removes all responses of a URL.
    package func remove(_ url: URL) async throws -> Int {
        let key = ResourceKey(url)
        let found = try await store.find(key, policy)
        let ids = found.ready.map(\.id) + found.garbage
        return try await store.remove(ids.map { DiskIndex.Entry(id: $0, key: key) })
    }

    package func remove(matching pattern: Pattern) async throws -> Int {
        try await remove(matching: pattern) { _ in true }
    }

    package func removeAll() async throws -> Int { try await store.trim(toBytes: 0) }

    /// Removes the responses that aren't fresh. Without them, a server can't confirm a response, and sends it again.
    package func removeStale() async throws -> Int {
        let now = now()
        return try await remove { [policy] row in row.ready.map { !policy.isFresh($0.head, at: now) } ?? true }
    }

    /// Removes the least recently used responses until the others take at most this many bytes.
    package func trim(toBytes bytes: Int64) async throws -> Int { try await store.trim(toBytes: bytes) }

    /// Removes the responses that weren't used since a time.
    package func removeUnused(since time: Date) async throws -> Int {
        // A caller may subtract any number of weeks.
        let exact = (time.timeIntervalSince1970 * 1_000_000).rounded(.down)
        let microseconds = Int64(exactly: exact) ?? (exact > 0 ? .max : .min)
        var removed = 0
        while true {
            let rows = try await store.database.read {
                try DiskIndex.unused(since: microseconds, most: Self.batch, in: $0)
            }
            if rows.isEmpty { return removed }
            removed += try await store.remove(rows)
            try Task.checkCancellation()
        }
    }

    private func remove(
        matching pattern: Pattern? = nil, where isRemoved: @escaping @Sendable (DiskIndex.Listed) -> Bool
    ) async throws -> Int {
        var removed = 0
        var last: Int64 = 0
        while true {
            let rows = try await store.database.read { [policy, last] in
                try DiskIndex.byNumber(after: last, matching: pattern?.glob, most: Self.batch, policy, in: $0)
            }
            guard let end = rows.last?.id else { return removed }
            last = end
            let leaving = rows.filter(isRemoved).map { DiskIndex.Entry(id: $0.id, key: $0.key) }
            if !leaving.isEmpty { removed += try await store.remove(leaving) }
            try Task.checkCancellation()
        }
    }
}
