import SluiceLock

extension ResourceCache {
    /// Evicts responses, and the values of the decoded caches of this cache, from memory. Those that remain take at most `fraction` of
    /// each memory limit. Nothing is removed from the disk.
    ///
    ///     cache.trimMemory(toFraction: 0)
    ///
    /// On Apple's platforms, the cache calls this method itself when the system reports memory pressure: with 0.25 at a warning, and
    /// with 0 at the critical level. Linux reports pressure for each control group (`memory.pressure`, see the kernel's documentation of
    /// PSI); call this method when your program is told of it.
    ///
    /// - Precondition: The fraction is between 0 and 1.
    public func trimMemory(toFraction fraction: Double) {
        precondition((0...1).contains(fraction), "The fraction must be between 0 and 1; it is \(fraction).")
        memory.trim(toFraction: fraction)
        for cache in decodedCaches.all { cache.trimMemory(toFraction: fraction) }
    }
}

/// A cache in memory of what was made of the responses of a ``ResourceCache``, which tells it when they change.
protocol DependentCache: AnyObject, Sendable {
    func trimMemory(toFraction fraction: Double)
    /// The resource is out of date, and so is what is being made of it.
    func invalidate(_ key: ResourceKey)
    func invalidateAll()
    /// The resource has a newer response.
    func remove(_ key: ResourceKey)
}

/// The decoded caches of a cache, which it doesn't keep alive.
final class DecodedCaches: Sendable {
    private struct Entry {
        weak var cache: (any DependentCache)?
    }

    private let entries = Lock<[Entry]>([])

    func insert(_ cache: any DependentCache) {
        let others = entries.withLock { entries in
            let others = entries.compactMap(\.cache)
            entries = (others + [cache]).map { Entry(cache: $0) }
            return others
        }
        // These may be the last references, which must not be released under the lock.
        _ = others
    }

    var all: [any DependentCache] { entries.withLock { $0.compactMap(\.cache) } }
}
