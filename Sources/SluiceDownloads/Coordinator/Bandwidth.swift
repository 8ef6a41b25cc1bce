import SluiceConcurrency
import SluiceLock

/// Limits the rate at which downloads receive bytes: of all together, and of those from each host.
///
/// A transfer calls ``pass(_:from:)`` after it has written bytes, and before it reads more. While it waits, the transport's buffer fills, and the
/// server is slowed down. So bytes that the system and the transport buffer come on top of the limit, once for each connection.
final class Bandwidth<C: Clock>: Sendable where C.Duration == Duration {
    typealias Rates = DownloadCoordinator.MaximumRates

    private struct Limits: Sendable {
        var total: RateLimiter<C>?
        var perHost: KeyedRateLimiter<String, C>?
        /// The most bytes that a limiter grants at once.
        var slice = Int.max
    }

    private struct State: Sendable {
        var own: Rates
        /// This worker's share of what the queue allows all workers together.
        var shared = Rates()
        var limits: Limits

        var rates: Rates { own.limited(by: shared) }
    }

    private let clock: C
    private let state: Lock<State>

    init(_ rates: Rates, clock: C) {
        self.clock = clock
        state = Lock(State(own: rates, limits: Self.limits(rates, clock)))
    }

    /// Replaces this worker's own limits. Transfers that are waiting get the bytes they wait for at the old rate.
    func set(_ rates: Rates) { change { $0.own = rates } }

    /// Replaces this worker's share of the queue's limits, in the same way.
    func setShared(_ rates: Rates) { change { $0.shared = rates } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            let before = state.rates
            body(&state)
            if state.rates != before { state.limits = Self.limits(state.rates, clock) }
        }
    }

    /// The limits that apply now.
    var rates: Rates { state.withLock { $0.rates } }

    private static func limits(_ rates: Rates, _ clock: C) -> Limits {
        var limits = Limits()
        if let total = rates.total {
            let burst = burst(of: total)
            let limiter = RateLimiter(rate: total, per: .seconds(1), burst: burst, clock: clock)
            // Without a burst at the start, a download takes as long as its size says.
            _ = limiter.tryConsume(burst)
            limits.total = limiter
            limits.slice = burst
        }
        if let perHost = rates.perHost {
            let burst = burst(of: perHost)
            limits.perHost = KeyedRateLimiter(rate: perHost, per: .seconds(1), burst: burst, clock: clock)
            limits.slice = min(limits.slice, burst)
        }
        return limits
    }

    /// A quarter of a second: more than a task's wake-up is usually late.
    private static func burst(of rate: Int) -> Int { max(1, rate / 4) }

    /// Waits until this many bytes are within the limits.
    ///
    /// - Throws: `CancellationError`.
    func pass(_ count: Int, from host: String) async throws {
        var left = count
        while left > 0 {
            let current = state.withLock { $0.limits }
            if current.total == nil, current.perHost == nil { return }
            let slice = min(left, current.slice)
            try await current.total?.consume(slice)
            try await current.perHost?.consume(slice, for: host)
            left -= slice
        }
    }
}
