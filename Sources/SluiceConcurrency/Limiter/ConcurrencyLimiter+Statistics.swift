extension ConcurrencyLimiter {
    /// The counts of a limiter at one moment, and totals since its creation.
    ///
    ///     print("\(limiter.statistics.runningCount) of \(limiter.concurrency) in use")
    public struct Statistics: Hashable, Sendable {
        /// The largest number of bodies that can run concurrently, or the largest sum of their weights.
        public var concurrency: Int
        /// The number of running bodies and held permits: the sum of their weights.
        public var runningCount: Int
        /// The number of waiting tasks.
        public var waitingCount: Int
        /// The largest ``runningCount`` so far.
        public var maximumRunningCount: Int
        /// The number of bodies started and permits given so far.
        public var grantedCount: Int
        /// The total time that tasks have waited, including tasks that gave up; `nil` without a clock.
        public var totalWait: Duration?
        /// The longest time that one task has waited; `nil` without a clock.
        public var maximumWait: Duration?
    }

    /// The counts of the limiter at one moment, for display: they may change before the caller reads them. O(1).
    public var statistics: Statistics {
        var statistics = storage.withMachine { machine in
            let word = storage.load()
            return Statistics(
                concurrency: Int(machine.limit), runningCount: Int(word.running), waitingCount: machine.line.count,
                maximumRunningCount: 0, grantedCount: Int(machine.granted(word)))
        }
        // A task raises the peak after it has entered, so the peak can be less than the count.
        statistics.maximumRunningCount = max(Int(storage.mostRunning), statistics.runningCount)
        let waitTimes = waitTimes?.values
        statistics.totalWait = waitTimes?.total
        statistics.maximumWait = waitTimes?.longest
        return statistics
    }

    /// The sum of the weights of running bodies and held permits, for display: it may change before the caller reads it.
    public var runningCount: Int { Int(storage.load().running) }

    /// The number of waiting tasks, for display: it may change before the caller reads it.
    public var waitingCount: Int { storage.withMachine { $0.line.count } }
}
