import SluiceConcurrency
import SluiceLock

/// Limits the rate at which downloads receive bytes: of all together, and of those from each host.
///
/// A transfer calls ``pass(_:from:)`` after it has written bytes, and before it reads more. While it waits, the transport's buffer fills, and the
/// server is slowed down. So bytes that the system and the transport buffer come on top of the limit, once for each connection.
final class Bandwidth<C: Clock>: Sendable where C.Duration == Duration {
    private struct Limits: Sendable {
        var total: RateLimiter<C>?
        var perHost: KeyedRateLimiter<String, C>?
        /// The most bytes that a limiter grants at once.
        var slice = Int.max
    }

    private let clock: C
    private let limits: Lock<Limits>

    init(total: Int?, perHost: Int?, clock: C) {
        self.clock = clock
        limits = Lock(Self.limits(total, perHost, clock))
    }

    /// Replaces the limits, in bytes per second. Transfers that are waiting get the bytes they wait for at the old rate.
    func set(total: Int?, perHost: Int?) {
        let next = Self.limits(total, perHost, clock)
        limits.withLock { $0 = next }
    }

    private static func limits(_ total: Int?, _ perHost: Int?, _ clock: C) -> Limits {
        var limits = Limits()
        if let total {
            let burst = burst(of: total)
            let limiter = RateLimiter(rate: total, per: .seconds(1), burst: burst, clock: clock)
            // Without a burst at the start, a download takes as long as its size says.
            _ = limiter.tryConsume(burst)
            limits.total = limiter
            limits.slice = burst
        }
        if let perHost {
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
            let current = limits.withLock { $0 }
            if current.total == nil, current.perHost == nil { return }
            let slice = min(left, current.slice)
            try await current.total?.consume(slice)
            try await current.perHost?.consume(slice, for: host)
            left -= slice
        }
    }
}
