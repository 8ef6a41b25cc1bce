#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The clock of a queue, in milliseconds since 1970. Processes share the stored times, so a shared queue needs the time of day.
package struct QueueTime: Sendable {
    package let now: @Sendable () -> Int64

    package init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

    /// The time of day, which can be set at any moment.
    static let system = QueueTime { Int64(Date().timeIntervalSince1970 * 1000) }

    /// A clock for a queue that only this process uses. It starts at the time of day, but setting the system clock doesn't affect it.
    static func steady(from start: Int64 = system.now(), _ clock: some Clock<Duration> = .continuous) -> QueueTime {
        let began = clock.now
        return QueueTime { start + began.duration(to: clock.now).milliseconds }
    }
}

extension Duration {
    /// Rounded up, so that no delay is shortened, and clamped, so that adding it to a time can't overflow.
    package var milliseconds: Int64 {
        let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        let most = Int128(Int64.max / 4)
        return Int64(min(max(whole + (rest > 0 ? 1 : 0), -most), most))
    }
}

extension Date {
    /// The time in milliseconds since 1970, clamped.
    package var queueTime: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded(.down)
        return Int64(exactly: max(-1e18, min(1e18, milliseconds))) ?? 0
    }

    package init(queueTime milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
