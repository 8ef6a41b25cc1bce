import NativeMark
import SluiceCache
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The lines of `sluice cache list`. The columns have fixed widths, because the lines are written while the entries are read.
///
/// ```text
/// STATUS      SIZE     AGE  FRESH FOR  LAST USE  URL
///    200    1.2 kB     3 h       21 h     2 min  https://example.com/a.css  (accept-language)
///    200   34.5 MB     2 d      stale       1 d  https://example.com/b.zip?…
/// ```
struct CacheTable: Sendable {
    /// The number of columns of the terminal; `nil` for a text file, whose lines aren't cut off.
    var width: Int?

    var title: String { line(["STATUS", "SIZE", "AGE", "FRESH FOR", "LAST USE"], "URL") }

    func line(for entry: CacheDirectory.Entry) -> String {
        let freshFor = entry.isFresh ? entry.freshFor.map(Format.age) ?? "fresh" : "stale"
        let fields = entry.variantFields.isEmpty ? "" : "  (\(entry.variantFields.joined(separator: ", ")))"
        return line(
            [
                "\(entry.status)", Format.bytes(Int64(entry.size)), entry.age.map(Format.age) ?? "?", freshFor,
                Self.time(since: entry.lastUse),
            ], Self.name(of: entry.url) + fields)
    }

    private static let widths = [6, 8, 6, 9, 8]

    private func line(_ columns: [String], _ url: String) -> String {
        let cells = zip(columns, Self.widths).map { TerminalText.padded($0, toWidth: $1, alignment: .trailing) }
        let line = (cells + [TerminalText.sanitized(url)]).joined(separator: "  ")
        return width.map { TerminalText.truncated(line, toWidth: $0) } ?? line
    }

    /// The URL without secrets.
    static func name(of url: String) -> String { URL(string: url)?.redactedForDisplay ?? "(unreadable URL)" }

    static func time(since date: Date) -> String {
        Format.age(Int64(min(max(Date.now.timeIntervalSince(date), 0), 1e15)))
    }
}
