import SluiceFiles

extension DownloadCoordinator {
    /// The most bytes per second that downloads may receive; `nil` for no limit.
    ///
    ///     try await downloads.setQueueRates(.init(total: 2_000_000))      // 2 MB/s for all workers of the queue together
    ///     try await downloads.setQueueRates(.init())                      // no limit
    public struct MaximumRates: Sendable, Hashable {
        /// The limit for all downloads together.
        public var total: Int?
        /// The limit for the downloads from each host.
        public var perHost: Int?

        /// Creates limits, in bytes per second.
        public init(total: Int? = nil, perHost: Int? = nil) {
            self.total = total
            self.perHost = perHost
        }

        /// The stricter of two limits.
        func limited(by other: MaximumRates) -> MaximumRates {
            MaximumRates(
                total: [total, other.total].compactMap(\.self).min(),
                perHost: [perHost, other.perHost].compactMap(\.self).min())
        }

        func check() {
            for case let rate? in [total, perHost] {
                precondition(rate >= 1, "A maximum rate must be at least 1 byte per second; it is \(rate).")
            }
        }
    }
}

/// The rates that a queue stores for all its workers, as one of them sees them.
package struct SharedRates: Sendable, Hashable {
    package var rates: DownloadCoordinator.MaximumRates
    /// The number of other workers that have running downloads. It needn't be right if there are no limits.
    package var otherWorkers: Int

    package init(_ rates: DownloadCoordinator.MaximumRates, otherWorkers: Int) {
        self.rates = rates
        self.otherWorkers = otherWorkers
    }

    /// What this worker may use: the same part of the rates as each of the others.
    package var share: DownloadCoordinator.MaximumRates {
        let workers = max(0, otherWorkers).addingClamped(1)
        return .init(
            total: rates.total.map { max(1, $0 / workers) }, perHost: rates.perHost.map { max(1, $0 / workers) })
    }
}
