// For exp.
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A moving average of bytes per second, in which bytes that arrived t ago have the weight e^(−t/τ).
///
/// Numerator and denominator are integrals over the past with this weight. So the mean is right from the first interval on, and it doesn't
/// matter how time is divided into intervals.
package struct SmoothedRate: Sendable, Hashable {
    /// τ, in seconds.
    static let timeConstant = 3.0

    private var bytes = 0.0
    private var seconds = 0.0

    package init() {}

    /// The mean, or `nil` before the first interval.
    package var bytesPerSecond: Double? { seconds > 0 ? bytes / seconds : nil }

    /// Adds bytes that arrived evenly over an interval.
    package mutating func add(_ count: Int64, over interval: Duration) {
        let length = interval / .seconds(1)
        guard length > 0 else {
            bytes += Double(count)
            return
        }
        let weight = exp(-length / Self.timeConstant)
        let weighted = Self.timeConstant * (1 - weight)
        bytes = bytes * weight + Double(count) * weighted / length
        seconds = seconds * weight + weighted
    }
}
