import NativeMark
import SluiceDownloads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The lines of a full screen that shows a queue: a head, the part of the table that fits, and the keys.
struct WatchFrame {
    var title: String
    /// `nil` before the first one.
    var report: QueueReport?
    /// The bytes per second of all running downloads.
    var rate = 0.0
    var size: Console.Size
    /// The first line of the table to show. It is limited so that the screen is as full as possible.
    var offset = 0
    var now = Date.now

    /// As many as the screen has rows, each at most as wide as the screen.
    var lines: [String] {
        let width = max(size.columns, 1)
        guard let report, size.rows > 3 else {
            let text = report.map { $0.countsText } ?? "Opening \(TerminalText.sanitized(title))"
            return filled([TerminalText.truncated(text, toWidth: width)], to: size.rows)
        }
        let table = QueueTable(report: report, width: width, now: now).sections
        let room = roomForTable
        let start = min(max(offset, 0), max(table.count - room, 0))
        let shown = Array(table[start..<min(start + room, table.count)])
        let head = "\(TerminalText.sanitized(title)): \(report.countsText)" + (rate > 0 ? "  \(Format.rate(rate))" : "")
        let place = table.count > room ? "   lines \(start + 1) to \(start + shown.count) of \(table.count)" : ""
        let body =
            [TerminalText.truncated(head, toWidth: width), ""] + (table.isEmpty ? ["The queue is empty."] : shown)
        return filled(body, to: size.rows - 1)
            + [TerminalText.truncated("q quit   ↑ ↓ PgUp PgDn scroll\(place)", toWidth: width)]
    }

    /// The rows of the table.
    var roomForTable: Int { max(size.rows - 3, 0) }

    /// The largest offset that is useful.
    var largestOffset: Int {
        guard let report else { return 0 }
        return max(QueueTable(report: report, width: size.columns, now: now).sections.count - roomForTable, 0)
    }

    private func filled(_ lines: [String], to count: Int) -> [String] {
        Array(lines.prefix(count)) + Array(repeating: "", count: max(count - lines.count, 0))
    }
}
