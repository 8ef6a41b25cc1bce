public import SluiceLock

/// A cache in memory with a limit on the cost and the count of its values.
///
///     let images = MemoryCache<URL, Image>(maximumCost: 64 << 20, maximumCount: 1_000)
///     images.insert(image, for: url, cost: image.byteCount)
///     let again = images.value(for: url)
///
/// Unlike `NSCache`, it has strict limits and a defined order of eviction, and its keys and values may be structs.
///
/// **Limits.** The caller chooses the unit of cost, usually bytes. The cache evicts values before it inserts one, so neither limit is ever
/// exceeded. It rejects a value that costs more than ``maximumEntryCost``, because that value would evict too many others. The cost of a
/// value is fixed when it is inserted.
///
/// **Eviction** follows SIEVE (Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024). A hand moves over the values in the order of their
/// insertion. It evicts the first value that no lookup has returned since the hand last passed it. So a scan over many values that are
/// used only once, such as scrolling through a list, doesn't evict the values that are used often.
///
/// **Complexity.** Every operation takes one short lock and none suspends. Lookup, insertion and removal take constant time on average.
/// ``removeAll()`` and ``trim(toCost:)`` take linear time in the number of removed values.
///
/// **Reentrancy.** Removed keys and values are destroyed after the lock is released, so their `deinit` may use the cache. Keys are hashed
/// and compared under the lock: a `Hashable` implementation that uses the cache traps.
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
    /// `.max` means no limit. A cache with a count limit of 0 rejects all values. Only the count limits values that cost 0.
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
        // Inlinable, so that it is specialized for the key: unspecialized, the lookup takes four times as long.
        state.withLock { $0.value(for: key) }
    }

    /// Inserts a value for the key, replacing an earlier one, and returns whether the cache has accepted it.
    ///
    /// If the cache rejects the value (see ``maximumEntryCost``), it still removes the earlier one, which is out of date.
    ///
    /// - Precondition: The cost isn't negative.
    @discardableResult
    public func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
        state.withLock { $0.insert(value, for: key, cost: cost) }.isKept
    }

    /// Removes the value for the key, and returns it.
    @discardableResult
    public func remove(_ key: Key) -> Value? {
        state.withLock { $0.remove(key) }?.value
    }

    /// Removes all values. The statistics aren't reset.
    public func removeAll() {
        _ = state.withLock { $0.removeAll() }
    }

    /// Evicts values, in the same order as an insertion would, until their cost is at most `cost`. Call it when memory is low.
    ///
    /// Values that cost 0 may stay even if `cost` is 0. To remove them too, use ``removeAll()``.
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
