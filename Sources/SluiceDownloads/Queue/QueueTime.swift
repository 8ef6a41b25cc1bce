#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The clock of a queue, in milliseconds since 1970. Other processes use the stored times, so a shared queue needs the time of day.
package struct QueueTime: Sendable {
    package let now: @Sendable () -> Int64

    package init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

    /// The time of day, which can be set at any moment.
    static let system = QueueTime { Int64(Date().timeIntervalSince1970 * 1000) }

    /// A clock for a queue that only this process uses: it begins with the time of day, and isn't set with it.
    static func steady(from start: Int64 = system.now(), _ clock: some Clock<Duration> = .continuous) -> QueueTime {
        let began = clock.now
        return QueueTime { start + began.duration(to: clock.now).milliseconds }
    }
}

extension Duration {
    /// Rounded up, so that a delay is never shortened.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let most = Int64.max / 4000
        return min(max(seconds, -most), most) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

extension Date {
    package init(queueTime milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
