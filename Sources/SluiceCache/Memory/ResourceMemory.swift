import HTTPTypes
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The in-memory values of resources, and the work that may change them.
///
/// A lookup or an exchange takes time. Meanwhile, another caller may remove or replace what it read. So each of them first begins a visit,
/// and ends it by storing what it found. After an invalidation (a `PUT`, or `remove`) or a newer value, earlier visits can't store
/// anything:
///
/// ```text
/// lookup    ── visit ──── reads row 5 ──────────────────────────────────────── keep: refused
/// GET       ── visit ──── sends ─────────────────────────── receives ── store: refused, on disk and in memory
/// PUT             sends ──── receives ── invalidate ── removes rows ── invalidate
/// later GET                                                                       ── visit ── joins no earlier one
/// ```
///
/// There is an invalidation before and after the removal of the rows. Index transactions run one after another and check
/// ``Visit/isCurrent``, so a row that an earlier visit stores is either removed or not stored at all. What a lookup reads between the two
/// isn't kept.
///
/// Only resources with visits have state here, so its size is bounded by the number of running requests.
final class ResourceMemory<Value: Sendable>: Sendable {
    /// The state of a resource with running visits.
    fileprivate struct Visited {
        var visits = 0
        /// Changes with each invalidation.
        var generation: UInt64
        /// Changes with each invalidation, and with each change of the stored responses.
        var version: UInt64
    }

    fileprivate struct State {
        var values: SieveState<ResourceKey, Value>
        var visited: [ResourceKey: Visited] = [:]
        var lastGeneration: UInt64 = 0
        var lastVersion: UInt64 = 0
    }

    /// Methods return removed values, which must be released after unlocking.
    private let state: Lock<State>
    let maximumCost: Int

    init(maximumCost: Int) {
        self.maximumCost = maximumCost
        state = Lock(State(values: SieveState(maximumCost: maximumCost, maximumCount: .max)))
    }

    // MARK: Values

    func value(for key: ResourceKey) -> Value? { state.withLock { $0.values.value(for: key) } }

    var count: Int { state.withLock { $0.values.count } }

    var cost: Int { state.withLock { $0.values.cost } }

    func trim(toCost cost: Int) { _ = state.withLock { $0.values.trim(toCost: cost) } }

    /// Evicts values until their cost is at most this fraction of the limit.
    func trim(toFraction fraction: Double) {
        // The limit may be `Int.max`, which no `Double` is equal to.
        trim(toCost: Int(exactly: (Double(maximumCost) * fraction).rounded(.down)) ?? maximumCost)
    }

    /// Evicts all values. Running visits may still store theirs.
    func removeAll() { _ = state.withLock { $0.values.removeAll() } }

    /// Evicts a value. Running visits may still store theirs.
    func remove(_ key: ResourceKey) { _ = state.withLock { $0.values.remove(key) } }

    /// Removes a value that has been superseded. What earlier visits found isn't kept.
    func supersede(_ key: ResourceKey) {
        _ = state.withLock { state in
            state.noteChange(key)
            return state.values.remove(key)
        }
    }

    // MARK: Visits

    /// The time during which a request uses a resource. The request may store what it finds only if nothing else changes the resource.
    final class Visit: Sendable {
        let key: ResourceKey
        /// Requests of the same generation may share an exchange.
        let generation: UInt64
        fileprivate let version: UInt64
        private let memory: ResourceMemory

        fileprivate init(_ key: ResourceKey, _ generation: UInt64, _ version: UInt64, _ memory: ResourceMemory) {
            self.key = key
            self.generation = generation
            self.version = version
            self.memory = memory
        }

        deinit { memory.end(key) }

        /// Whether the resource hasn't been invalidated since the visit began.
        var isCurrent: Bool { memory.state.withLock { $0.visited[key]?.generation == generation } }

        /// Whether the resource hasn't changed at all since the visit began.
        var isUnchanged: Bool { memory.state.withLock { $0.visited[key]?.version == version } }
    }

    /// Begins a visit, which ends when it is released.
    func visit(_ key: ResourceKey) -> Visit {
        let visited = state.withLock { state in
            var visited =
                state.visited[key] ?? Visited(generation: state.lastGeneration, version: state.lastVersion)
            visited.visits += 1
            state.visited[key] = visited
            return visited
        }
        return Visit(key, visited.generation, visited.version, self)
    }

    private func end(_ key: ResourceKey) {
        state.withLock { state in
            guard var visited = state.visited[key] else { return }
            visited.visits -= 1
            state.visited[key] = visited.visits == 0 ? nil : visited
        }
    }

    /// The number of resources that are visited.
    var visitedCount: Int { state.withLock { $0.visited.count } }

    /// Keeps the first of the `candidates` for the value in memory that isn't too large. Does nothing if the resource has changed since the
    /// visit began.
    func keep(_ visit: Visit, _ candidates: @Sendable (Value?) -> [(value: Value, cost: Int)]) {
        _ = state.withLock { $0.keep(visit.key, visit.version, candidates) }
    }

    /// All values, and the resources with running visits. Takes time in proportion to their number.
    var contents: (values: [(key: ResourceKey, value: Value)], visited: [ResourceKey]) {
        state.withLock { ($0.values.items.map { ($0.key, $0.value.value) }, Array($0.visited.keys)) }
    }

    // MARK: Changes

