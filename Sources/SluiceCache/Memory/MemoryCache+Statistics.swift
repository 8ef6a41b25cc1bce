extension MemoryCache {
    /// What a ``MemoryCache`` has done since it was made.
    public struct Statistics: Sendable, Hashable {
        /// Lookups that found a value.
        public internal(set) var hits = 0

        /// Lookups that found none.
        public internal(set) var misses = 0

        /// Values that a limit or ``MemoryCache/trim(toCost:)`` drove out. Not those that were removed, replaced or never kept.
        public internal(set) var evictions = 0
    }
}
