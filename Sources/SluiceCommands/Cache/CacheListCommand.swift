import ArgumentParser
import NativeMark
import SluiceCache
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct CacheListCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the responses in a cache, the most recently used first.",
        discussion: """
            Each line has the status, the size of the body, the age, how long the response stays fresh, the time since its last use, \
            and the URL. Request fields that the response depends on (Vary) follow in parentheses; a URL has one line for each \
            variant. User names, passwords, queries and fragments of URLs aren't shown.

            EXAMPLES:
              List what comes from one site:
                sluice cache list https://example.com/
              List the stale images:
                sluice cache list --stale '*.jpg'
              Add up the sizes:
                sluice cache list --json | jq -s 'map(.size) | add'

            The list is written while it is read, so it can be of any length.
            """)

    @OptionGroup
    var cache: CacheOption

    @Flag(help: "List only responses that aren't fresh.")
    var stale = false

    @Flag(help: "Print one JSON object per line, without secrets.")
    var json = false

    @Argument(
        help: .init(
            "The beginning of the URLs to list, or with a * a pattern of the whole URL. (default: all)",
            valueName: "url"))
    var url: String?

    private struct Line: Encodable {
        var url: String
        var status: Int
        var size: Int
        var age: Int64?
        var fresh: Bool
        var freshFor: Int64?
        var lastUse: Date
        var variantFields: [String]
    }

    func run(_ console: Console) async throws -> ExitStatus {
        let location = try cache.location(console)
        let table = CacheTable(width: console.outputSize()?.columns)
        let pattern = url.map { CacheDirectory.Pattern($0) }
        var count = 0
        try await location.withDirectory { directory in
            var position: CacheDirectory.Position? = .start
            // After `sluice cache list | head`, nothing reads the output anymore.
            while let start = position, !console.losses.isLost(.output) {
                let page = try await directory.entries(after: start, matching: pattern)
                var text = ""
                for entry in page.entries where !stale || !entry.isFresh {
                    if count == 0, !json { text += table.title + "\n" }
                    count += 1
                    text += json ? try CommandJSON.line(Self.line(for: entry)) : table.line(for: entry) + "\n"
                }
                if !text.isEmpty { await console.write(text, to: .output) }
                position = page.next
                try Task.checkCancellation()
            }
        }
        if count == 0, !json {
            let isFiltered = stale || url != nil
            await console.report(isFiltered ? "No response in the cache matches." : "The cache is empty.")
        }
        return .success
    }

    private static func line(for entry: CacheDirectory.Entry) -> Line {
        Line(
            url: CacheTable.name(of: entry.url), status: entry.status, size: entry.size, age: entry.age,
            fresh: entry.isFresh, freshFor: entry.freshFor, lastUse: entry.lastUse, variantFields: entry.variantFields)
    }
}

/// The lines of `sluice cache list`. The columns have fixed widths, because the lines are written while the entries are read.
///
/// ```text
/// STATUS      SIZE     AGE  FRESH FOR  LAST USE  URL
///    200    1.2 kB     3 h       21 h     2 min  https://example.com/a.css  (accept-language)
///    200   34.5 MB     2 d      stale       1 d  https://example.com/b.zip?…
/// ```
private struct CacheTable: Sendable {
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
