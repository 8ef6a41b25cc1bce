/// A queue at one moment, for a user interface.
public struct QueueSnapshot: Sendable, Hashable {
    /// A job under way, and how far it is.
    public struct Running: Sendable, Hashable, Identifiable {
        /// The job.
        public var download: QueuedDownload
        /// Bytes of the file that are there. Zero for jobs of other processes.
        public var received: Int64
        /// Bytes that the file will have, where the server said so.
        public var expected: Int64?

        /// The number of the job.
        public var id: QueuedDownload.ID { download.id }

        /// Creates a value, for previews and tests.
        public init(download: QueuedDownload, received: Int64 = 0, expected: Int64? = nil) {
            self.download = download
            self.received = received
            self.expected = expected
        }

        /// The part that is there, 0 to 1, where that is known.
        public var fraction: Double? {
            guard let expected else { return nil }
            return expected > 0 ? min(1, Double(received) / Double(expected)) : 1
        }
    }

    /// How many jobs there are in each state.
    public var counts: [QueuedDownload.State: Int]
    /// Those that run, in the order of their numbers.
    public var running: [Running]
    /// The first of those that wait, in the order in which they will be claimed.
    public var waiting: [QueuedDownload]
    /// The last of those that ended, latest first.
    public var ended: [QueuedDownload]

    /// Creates a snapshot, by default of an empty queue: for previews and tests, and for what a user interface shows first.
    public init(
        counts: [QueuedDownload.State: Int] = [:], running: [Running] = [], waiting: [QueuedDownload] = [],
        ended: [QueuedDownload] = []
    ) {
        self.counts = counts
        self.running = running
        self.waiting = waiting
        self.ended = ended
    }

    /// How many jobs are in a state.
    public func count(_ state: QueuedDownload.State) -> Int { counts[state] ?? 0 }

    /// How many jobs wait or run.
    public var openCount: Int { count(.waiting) + count(.running) }
}
