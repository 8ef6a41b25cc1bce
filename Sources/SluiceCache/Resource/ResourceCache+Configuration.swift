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
        public var memoryLimit: Int
        /// The most that the files take together, those that are being written included.
        ///
        /// Each counts with 512 bytes more than its body has. The index (some hundred bytes an entry) is not counted.
        public var diskLimit: Int
        /// The most that one file takes. What is larger is returned, not kept on disk.
        public var diskEntryLimit: Int
        /// The longest body that is accepted at all.
        public var responseLimit: Int
        /// Who says for how long what is kept may be used.
        public var policy: Policy
        /// How long a response that says nothing itself is used at most, after a tenth of the time since it changed.
        public var heuristicLimit: Duration
        /// How often and when a fetch that failed for a passing reason is tried again.
        public var retries: RetryPolicy

        /// A configuration; the defaults suit the pictures of an app. `diskEntryLimit` is a tenth of `diskLimit` unless
        /// said otherwise.
        public init(
            concurrency: Int = 10, memoryLimit: Int = 64 << 20, diskLimit: Int = 512 << 20, diskEntryLimit: Int? = nil,
            responseLimit: Int = 64 << 20, policy: Policy = .http, heuristicLimit: Duration = .seconds(86_400),
            retries: RetryPolicy = RetryPolicy(
                maximumRetries: 2, baseDelay: .milliseconds(250), maximumRetryAfter: .seconds(10))
        ) {
            precondition(concurrency >= 1, "ResourceCache: concurrency must be at least 1")
            precondition(memoryLimit >= 0, "ResourceCache: memoryLimit cannot be negative")
            precondition(diskLimit >= 0, "ResourceCache: diskLimit cannot be negative")
            precondition(diskEntryLimit ?? 0 >= 0, "ResourceCache: diskEntryLimit cannot be negative")
            precondition(responseLimit >= 0, "ResourceCache: responseLimit cannot be negative")
            self.concurrency = concurrency
            self.memoryLimit = memoryLimit
            self.diskLimit = diskLimit
            self.diskEntryLimit = diskEntryLimit ?? diskLimit / 10
            self.responseLimit = responseLimit
            self.policy = policy
            self.heuristicLimit = heuristicLimit
            self.retries = retries
        }
    }
}
