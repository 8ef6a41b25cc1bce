import Foundation

/// Formats numbers for the table.
enum Format {
    /// Three significant digits, with thousands separators: 0.123, 4.56, 78.9, 1,234.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "?" }
        let size = abs(value)
        if size >= 100 { return grouped(Int(value.rounded())) }
        if value == value.rounded() { return String(Int(value)) }
        return String(format: size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.3f", value)
    }

    /// A duration in a suitable unit.
    static func seconds(_ value: Double) -> String {
        switch value {
        case 1...: "\(number(value)) s"
        case 1e-3...: "\(number(value * 1e3)) ms"
        case 1e-6...: "\(number(value * 1e6)) µs"
        default: "\(number(value * 1e9)) ns"
        }
    }

    private static func grouped(_ value: Int) -> String {
        let digits = Array(String(abs(value)))
        var text = value < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }
}
