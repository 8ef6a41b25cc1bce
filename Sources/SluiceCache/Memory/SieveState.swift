/// The state of a ``MemoryCache``, without a lock. The methods return removed keys and values, so that the caller decides when they are
/// destroyed. No method destroys them itself.
@usableFromInline
package struct SieveState<Key: Hashable, Value> {
    package struct Entry {
        package var key: Key
        package var value: Value
    }

    package let maximumCost: Int
    package let maximumCount: Int
    @usableFromInline package internal(set) var counts = SieveCounts()

    @usableFromInline var items: [Key: Item] = [:]
    @usableFromInline var queue = SieveQueue()

    /// The key of each slot of the queue. It is the same instance as in `items`, so removing it from `items` doesn't destroy it.
    private var keys: [Key?] = []

    @usableFromInline
    struct Item {
        @usableFromInline var value: Value
        @usableFromInline var slot: Int

        init(value: Value, slot: Int) {
            self.value = value
            self.slot = slot
        }
    }

    package init(maximumCost: Int, maximumCount: Int) {
        precondition(maximumCost >= 0, "A memory cache's maximumCost must not be negative; it is \(maximumCost).")
        precondition(maximumCount >= 0, "A memory cache's maximumCount must not be negative; it is \(maximumCount).")
        self.maximumCost = maximumCost
        self.maximumCount = maximumCount
    }

    package var count: Int { items.count }

    package var cost: Int { queue.cost }

    package var maximumEntryCost: Int { maximumCost / 10 }

    @inlinable
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
        precondition(cost >= 0, "The cost of a value must not be negative; it is \(cost).")
        var discarded: [Entry] = []
        if let replaced = remove(key) { discarded.append(replaced) }
        guard cost <= maximumEntryCost, maximumCount > 0 else { return (false, discarded) }
        // Replacing a value counts as a use, like a lookup.
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
        precondition(limit >= 0, "The cost to which a memory cache is trimmed must not be negative; it is \(limit).")
        var discarded: [Entry] = []
        makeRoom(cost: limit, count: .max, discarding: &discarded)
        return discarded
    }

    private mutating func makeRoom(cost costLeft: Int, count countLeft: Int, discarding discarded: inout [Entry]) {
        while cost > costLeft || count > countLeft, let victim = queue.nextVictim() {
            guard let item = keys[victim].flatMap({ items.removeValue(forKey: $0) }) else {
                preconditionFailure("A key's hash and equality must not change while the key is in a memory cache.")
            }
            discarded.append(release(item))
            counts.evictions += 1
        }
    }

    private mutating func release(_ item: Item) -> Entry {
        queue.remove(item.slot)
        guard let key = keys[item.slot].take() else {
            preconditionFailure("A slot may be freed only once; slot \(item.slot) is free.")
        }
        return Entry(key: key, value: item.value)
    }
}

@usableFromInline
package struct SieveCounts: Sendable, Hashable {
    @usableFromInline package var hits = 0
    @usableFromInline package var misses = 0
    package var evictions = 0
}
