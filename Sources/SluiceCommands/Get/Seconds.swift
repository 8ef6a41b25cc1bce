import ArgumentParser

/// A duration in seconds, as an argument.
struct Seconds: ExpressibleByArgument, CustomStringConvertible {
    var value: Double

    init(_ value: Double) { self.value = value }

    init?(argument: String) {
        guard let value = Double(argument) else { return nil }
        self.value = value
    }

    /// A smaller number could be zero as a `Duration`, which counts attoseconds.
    var isAllowed: Bool { value >= 0.001 && value <= 86_400 }

    /// The number, without a fraction if it has none.
    var description: String { Int(exactly: value).map(String.init) ?? "\(value)" }
}
