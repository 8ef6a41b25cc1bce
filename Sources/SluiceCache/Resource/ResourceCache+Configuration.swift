public import SluiceHTTP

extension ResourceCache {
    /// The settings of a cache. Sizes are in bytes.
    public struct Configuration: Sendable {
        /// The rule for how long a stored response may be used.
        public enum Policy: Sendable, Hashable {
            /// The server decides (RFC 9111). A stale response is validated with `If-None-Match` or `If-Modified-Since`.
            case http
            /// A stored response may be used forever. Use it for URLs whose content never changes. Responses that the server forbids to
            /// store (`no-store`) aren't stored.
            case immutable
        }

        /// When the digest of a body on disk is compared. The length is compared at each read.
        public enum Verification: Sendable, Hashable {
            /// When the process reads the body for the first time. Later damage that doesn't change the length isn't detected.
            case firstRead
            /// At each read, which then takes many times as long: SHA-256 of 1 MiB takes more than half a millisecond, and reading it a tenth.
            case always
        }

        /// The largest number of concurrent exchanges with servers.
        public var concurrency: Int
        /// The largest number of concurrent exchanges with one host, to be considerate of servers.
        public var concurrencyPerHost: Int
        /// The limit on the total size of the responses in memory. A URL whose responses take more than a tenth of it isn't stored in memory.
        /// The disk stage remembers rows of its index in addition, up to 4 MiB, with bodies of up to 2 KiB.
        public var maximumMemorySize: Int
        /// The limit on the total size of the files, including those that are being written. Each response counts with its body, and with
        /// its URL and header fields, or 512 bytes if they are shorter. The rest of the index, with some hundred bytes per entry, doesn't
        /// count.
        public var maximumDiskSize: Int64
        /// The limit on the body of one response on disk. The cache returns larger responses without storing them on disk. A body that
        /// arrives is stored only if it takes at most half of ``maximumDiskSize``.
        public var maximumDiskEntrySize: Int64
        /// The limit on the body of one response. A larger one fails with `TransferError.Code.responseTooLarge`.
        public var maximumResponseSize: Int
        /// The rule for how long a stored response may be used.
        public var policy: Policy
        /// When the digest of a body on disk is compared.
        public var verification: Verification
        /// The longest lifetime of a response that states none. Such a response is fresh for a tenth of the time since its last
        /// modification, up to this limit.
        public var maximumHeuristicLifetime: Duration
        /// The policy for trying again after a transient error.
        public var retries: RetryPolicy

        /// Creates a configuration. The defaults suit the images of an app. The default of `maximumDiskEntrySize` is a tenth of
        /// `maximumDiskSize`.
        public init(
            concurrency: Int = 10, concurrencyPerHost: Int = 6, maximumMemorySize: Int = 64 << 20,
            maximumDiskSize: Int64 = 512 << 20,
            maximumDiskEntrySize: Int64? = nil, maximumResponseSize: Int = 64 << 20, policy: Policy = .http,
            verification: Verification = .firstRead, maximumHeuristicLifetime: Duration = .seconds(86_400),
            retries: RetryPolicy = RetryPolicy(
                maximumRetries: 2, baseDelay: .milliseconds(250), maximumRetryAfter: .seconds(10))
        ) {
            precondition(concurrency >= 1, "A cache's concurrency must be at least 1; it is \(concurrency).")
            precondition(
                concurrencyPerHost >= 1, "A cache's concurrencyPerHost must be at least 1; it is \(concurrencyPerHost)."
            )
            Self.check(maximumMemorySize, "maximumMemorySize")
            Self.check(maximumDiskSize, "maximumDiskSize")
            Self.check(maximumDiskEntrySize ?? 0, "maximumDiskEntrySize")
            Self.check(maximumResponseSize, "maximumResponseSize")
            self.concurrency = concurrency
            self.concurrencyPerHost = concurrencyPerHost
            self.maximumMemorySize = maximumMemorySize
            self.maximumDiskSize = maximumDiskSize
            self.maximumDiskEntrySize = maximumDiskEntrySize ?? maximumDiskSize / 10
            self.maximumResponseSize = maximumResponseSize
            self.policy = policy
            self.verification = verification
            self.maximumHeuristicLifetime = maximumHeuristicLifetime
            self.retries = retries
        }

        private static func check(_ size: some BinaryInteger, _ name: StaticString) {
            precondition(size >= 0, "A cache's \(name) must not be negative; it is \(size).")
        }
    }
}
