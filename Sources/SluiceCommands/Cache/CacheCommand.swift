import ArgumentParser
import NativeMark
import SluiceCache
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The commands for a cache directory.
struct CacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Inspects, verifies and trims the cache of 'sluice get --cache' and 'sluice show --remote-images'.",
        discussion: """
            A cache is a directory with responses of servers and an index of them. The commands work on any cache directory of the \
            SluiceCache library, even while other programs use it. They don't change a directory that isn't a cache.

            EXAMPLES:
              Fill the cache, and download again without a request:
                sluice get --cache -d music https://example.com/a.mp3
                sluice get --cache -d copy https://example.com/a.mp3
              See what is using the space:
                sluice cache stats
                sluice cache list https://example.com/
              Keep what was used in the last 30 days, at most 100 MB:
                sluice cache trim --older-than 30d --size 100M
              Check every byte, for example after a crash of the system:
                sluice cache verify --repair
              Remove everything:
                sluice cache remove --all

            \(CacheHelp.directory)
            """,
        subcommands: [
            CacheStatsCommand.self, CacheListCommand.self, CacheVerifyCommand.self, CacheTrimCommand.self,
            CacheRemoveCommand.self,
        ])
}

/// The option `--directory`.
struct CacheOption: ParsableArguments {
    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init("The directory of the cache. (default: \(CacheHelp.place))", valueName: "dir"))
    var directory: String?

    func location(_ console: Console) throws(CommandFailure) -> CacheLocation {
        try CacheLocation(directory, option: "--directory", command: "cache", console)
    }
}

enum CacheHelp {
    #if os(macOS)
    static let place = "sluice in $XDG_CACHE_HOME or ~/Library/Caches"
    #else
    static let place = "sluice in $XDG_CACHE_HOME or ~/.cache"
    #endif

    static let directory = """
        The default directory is \(place). 'sluice get --cache' and 'sluice show' keep at most \
        \(Format.bytes(CacheLocation.maximumDiskSize)) in it.
        """

    static let json = "Print one JSON document, without secrets."
}

// MARK: - stats

struct CacheStatsCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Shows the size of a cache, and how many of its responses are fresh.",
        discussion: """
            A fresh response is used without a request. A stale one is validated: if it is unchanged, the server sends no body.

            Each response counts as its body plus its URL and header fields, which count as at least 512 bytes. The limit counts the \
            same way. Last-use times lag a little, because programs write them in batches.

            \(CacheHelp.directory)
            """)

    @OptionGroup
    var cache: CacheOption

    @Flag(help: .init(stringLiteral: CacheHelp.json))
    var json = false

    private struct Report: Encodable {
        var directory: String
        var entries: Int
        var fresh: Int
        var stale: Int
        var bytes: Int64
        var limit: Int64?
        var indexBytes: Int64
        var oldestUse: Date?
        var newestUse: Date?
    }

    func run(_ console: Console) async throws -> ExitStatus {
        let location = try cache.location(console)
        let totals = try await location.withDirectory { try await $0.totals() }
        let limit = location.isDefault ? location.limit : nil
        let report = Report(
            directory: location.path, entries: totals.entries, fresh: totals.fresh,
            stale: totals.entries - totals.fresh, bytes: totals.bytes, limit: limit, indexBytes: totals.indexBytes,
            oldestUse: totals.oldestUse, newestUse: totals.newestUse)
        if json {
            await console.write(try CommandJSON.line(report), to: .output)
            return .success
        }
        let most = limit.map { ", at most \(Format.bytes($0))" } ?? ""
        var lines = [
            "Directory  \(TerminalText.sanitized(report.directory))",
            "Entries    \(report.entries) (\(report.fresh) fresh, \(report.stale) stale)",
            "Size       \(Format.bytes(report.bytes))\(most), and \(Format.bytes(report.indexBytes)) for the index",
        ]
        if let oldest = report.oldestUse, let newest = report.newestUse {
            let times = [CacheTable.time(since: newest), CacheTable.time(since: oldest)]
            lines.append("Last use   \(times[0] == times[1] ? times[0] : times.joined(separator: " to ")) ago")
        }
        await console.write(lines.map { $0 + "\n" }.joined(), to: .output)
        return .success
    }
}

// MARK: - list

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

// MARK: - verify

struct CacheVerifyCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Reads every response in a cache and reports damaged ones.",
        discussion: """
            The command compares the length and the SHA-256 of each body with the index, checks the index, and looks for files of the \
            cache that aren't in the index. Each problem is one line. A program that uses the cache never returns a damaged body: \
            it removes the response and fetches it again. So this command is only needed after trouble with the disk.

            EXAMPLES:
              Remove what is damaged:
                sluice cache verify --repair
              Count the problems by kind:
                sluice cache verify --json | jq -r 'select(.problem).problem' | sort | uniq -c

            The exit status is 9 if there was damage, even if it was repaired.
            """)

    @OptionGroup
    var cache: CacheOption

    @Flag(help: "Remove damaged responses and files that aren't in the index, and correct the sum of the sizes.")
    var `repair` = false

    @Flag(help: "Print one JSON object per line: one for each problem, then the numbers.")
    var json = false

    private struct Line: Encodable {
        var problem: String
        var url: String?
        var file: String
        var detail: String?
        var repaired: Bool
    }

    private struct Summary: Encodable {
        var entries: Int
        var bytes: Int64
        var problems: Int
        var repaired: Int
    }

    func run(_ console: Console) async throws -> ExitStatus {
        let result = try await cache.location(console).withDirectory { directory in
            try await directory.verify(isRepairing: `repair`) { problem in
                if json {
                    let line = Line(
                        problem: problem.kind.rawValue, url: problem.url.map(CacheTable.name(of:)),
                        file: problem.file.path(percentEncoded: false), detail: problem.detail,
                        repaired: problem.isRepaired)
                    if let text = try? CommandJSON.line(line) { await console.write(text, to: .output) }
                } else {
                    await console.write(TerminalText.sanitized(Self.text(for: problem)) + "\n", to: .output)
                }
            }
        }
        if json {
            let summary = Summary(
                entries: result.entries, bytes: result.bytes, problems: result.problems, repaired: result.repaired)
            await console.write(try CommandJSON.line(summary), to: .output)
        } else {
            await console.write(Self.text(for: result) + "\n", to: .output)
        }
        return result.problems == 0 ? .success : .content
    }

    private static func text(for problem: CacheDirectory.Problem) -> String {
        let subject = problem.url.map { "\(CacheTable.name(of: $0)) (\(problem.file.lastPathComponent))" }
        let text = "\(subject ?? problem.file.path(percentEncoded: false)): \(problem.kind.rawValue)"
        return text + (problem.detail.map { ": \($0)" } ?? "") + (problem.isRepaired ? ", repaired" : "")
    }

    private static func text(for result: CacheDirectory.Verification) -> String {
        let checked = "Checked \(Format.count(result.entries, "response")), \(Format.bytes(result.bytes))"
        guard result.problems > 0 else { return "\(checked): no damage." }
        let problems = "\(checked): \(Format.count(result.problems, "problem"))"
        let left = result.problems - result.repaired
        if result.repaired == 0 { return "\(problems). Pass --repair to remove damaged responses and stray files." }
        return left == 0
            ? "\(problems), all repaired." : "\(problems), \(left) not repaired. Remove the directory if they remain."
    }
}
