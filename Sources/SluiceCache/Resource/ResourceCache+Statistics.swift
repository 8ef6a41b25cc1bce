extension ResourceCache {
    /// What a ``ResourceCache`` has done since it was made.
    public struct Statistics: Sendable, Hashable {
        /// Requests answered from memory.
        public internal(set) var memoryHits = 0
        /// Lookups answered from disk. Callers that waited for one together count once here, the others as ``coalesced``.
        public internal(set) var diskHits = 0
        /// Bodies that came from the network.
        public internal(set) var fetched = 0
        /// Callers that waited for a lookup or fetch that another had begun.
        public internal(set) var coalesced = 0
        /// Kept responses that their server confirmed (304).
        public internal(set) var revalidated = 0
        /// Further attempts after a failed one.
        public internal(set) var retries = 0
        /// Entries on disk that were not what they should be, and were dropped.
        public internal(set) var damaged = 0
        /// Entries on disk that had to make room.
        public internal(set) var evicted = 0
        /// Operations of the disk stage that failed; the requests went on without it.
        public internal(set) var diskFailures = 0
        /// What failed last in the disk stage, with the path and what to do.
        public internal(set) var lastDiskFailure: String?
    }
}
