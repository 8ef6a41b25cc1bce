import GRDB
import SluiceDatabase
import SluiceLock

/// The hashes of the keys in the index, so that looking up a key that isn't there needs no query.
///
/// ```text
/// open ─▶ load in pages, in the background ─▶ complete
///                     each transaction of this process inserts the keys that it changes
///                     after foreign commits, the next transaction reads the keys that other processes have added
/// ```
///
/// Removed keys stay until the next load. Like hashes that happen to be equal, they only cost a query. About 16 bytes per key.
final class KnownKeys: Sendable {
    private struct State {
        var hashes: Set<Int> = []
        /// The keys that are read while the index is loaded again.
        var loading: Set<Int>?
        var isComplete = false
        /// The number of hashes after the last load.
        var loadedCount = 0
        /// No row that another process adds has this number or a smaller one. `nil` before the first transaction.
        var lastRow: Int64?
        /// The value in the index.
        var removals: Int64 = 0
        var foreignRemovals = 0
        /// The variances of the responses that answer requests for several URLs, by the hash of the URL without its query.
        var searches: [Int: Set<SearchVariance>] = [:]

        mutating func insert(_ hash: Int) {
            hashes.insert(hash)
            loading?.insert(hash)
        }
    }

    private let state = Lock(State())

    /// Whether the key may have rows. If this is false and there are no foreign commits, as in a transaction that writes, it has none.
    func mayContain(_ key: ResourceKey) -> Bool {
        let hash = key.hashValue
        return state.withLock { !$0.isComplete || $0.hashes.contains(hash) }
    }

    /// Call this in each transaction that adds a row.
    func insert(_ key: ResourceKey) {
        let hash = key.hashValue
        state.withLock { $0.insert(hash) }
    }

    /// Increases when another process has removed responses. A response whose request began at a lower number may be older than the
    /// removal.
    var foreignRemovals: Int { state.withLock { $0.foreignRemovals } }

    /// Call this in a transaction in which this process removes responses.
    func noteRemoval(in database: Database) throws {
        let count = try DiskIndex.noteRemoval(in: database)
        state.withLock { $0.removals = count }
    }

    // MARK: Equivalent URLs

    /// Returns the variances under which a stored response may be the answer to a request for this URL. Usually none.
    func variances(of key: ResourceKey) -> Set<SearchVariance> {
        guard state.withLock({ !$0.searches.isEmpty }) else { return [] }
        let hash = key.withoutQuery.hashValue
        return state.withLock { $0.searches[hash] ?? [] }
    }

    /// Call this when a response with a variance is stored.
    func insert(_ variance: SearchVariance, of key: ResourceKey) {
        let hash = key.withoutQuery.hashValue
        state.withLock { state in
            var variances = state.searches[hash] ?? []
            // A server that sends a different field each time gets no more queries than this.
            if variances.count < Self.maximumVariances { variances.insert(variance) }
            state.searches[hash] = variances
        }
    }

    static let maximumVariances = 8

    private func insert(_ searches: [(key: ResourceKey, field: String)]) {
        for (key, field) in searches { if let variance = SearchVariance(field: field) { insert(variance, of: key) } }
    }

    // MARK: Reading the index

    /// Adds what other processes have added. Call this in the first transaction after foreign commits.
    func catchUp(in database: Database) throws {
        let removals = try DiskIndex.removals(in: database)
        let lastRow = try DiskIndex.lastRow(in: database)
        insert(try DiskIndex.searches(addedAfter: state.withLock { $0.lastRow ?? -1 }, in: database))
        let added = try state.withLock(\.lastRow).map { try DiskIndex.keys(addedAfter: $0, in: database) } ?? []
        state.withLock { state in
            for key in added { state.insert(key.hashValue) }
            if state.lastRow != nil, removals != state.removals { state.foreignRemovals += 1 }
            (state.lastRow, state.removals) = (lastRow, removals)
        }
    }

    /// Whether most hashes are of keys that have been removed.
    var needsReload: Bool {
        state.withLock { $0.isComplete && $0.loading == nil && $0.hashes.count > 2 * $0.loadedCount + 16_384 }
    }

    /// Reads all keys, in short transactions. Stops, without a result, if the task is cancelled.
    func load(from database: SluiceDatabase) async throws {
        state.withLock { $0.loading = [] }
        defer { state.withLock { $0.loading = nil } }
        // Rows that are added later are noted in `loading`, by `insert` or `catchUp`.
        var page = try await database.read { try DiskIndex.unsettledKeys(in: $0) }
        var last = ""
        while true {
            state.withLock { state in
                for key in page { state.loading?.insert(key.hashValue) }
            }
            try Task.checkCancellation()
            page = try await database.read { [last] in try DiskIndex.keys(after: last, most: 512, in: $0) }
            guard let end = page.last?.text else { break }
            // In a damaged index, a key may be no text, and the order isn't that of the texts.
            guard last.utf8.lexicographicallyPrecedes(end.utf8) else { return }
            last = end
        }
        state.withLock { state in
            guard let loaded = state.loading else { return }
            state.hashes = loaded
            state.loadedCount = loaded.count
            state.isComplete = true
        }
    }
}
