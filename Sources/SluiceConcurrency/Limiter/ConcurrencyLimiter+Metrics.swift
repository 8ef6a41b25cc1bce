extension ConcurrencyLimiter {
    /// What a limiter does and has done, as it was at one moment.
    ///
    ///     let metrics = limiter.metrics
    ///     print("\(metrics.running) of \(metrics.limit) in use, \(metrics.waiting) in line")
    public struct Metrics: Hashable, Sendable {
        /// How many bodies may run at once, or the sum of their weights.
        public var limit: Int
        /// How many bodies run and permits are held: the sum of their weights.
        public var running: Int
        /// How many tasks wait.
        public var waiting: Int
        /// The most that ever ran at once, by weight.
        public var peak: Int
        /// How many bodies were let in and permits given, ever.
        public var granted: Int
        /// How long all tasks have waited for their places, added up, those who gave up included; nil without a clock.
        public var waited: Duration?
        /// The longest that one task has waited; nil without a clock.
        public var longestWait: Duration?
    }

    /// What the limiter does and has done, for display: it may have changed before the caller looks at it.
    ///
    /// All counts are of one moment. O(1); never suspends, and blocks for no longer than a few instructions.
    public var metrics: Metrics {
        var metrics = storage.withMachine { machine in
            let word = storage.load()
            return Metrics(
                limit: Int(machine.limit), running: Int(word.running), waiting: machine.line.count, peak: 0,
                granted: Int(machine.granted(word)))
        }
        // Whoever enters notes the peak right after.
        metrics.peak = max(Int(storage.mostRunning), metrics.running)
        let waitTimes = waitTimes?.values
        metrics.waited = waitTimes?.total
        metrics.longestWait = waitTimes?.longest
        return metrics
    }

    /// How many bodies run and permits are held at this moment, by weight, for display: it may have changed before the
    /// caller looks at it.
    public var running: Int { Int(storage.load().running) }

    /// How many tasks wait at this moment, for display: it may have changed before the caller looks at it.
    public var waiting: Int { storage.withMachine { $0.line.count } }
}
