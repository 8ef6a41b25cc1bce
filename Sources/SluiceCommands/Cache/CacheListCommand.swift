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
