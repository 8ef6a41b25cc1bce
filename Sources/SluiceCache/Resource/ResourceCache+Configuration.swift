public import SluiceHTTP

extension ResourceCache {
    /// What a cache keeps, and how it fetches. Sizes are bytes.
    public struct Configuration: Sendable {
        /// Who says for how long what is kept may be used.
        public enum Policy: Sendable, Hashable {
            /// The server, as RFC 9111 has it. What gets stale is validated (`If-None-Match`, `If-Modified-Since`).
            case http
            /// Nobody: what is kept is right for ever. For URLs whose content never changes.
            ///
            /// What a server forbids to store (`no-store`) is not kept even so.
            case immutable
        }

        /// How many exchanges with servers run at once.
        public var concurrency: Int
        /// The most that bodies in memory take together.
        public var maximumMemorySize: Int
        /// The most that the files take together, those that are being written included.
        ///
        /// Each counts with 512 bytes more than its body has. The index (some hundred bytes an entry) is not counted.
        public var maximumDiskSize: Int
        /// The most that one file takes. What is larger is returned, not kept on disk.
        public var maximumDiskEntrySize: Int
        /// The longest body that is accepted at all.
        public var maximumResponseSize: Int
        /// Who says for how long what is kept may be used.
        public var policy: Policy
        /// How long a response that says nothing itself is used at most, after a tenth of the time since it changed.
        public var maximumHeuristicLifetime: Duration
        /// How often and when a fetch that failed for a passing reason is tried again.
        public var retries: RetryPolicy

        /// A configuration; the defaults suit the images of an app. `maximumDiskEntrySize` is a tenth of `maximumDiskSize` unless
        /// said otherwise.
        public init(
            concurrency: Int = 10, maximumMemorySize: Int = 64 << 20, maximumDiskSize: Int = 512 << 20,
            maximumDiskEntrySize: Int? = nil,
            maximumResponseSize: Int = 64 << 20, policy: Policy = .http,
            maximumHeuristicLifetime: Duration = .seconds(86_400),
            retries: RetryPolicy = RetryPolicy(
                maximumRetries: 2, baseDelay: .milliseconds(250), maximumRetryAfter: .seconds(10))
        ) {
            precondition(concurrency >= 1, "ResourceCache: concurrency must be at least 1")
            precondition(maximumMemorySize >= 0, "ResourceCache: maximumMemorySize cannot be negative")
            precondition(maximumDiskSize >= 0, "ResourceCache: maximumDiskSize cannot be negative")
            precondition(maximumDiskEntrySize ?? 0 >= 0, "ResourceCache: maximumDiskEntrySize cannot be negative")
            precondition(maximumResponseSize >= 0, "ResourceCache: maximumResponseSize cannot be negative")
            self.concurrency = concurrency
            self.maximumMemorySize = maximumMemorySize
            self.maximumDiskSize = maximumDiskSize
            self.maximumDiskEntrySize = maximumDiskEntrySize ?? maximumDiskSize / 10
            self.maximumResponseSize = maximumResponseSize
            self.policy = policy
            self.maximumHeuristicLifetime = maximumHeuristicLifetime
            self.retries = retries
        }
    }
}
