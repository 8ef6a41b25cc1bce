/// The value that a row shows for a sample. If the figure of a row is a ratio of rates, the row shows rates.
struct Unit: Sendable {
    let label: String
    let value: @Sendable (Sample) -> Double

    static let nanoseconds = Unit(label: "ns") { $0.seconds / Double($0.operations) * 1e9 }
    static let microseconds = Unit(label: "µs") { $0.seconds / Double($0.operations) * 1e6 }
    static let milliseconds = Unit(label: "ms") { $0.seconds / Double($0.operations) * 1e3 }
    static let processorMilliseconds = Unit(label: "ms CPU") {
        $0.processorSeconds / Double($0.operations) * 1e3
    }
    static let megabytesPerSecond = Unit(label: "MB/s") { Double($0.bytes) / $0.seconds / 1e6 }
    /// Peak memory of a child process.
    static let peakMebibytes = Unit(label: "MiB peak") { ($0.peakBytes ?? .nan) / 1_048_576 }

    /// Memory for each operation.
    static let bytesEach = Unit(label: "B each") { Double($0.bytes) / Double($0.operations) }

    /// The share of operations that succeeded. `Sample.bytes` is the number of successes.
    static let percent = Unit(label: "%") { 100 * Double($0.bytes) / Double($0.operations) }

    /// Operations per second, with the name of the operation, such as `files` or `reads`.
    static func perSecond(_ operations: String) -> Unit {
        Unit(label: "\(operations)/s") { Double($0.operations) / $0.seconds }
    }
}