    /// Removes the value. No running visit may store anything.
    func invalidate(_ key: ResourceKey) {
        _ = state.withLock { state in
            state.lastGeneration += 1
            state.visited[key]?.generation = state.lastGeneration
            state.noteChange(key)
            return state.values.remove(key)
        }
    }

    /// Removes all values. No running visit may store anything.
    func invalidateAll() {
        _ = state.withLock { state in
            state.lastGeneration += 1
            for key in Array(state.visited.keys) {
                state.visited[key]?.generation = state.lastGeneration
                state.noteChange(key)
            }
            return state.values.removeAll()
        }
    }

    /// A change to a resource's stored responses on disk. When it ends, memory and disk agree.
    struct Change: Sendable {
        fileprivate let visit: Visit
        fileprivate let version: UInt64

        var key: ResourceKey { visit.key }
    }

    /// Begins a change. Lookups that began earlier can't keep anything.
    func beginChange(_ visit: Visit) -> Change {
        Change(visit: visit, version: state.withLock { $0.noteChange(visit.key) })
    }

    /// Ends a change: removes the value and keeps a new one, unless the resource has been invalidated since the visit began. If there was
    /// another change in the meantime, we don't know which one the disk has, so nothing is kept.
    func endChange(_ change: Change, keeping candidates: [(value: Value, cost: Int)] = []) {
        _ = state.withLock { state in
            let key = change.visit.key
            let removed = state.values.remove(key)
            let isCurrent = state.visited[key]?.generation == change.visit.generation
            let discarded = isCurrent ? state.keep(key, change.version) { _ in candidates } : nil
            // Lookups that began during the change may have read what it replaced.
            state.noteChange(key)
            return (removed, discarded)
        }
    }
}

extension ResourceMemory.State {
    @discardableResult
    fileprivate mutating func noteChange(_ key: ResourceKey) -> UInt64 {
        lastVersion += 1
        visited[key]?.version = lastVersion
        return lastVersion
    }

    /// Returns the removed values, or `nil` if the resource has changed.
    fileprivate mutating func keep(
        _ key: ResourceKey, _ version: UInt64, _ candidates: @Sendable (Value?) -> [(value: Value, cost: Int)]
    ) -> [SieveState<ResourceKey, Value>.Entry]? {
        guard visited[key]?.version == version else { return nil }
        var removed: [SieveState<ResourceKey, Value>.Entry] = []
        for (value, cost) in candidates(values.items[key]?.value) {
            let (isKept, discarded) = values.insert(value, for: key, cost: cost)
            removed += discarded
            if isKept { break }
        }
        return removed
    }
}

// MARK: - The memory stage of a cache

extension ResourceCache {
    /// A memory hit counts as a use of the entry on disk. The next transaction writes it to the index.
    func noteMemoryHit(_ response: StoredResponse) {
        count { $0.memoryHits += 1 }
        if let row = response.row { stage.storeIfOpen?.uses.note(row) }
    }

    /// Stores a whole response that a visit found, beside the other variants of its URL.
    ///
    /// - Parameter total: The number of stored responses for the URL, including this one.
    func keepInMemory(_ response: StoredResponse, _ visit: Visit, of total: Int) {
        guard response.head.part == nil else { return }
        memory.keep(visit) { kept in
            var alone = ResponsesInMemory()
            alone.insert(response, of: total)
            var candidates = [alone]
            if var kept {
                kept.insert(response, of: total)
                candidates.insert(kept, at: 0)
            }
            return candidates.map { ($0, $0.cost(for: visit.key)) }
        }
    }

    /// Ends a change, after which the memory has this response and no other.
    func end(_ change: ResourceMemory<ResponsesInMemory>.Change, keeping response: StoredResponse?, of total: Int) {
        guard let response, response.head.part == nil else { return memory.endChange(change) }
        var alone = ResponsesInMemory()
        alone.insert(response, of: total)
        memory.endChange(change, keeping: [(alone, alone.cost(for: change.key))])
    }

    /// The minimum overhead of a value, for its key, its fields and its table entry. Without it, the number of empty bodies would be
    /// unlimited.
    static let memoryOverhead = 512
}

extension StoredResponse.Head {
    /// The memory that the head takes. A server determines how much.
    var memoryCost: Int {
        // A field takes more than its text.
        fields.reduce(variant.memoryCost) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
    }
}

/// The responses of one URL in memory: at most one for each variant.
struct ResponsesInMemory: Sendable {
    private(set) var responses: [StoredResponse] = []
    /// The number of stored responses for the URL.
    private var total = 0

    /// Whether there are no other stored responses, which might take precedence.
    var areAll: Bool { responses.count >= total }

    /// The size of the bodies, the key and the heads. Each response adds at least ``ResourceCache/memoryOverhead`` to its body.
    func cost(for key: ResourceKey) -> Int {
        let heads = responses.reduce(key.text.utf8.count) { $0 + $1.head.memoryCost }
        return responses.reduce(max(ResourceCache.memoryOverhead * responses.count, heads)) { $0 + $1.body.count }
    }

    mutating func insert(_ response: StoredResponse, of total: Int) {
        responses.removeAll { $0.head.variant == response.head.variant }
        if responses.count >= CachePolicy.maximumVariants { responses.removeFirst() }
        responses.append(response)
        self.total = total
    }
}
