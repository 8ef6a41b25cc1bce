import SluiceLock

/// Keeps values in memory up to a cost and a count, and lets go of those that are not asked for again.
///
///     let images = MemoryCache<URL, Image>(maximumCost: 64 << 20, maximumCount: 1_000)
///     images.insert(image, for: url, cost: image.byteCount)
///     let again = images.value(for: url)
///
/// The unit of cost is the caller's, most often bytes. Neither limit is exceeded at any time: room is made before a value
/// is taken in. A value that costs more than a tenth of the limit is not kept, since it would drive out too much else; what
/// its cost was thought to be is never corrected later.
///
/// Which values leave first is decided by SIEVE (Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024): values wait in the
/// order of their arrival, a hand passes over those that were asked for since it last came by, and takes the first that was
/// not. A lookup only sets a bit, and many values that are asked for once, a list that somebody scrolls through, do not
/// drive out those that are asked for often.
///
/// Every operation takes one short lock; none suspends. Lookup, insertion and removal take constant time on average (the
/// hand passes over a value once for each time that it was asked for, at most); ``removeAll()`` and ``trim(toCost:)``
/// are linear in what they remove.
///
/// Keys and values that leave are destroyed after the lock is given back, so that a `deinit` may use the cache. Hashing
/// and comparing of keys happens under the lock, and must not use it: that traps.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The greatest sum of the costs of the values that are kept.
    public let maximumCost: Int

    /// The greatest number of values that are kept.
    public let maximumCount: Int

    /// The greatest cost of one value that is kept: a tenth of ``maximumCost``, rounded down.
    public let maximumEntryCost: Int

    /// The state hands out all that leaves it, so that it is destroyed after `withLock` has returned.
    private let state: Lock<SieveState<Key, Value>>

    /// Makes an empty cache. `.max` means no limit; a count limit of 0 keeps nothing.
    ///
    /// Values that cost 0 are held back by the count only. To limit only the count, pass `.max` for the cost.
    ///
    /// - Precondition: no limit is negative.
    public init(maximumCost: Int, maximumCount: Int) {
        let state = SieveState<Key, Value>(maximumCost: maximumCost, maximumCount: maximumCount)
        self.maximumCost = maximumCost
        self.maximumCount = maximumCount
        self.maximumEntryCost = state.maximumEntryCost
        self.state = Lock(state)
    }

    /// The value that is kept for the key, if there is one. Counts as a hit or a miss.
    public func value(for key: Key) -> Value? {
        state.withLock { $0.value(for: key) }
    }

    /// Keeps a value in place of the one that is kept for the key, and says whether it does.
    ///
    /// A value that costs more than ``maximumEntryCost`` is not kept, and the one that it was to replace is not kept any
    /// longer either: it is out of date.
    ///
    /// - Precondition: the cost is not negative.
    @discardableResult
    public func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
        state.withLock { $0.insert(value, for: key, cost: cost) }.isKept
    }

    /// Removes the value that is kept for the key, and returns it.
    @discardableResult
    public func remove(_ key: Key) -> Value? {
        state.withLock { $0.remove(key) }?.value
    }

    /// Removes all values. The statistics go on.
    public func removeAll() {
        _ = state.withLock { $0.removeAll() }
    }

    /// Removes values, those first that an insertion would drive out first, until the cost is no more than this.
    ///
    /// What a warning about memory calls for. Values that cost 0 may stay even at 0; ``removeAll()`` takes them too.
    ///
    /// - Precondition: the cost is not negative.
    public func trim(toCost cost: Int) {
        _ = state.withLock { $0.trim(toCost: cost) }
    }

    /// How many values are kept.
    public var count: Int {
        state.withLock { $0.count }
    }

    /// The sum of the costs of the values that are kept.
    public var cost: Int {
        state.withLock { $0.cost }
    }

    /// What has happened since the cache was made.
    public var statistics: Statistics {
        let counts = state.withLock { $0.counts }
        return Statistics(hits: counts.hits, misses: counts.misses, evictions: counts.evictions)
    }
}
