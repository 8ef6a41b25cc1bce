extension ResourceCache {
    /// The counts of a ``ResourceCache`` since its creation.
    public struct Statistics: Sendable, Hashable {
        /// Requests answered from memory.
        public internal(set) var memoryHits = 0
        /// Lookups answered from disk. If several callers wait for the same lookup, it counts once here; the other callers count as
        /// ``coalesced``.
        public internal(set) var diskHits = 0
        /// Bodies received from the network.
        public internal(set) var fetched = 0
        /// Callers that waited for a lookup or a fetch that another caller had started.
        public internal(set) var coalesced = 0
        /// Stored responses that their server confirmed (304).
        public internal(set) var revalidated = 0
        /// Further attempts after a failed one.
        public internal(set) var retries = 0
        /// Damaged entries on disk, which were removed.
        public internal(set) var damaged = 0
        /// Entries on disk that were evicted.
        public internal(set) var evicted = 0
        /// Failed operations of the disk stage. The requests continued without it.
        public internal(set) var diskFailures = 0
        /// The description of the last error in ``diskFailures``.
        public internal(set) var lastDiskFailure: String?
    }
}
