extension ConcurrencyLimiter {
    /// The counts of a limiter at one moment, and what it has done so far.
    ///
    ///     let statistics = limiter.statistics
    ///     print("\(statistics.runningCount) of \(statistics.concurrency) in use, \(statistics.waitingCount) waiting")
    public struct Statistics: Hashable, Sendable {
        /// How many bodies may run concurrently, or the sum of their weights.
        public var concurrency: Int
        /// How many bodies run and permits are held: the sum of their weights.
        public var runningCount: Int
        /// How many tasks wait.
        public var waitingCount: Int
        /// The largest ``runningCount`` so far.
        public var maximumRunningCount: Int
        /// How many bodies have been started and permits given so far.
        public var grantedCount: Int
        /// How long all tasks have waited for their places, added up, with those that gave up; nil without a clock.
        public var totalWait: Duration?
        /// The longest time that one task has waited; nil without a clock.
        public var maximumWait: Duration?
    }

    /// The counts of the limiter, for display: they may have changed before the caller looks at them.
    ///
    /// All counts are of one moment. O(1); never suspends, and blocks for no longer than a few instructions.
    public var statistics: Statistics {
        var statistics = storage.withMachine { machine in
            let word = storage.load()
            return Statistics(
                concurrency: Int(machine.limit), runningCount: Int(word.running), waitingCount: machine.line.count,
                maximumRunningCount: 0, grantedCount: Int(machine.granted(word)))
        }
        // A task notes the peak after it has entered.
        statistics.maximumRunningCount = max(Int(storage.mostRunning), statistics.runningCount)
        let waitTimes = waitTimes?.values
        statistics.totalWait = waitTimes?.total
        statistics.maximumWait = waitTimes?.longest
        return statistics
    }

    /// How many bodies run and permits are held, by weight, for display: it may have changed before the caller looks at it.
    public var runningCount: Int { Int(storage.load().running) }

    /// How many tasks wait, for display: it may have changed before the caller looks at it.
    public var waitingCount: Int { storage.withMachine { $0.line.count } }
}
