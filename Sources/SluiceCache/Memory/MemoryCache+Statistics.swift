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
