extension DownloadCoordinator {
    /// The rule for a host to which no connection succeeds, such as during an outage of the network.
    ///
    ///     DownloadCoordinator.Configuration(circuitBreaker: .init(maximumFailures: 10, pause: .seconds(60)))
    ///
    /// After ``maximumFailures`` failed connections in succession, no download of the host starts for the ``pause``. Then one download is
    /// tried. If it reaches the host, the others follow; otherwise there is another pause, and the download that was tried waits with the
    /// others and loses no attempt. So an outage costs a few downloads an attempt, and the others wait for its end.
    /// ``QueueSnapshot/hosts`` shows these hosts.
    ///
    /// A host that couldn't be connected to for the ``patience`` is given up: all its downloads fail, without further connections. After
    /// another pause, one download is tried again.
    ///
    /// The store counts the failures of all processes together. Each run measures the patience from its own first failure, and gives a host
    /// up only if no other process reaches it.
    public struct CircuitBreaker: Sendable, Hashable {
        /// The number of failed connections in succession after which a host is paused.
        public var maximumFailures: Int
        /// The time without connections before the next attempt.
        public var pause: Duration
        /// The time after the first failed connection for which the downloads of a host wait. Then they fail.
        public var patience: Duration

        /// Creates a rule. `maximumFailures` must be at least 1.
        public init(
            maximumFailures: Int = 5, pause: Duration = .seconds(30), patience: Duration = .seconds(3600)
        ) {
            precondition(
                maximumFailures >= 1,
                "A circuit breaker's maximumFailures must be at least 1; it is \(maximumFailures).")
            self.maximumFailures = maximumFailures
            self.pause = pause
            self.patience = patience
        }
    }
}
