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
        memory.trim(toCost: Int(exactly: (Double(memory.maximumCost) * fraction).rounded(.down)) ?? memory.maximumCost)
        for cache in decodedCaches.all { cache.trimMemory(toFraction: fraction) }
    }
}

/// A cache whose memory is trimmed together with that of a ``ResourceCache``.
protocol MemoryTrimming: AnyObject, Sendable {
    func trimMemory(toFraction fraction: Double)
}

/// The decoded caches of a cache, which it doesn't keep alive.
final class DecodedCaches: Sendable {
    private struct Entry {
        weak var cache: (any MemoryTrimming)?
    }

    private let entries = Lock<[Entry]>([])

    func insert(_ cache: any MemoryTrimming) {
        entries.withLock { entries in
            entries.removeAll { $0.cache == nil }
            entries.append(Entry(cache: cache))
        }
    }

    var all: [any MemoryTrimming] { entries.withLock { $0.compactMap(\.cache) } }
}
