extension DownloadList {
    /// The bytes of the running downloads, the rate at which they arrive, and the time left.
    ///
    ///     func describe(_ totals: DownloadList.Totals) -> String {
    ///         guard let rate = totals.bytesPerSecond, let left = totals.timeLeft else { return "" }
    ///         return "\(rate / 1000) kB/s, \(left.components.seconds) s left"
    ///     }
    public struct Totals: Sendable, Hashable {
        /// The number of received bytes of the running downloads, including those of resumed partial files.
        public var receivedBytes: Int64
        /// The size of the running downloads in bytes; `nil` if a size is unknown, or if no download runs.
        public var expectedBytes: Int64?
        /// The rate at which bytes arrive in this process, a mean in which bytes count less the older they are: after three seconds about
        /// a third. `nil` if no download runs.
        public var bytesPerSecond: Int64?
        /// The estimated time until no download waits or runs, in whole seconds, at the current rate.
        ///
        /// Each download of unknown size counts with the mean of the known sizes. `nil` if no size or no rate is known, or while no bytes
        /// arrive.
        public var timeLeft: Duration?

        /// Creates a value, by default of a queue without running downloads: for previews and tests.
        public init(
            receivedBytes: Int64 = 0, expectedBytes: Int64? = nil, bytesPerSecond: Int64? = nil,
            timeLeft: Duration? = nil
        ) {
            self.receivedBytes = receivedBytes
            self.expectedBytes = expectedBytes
            self.bytesPerSecond = bytesPerSecond
            self.timeLeft = timeLeft
        }

        /// The received fraction of the running downloads, from 0 to 1, if their size is known.
        public var fractionCompleted: Double? {
            guard let expectedBytes else { return nil }
            return expectedBytes > 0 ? min(1, Double(receivedBytes) / Double(expectedBytes)) : 1
        }
    }
}
