/// Sizes, times and counts as text for people, the same in the terminal and on the queue's page.
package enum Format {
    /// "0 B", "999 B", "1.0 kB", "12.3 MB": decimal units (IEC 80000-13).
    package static func bytes(_ count: Int64) -> String {
        guard count >= 1000 else { return "\(count) B" }
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        var value = Double(count)
        var unit = -1
        // A value that would round to 1000 uses the next unit.
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return "\(oneDecimal(value)) \(units[unit])"
    }

    /// "1.2 MB/s".
    package static func rate(_ bytesPerSecond: Double) -> String {
        bytes(Int64(min(max(bytesPerSecond, 0), 1e18))) + "/s"
    }

    /// "0:07", "12:34", "1:02:03".
    package static func clock(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60)
        return hours > 0 ? "\(hours):\(twoDigits(minutes)):\(twoDigits(rest))" : "\(minutes):\(twoDigits(rest))"
    }

    /// The same for any number of seconds, but ">99 h" for long times: a server may announce an arbitrarily large length.
    package static func clock(seconds: Double) -> String {
        let most = 99 * 3600.0
        return seconds < most ? clock(.seconds(max(seconds, 0))) : ">99 h"
    }

    /// "0.8 s", "12.3 s", "2:03".
    package static func elapsed(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        // A value that would round to 60 is a minute.
        return (seconds * 10).rounded() < 600 ? "\(oneDecimal(seconds)) s" : clock(max(duration, .seconds(60)))
    }

    /// "45 s", "12 min", "3 h", "5 d", "2 y": a long time in its largest unit.
    package static func age(_ seconds: Int64) -> String {
        let units: [(name: String, seconds: Int64)] = [("y", 31_536_000), ("d", 86_400), ("h", 3600), ("min", 60)]
        guard let unit = units.first(where: { seconds >= $0.seconds }) else { return "\(seconds) s" }
        return "\(seconds / unit.seconds) \(unit.name)"
    }

    /// "0.3 ms", "1234.5 ms".
    package static func milliseconds(_ duration: Duration) -> String { "\(oneDecimal(duration / .milliseconds(1))) ms" }

    /// "1,234,567".
    package static func grouped(_ number: Int) -> String {
        let digits = Array(String(number))
        return digits.indices.reduce(into: "") { text, index in
            if index > 0, (digits.count - index) % 3 == 0, digits[index - 1] != "-" { text += "," }
            text.append(digits[index])
        }
    }

    /// "1 file", "3 files".
    package static func count(_ count: Int, _ singular: String) -> String {
        "\(count) \(singular)\(count == 1 ? "" : "s")"
    }

    /// "2 running, 250 waiting, 1 failed": running and waiting always, the other states unless they are empty.
    package static func counts(_ counts: [QueuedDownload.State: Int]) -> String {
        let states: [QueuedDownload.State] = [.running, .waiting, .paused, .failed, .done, .cancelled]
        return states.compactMap { state in
            let count = counts[state] ?? 0
            return count > 0 || state == .running || state == .waiting ? "\(count) \(state.rawValue)" : nil
        }.joined(separator: ", ")
    }

    private static func oneDecimal(_ value: Double) -> String {
        let tenths = Int64(min(max((value * 10).rounded(), 0), 1e18))
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func twoDigits(_ value: Int64) -> String {
        value < 10 ? "0\(value)" : "\(value)"
    }
}
