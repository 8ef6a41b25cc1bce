/// The state of a ``MemoryCache``: what is kept, and what goes when there is no room.
///
/// It knows nothing of locks and tasks. Whatever leaves is returned, keys too, so that the caller decides when it is
/// destroyed; nothing that a caller handed in earlier is destroyed inside.
package struct SieveState<Key: Hashable, Value> {
    package struct Entry {
        package var key: Key
        package var value: Value
    }

    package let maximumCost: Int
    package let maximumCount: Int
    package private(set) var counts = SieveCounts()

    private var items: [Key: Item] = [:]
    private var queue = SieveQueue()

    /// The key of each slot of the queue, the same instance as in `items`: what leaves the dictionary is still held here.
    private var keys: [Key?] = []

    private struct Item {
        var value: Value
        var slot: Int
    }

    package init(maximumCost: Int, maximumCount: Int) {
        precondition(maximumCost >= 0, "The cost limit of a MemoryCache must not be negative")
        precondition(maximumCount >= 0, "The count limit of a MemoryCache must not be negative")
        self.maximumCost = maximumCost
        self.maximumCount = maximumCount
    }

    package var count: Int { items.count }

    package var cost: Int { queue.cost }

    package var maximumEntryCost: Int { maximumCost / 10 }

    package mutating func value(for key: Key) -> Value? {
        guard let item = items[key] else {
            counts.misses += 1
            return nil
        }
        counts.hits += 1
        queue.mark(item.slot)
        return item.value
    }

    package mutating func insert(_ value: Value, for key: Key, cost: Int) -> (isKept: Bool, discarded: [Entry]) {
        precondition(cost >= 0, "The cost of a value must not be negative")
        var discarded: [Entry] = []
        if let replaced = remove(key) { discarded.append(replaced) }
        guard cost <= maximumEntryCost, maximumCount > 0 else { return (false, discarded) }
        // Storing a value again is a use of it, as a lookup is.
        let isMarked = !discarded.isEmpty
        makeRoom(cost: maximumCost - cost, count: maximumCount - 1, discarding: &discarded)

        let slot = queue.append(cost: cost, isMarked: isMarked)
        if slot < keys.count { keys[slot] = key } else { keys.append(key) }
        items[key] = Item(value: value, slot: slot)
        return (true, discarded)
    }

    package mutating func remove(_ key: Key) -> Entry? {
        guard let item = items.removeValue(forKey: key) else { return nil }
        return release(item)
    }

    package mutating func removeAll() -> [Entry] {
        let discarded = items.map { Entry(key: $0.key, value: $0.value.value) }
        items = [:]
        keys = []
        queue = SieveQueue()
        return discarded
    }

    package mutating func trim(toCost limit: Int) -> [Entry] {
        precondition(limit >= 0, "A MemoryCache cannot be trimmed to a negative cost")
        var discarded: [Entry] = []
        makeRoom(cost: limit, count: .max, discarding: &discarded)
        return discarded
    }

    private mutating func makeRoom(cost costLeft: Int, count countLeft: Int, discarding discarded: inout [Entry]) {
        while cost > costLeft || count > countLeft, let victim = queue.nextVictim() {
            guard let item = keys[victim].flatMap({ items.removeValue(forKey: $0) }) else {
                preconditionFailure("A key of a MemoryCache compares or hashes otherwise than when it was inserted")
            }
            discarded.append(release(item))
            counts.evictions += 1
        }
    }

    /// Frees the slot of what has just left the dictionary.
    private mutating func release(_ item: Item) -> Entry {
        queue.remove(item.slot)
        guard let key = keys[item.slot].take() else { preconditionFailure("A slot was freed twice") }
        return Entry(key: key, value: item.value)
    }
}

/// What a cache has counted.
package struct SieveCounts: Sendable, Hashable {
    package var hits = 0
    package var misses = 0
    package var evictions = 0
}
