public import SluiceLock

/// An in-memory cache with limits on the cost and the count of its values.
///
///     let images = MemoryCache<URL, Image>(maximumCost: 64 << 20, maximumCount: 1_000)
///     images.insert(image, for: url, cost: image.byteCount)
///     let again = images.value(for: url)
///
/// Unlike `NSCache`, it has strict limits and a well-defined eviction order, and its keys and values can be structs.
///
/// **Limits.** The caller chooses the unit of cost, usually bytes. The cache evicts values before it inserts one, so neither limit is ever
/// exceeded. It rejects a value that costs more than ``maximumEntryCost``, because the value would evict too many others. A value's cost is
/// fixed when it is inserted.
///
/// **Eviction** follows SIEVE (Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024). A hand moves over the values in insertion order. It
/// evicts the first value that no lookup has returned since the hand last passed it. So scanning many values that are used only once, such
/// as scrolling through a list, doesn't evict values that are used often.
///
/// **Complexity.** Every operation takes one short lock, and none suspends. Lookup, insertion and removal take constant time on average.
/// ``removeAll()`` and ``trim(toCost:)`` take time linear in the number of removed values.
///
/// **Reentrancy.** Removed keys and values are destroyed after the lock is released, so their `deinit` may use the cache. Keys are hashed
/// and compared under the lock, so a `Hashable` implementation that uses the cache traps.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The limit on the sum of the costs.
    public let maximumCost: Int

    /// The limit on the number of values.
    public let maximumCount: Int

    /// The limit on the cost of one value: a tenth of ``maximumCost``, rounded down.
    public let maximumEntryCost: Int

    /// The state returns removed keys and values, so that they are destroyed after `withLock` has returned.
    @usableFromInline let state: Lock<SieveState<Key, Value>>

    /// Creates an empty cache.
    ///
    /// `.max` means no limit. A cache with a count limit of 0 rejects all values. Values that cost 0 are limited only by the count.
    ///
    /// - Precondition: No limit is negative.
    public init(maximumCost: Int, maximumCount: Int) {
        let state = SieveState<Key, Value>(maximumCost: maximumCost, maximumCount: maximumCount)
        self.maximumCost = maximumCost
        self.maximumCount = maximumCount
        self.maximumEntryCost = state.maximumEntryCost
        self.state = Lock(state)
    }

    /// Returns the value for the key, or `nil` if there is none. The lookup counts as a hit or a miss.
    @inlinable
    public func value(for key: Key) -> Value? {
        // Inlinable, so that it is specialized for the key. Unspecialized, the lookup takes four times as long.
        state.withLock { $0.value(for: key) }
    }

    /// Inserts a value for the key, replacing an earlier one, and returns whether the cache accepted it.
    ///
    /// If the cache rejects the value (see ``maximumEntryCost``), it still removes the earlier one, which is out of date.
    ///
    /// - Precondition: The cost isn't negative, and the key is equal to itself, unlike a NaN.
    @discardableResult
    public func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
        state.withLock { $0.insert(value, for: key, cost: cost) }.isKept
    }

    /// Removes the value for the key, and returns it.
    @discardableResult
    public func removeValue(for key: Key) -> Value? {
        state.withLock { $0.remove(key) }?.value
    }

    /// Removes all values. The statistics aren't reset.
    public func removeAll() {
        _ = state.withLock { $0.removeAll() }
    }

    /// Evicts values, in the same order as an insertion would, until their total cost is at most `cost`. Call it when memory is low.
    ///
    /// Values that cost 0 may stay even if `cost` is 0. To remove these, too, use ``removeAll()``.
    ///
    /// - Precondition: The cost isn't negative.
    public func trim(toCost cost: Int) {
        _ = state.withLock { $0.trim(toCost: cost) }
    }

    /// The number of values.
    public var count: Int {
        state.withLock { $0.count }
    }

    /// The sum of the costs of the values.
    public var cost: Int {
        state.withLock { $0.cost }
    }

    /// The counts of hits, misses and evictions since the cache was created.
    public var statistics: Statistics {
        let counts = state.withLock { $0.counts }
        return Statistics(hits: counts.hits, misses: counts.misses, evictions: counts.evictions)
    }
}

extension MemoryCache {
    /// The counts of a ``MemoryCache`` since its creation.
    public struct Statistics: Sendable, Hashable {
        /// Lookups that found a value.
        public internal(set) var hits = 0

        /// Lookups that found no value.
        public internal(set) var misses = 0

        /// Values that were evicted by a limit or by ``MemoryCache/trim(toCost:)``. Removed, replaced and rejected values don't count.
        public internal(set) var evictions = 0
    }
}

// MARK: - State

/// The state of a ``MemoryCache``, without a lock. Methods return removed keys and values instead of destroying them, so that the caller
/// decides when that happens.
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
        precondition(key == key, "A memory cache's key must be equal to itself, unlike a NaN.")
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

// MARK: - The order of eviction

/// The eviction order of a ``MemoryCache``: SIEVE (Zhang et al., NSDI 2024). It knows values only by their slots.
///
/// ```text
/// oldest ──────────────────────────────────────► newest
///   A˙      B       C˙      D       E               ˙ marked: used since the hand last passed
///           ▲ hand: evicts B, clears the mark of C, evicts D, …, and starts again at the oldest
/// ```
///
/// Freed slots are reused, so slot numbers stay below the largest count so far. All operations take constant time except ``nextVictim()``,
/// where each step after the first clears a mark.
@usableFromInline
struct SieveQueue {
    private(set) var cost = 0

    /// A doubly linked list, linked by index. Free slots form a second list, linked by `newer`.
    @usableFromInline var slots: [Slot] = []
    private var firstFree: Int?
    private var oldest: Int?
    private var newest: Int?

    /// The slot to examine next when we need room. `nil` means the oldest.
    private var hand: Int?

    @usableFromInline
    struct Slot {
        var cost: Int
        @usableFromInline var isMarked: Bool
        var older: Int?
        var newer: Int?
    }

    mutating func append(cost: Int, isMarked: Bool) -> Int {
        let new = Slot(cost: cost, isMarked: isMarked, older: newest, newer: nil)
        let slot: Int
        if let free = firstFree {
            slot = free
            firstFree = slots[free].newer
            slots[free] = new
        } else {
            slot = slots.count
            slots.append(new)
        }
        if let newest { slots[newest].newer = slot } else { oldest = slot }
        newest = slot
        self.cost += cost
        return slot
    }

    @inlinable
    mutating func mark(_ slot: Int) {
        // Most are already marked, and writing would need a uniqueness check of the array.
        if !slots[slot].isMarked { slots[slot].isMarked = true }
    }

    /// Moves the hand to the first value without a mark, clearing marks on the way, and returns the value's slot, or `nil` if the queue is
    /// empty. The search takes at most one round, because it clears all marks.
    mutating func nextVictim() -> Int? {
        guard let oldest else { return nil }
        var slot = hand ?? oldest
        while slots[slot].isMarked {
            slots[slot].isMarked = false
            slot = slots[slot].newer ?? oldest
        }
        hand = slot
        return slot
    }

    mutating func remove(_ slot: Int) {
        let removed = slots[slot]
        if let older = removed.older { slots[older].newer = removed.newer } else { oldest = removed.newer }
        if let newer = removed.newer { slots[newer].older = removed.older } else { newest = removed.older }
        if hand == slot { hand = removed.newer }
        cost -= removed.cost
        slots[slot] = Slot(cost: 0, isMarked: false, older: nil, newer: firstFree)
        firstFree = slot
    }
}
