import Foundation

/// A line about the machine, for the results.
enum Machine {
    static var text: String {
        "\(ProcessInfo.processInfo.activeProcessorCount) processors, load \(load)"
    }

    /// The load of the last minute. See getloadavg(3).
    private static var load: String {
        var average = 0.0
        return getloadavg(&average, 1) == 1 ? String(format: "%.1f", average) : "unknown"
    }
}
