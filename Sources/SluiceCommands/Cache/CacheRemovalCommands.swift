import ArgumentParser
import SluiceCache
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - trim

struct CacheTrimCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract: "Removes old, stale or the least recently used responses from a cache.",
        discussion: """
            At least one option says what to remove. Several apply one after another: first --older-than, then --stale, then --size. \
            A stale response is still useful, because a server that confirms it sends no body.

            EXAMPLES:
              Make room:
                sluice cache trim --size 100M
              Remove what wasn't used for a month:
                sluice cache trim --older-than 30d

            A SIZE has a unit: k, M, G or T (powers of 1000), or Ki, Mi, Gi or Ti (of 1024). The limit of the cache isn't changed.
            """)

    @OptionGroup
    var cache: CacheOption

    @Option(
        help: .init(
            "Remove the least recently used responses until the rest takes at most this much.", valueName: "size"))
    var size: ByteCount?

    @Option(
        help: .init("Remove responses that weren't used for this time, such as 12h, 30d or 4w.", valueName: "time"))
    var olderThan: TimeSpan?

    @Flag(help: "Remove responses that aren't fresh.")
    var stale = false

    @Flag(help: .init(stringLiteral: CacheHelp.json))
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        guard size != nil || olderThan != nil || stale else {
            throw CommandFailure(
                .usage,
                "No limit given. Pass --size, --older-than or --stale. See 'sluice cache trim --help'.")
        }
        return try await CacheRemoval.run(cache.location(console), isJSON: json, console) { directory in
            var removed = 0
            if let olderThan {
                removed += try await directory.removeUnused(
                    since: Date.now.addingTimeInterval(-Double(olderThan.seconds)))
            }
            if stale { removed += try await directory.removeStale() }
            if let size { removed += try await directory.trim(toBytes: size.bytes) }
            return CacheRemoval(removed: removed)
        }
    }
}

/// A number of bytes as an argument, such as `500k`, `100M`, `1.5GB` or `2GiB`.
struct ByteCount: ExpressibleByArgument, Sendable, Equatable {
    var bytes: Int64

    init?(argument: String) {
        let units: [(name: String, factor: Double)] = [
            ("", 1), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("ki", 1024), ("mi", 1_048_576),
            ("gi", 1_073_741_824), ("ti", 1_099_511_627_776),
        ]
        var text = argument.lowercased()[...]
        if text.hasSuffix("b") { text.removeLast() }
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let number = Double(digits), let factor = units.first(where: { $0.name == unit })?.factor,
            number * factor <= 1e18
        else { return nil }
        bytes = Int64(number * factor)
    }
}

/// A time as an argument, such as `90s`, `45m`, `12h`, `30d` or `4w`.
struct TimeSpan: ExpressibleByArgument, Sendable, Equatable {
    var seconds: Int64

    init?(argument: String) {
        let factors: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let factor = argument.last.flatMap({ factors[$0] }), argument.utf8.count <= 10,
            argument.dropLast().utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int64(argument.dropLast())
        else { return nil }
        seconds = number * factor
    }
}

// MARK: - remove

struct CacheRemoveCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes responses from a cache: by URL, or all of them.",
        discussion: """
            All variants of a URL are removed. Write a URL with its query, which 'sluice cache list' doesn't show.

            EXAMPLES:
              Fetch a page again the next time:
                sluice cache remove https://example.com/news.html
              Remove everything from a site:
                sluice cache remove 'https://example.com/*'
              Empty the cache:
                sluice cache remove --all

            If the cache has no response of a URL, the others are removed and the status is 1. The directory itself stays.
            """)

    @OptionGroup
    var cache: CacheOption

    @Flag(help: "Remove all responses.")
    var all = false

    @Flag(help: .init(stringLiteral: CacheHelp.json))
    var json = false

    @Argument(help: .init("The URLs to remove, or with a * patterns of whole URLs.", valueName: "url"))
    var urls: [String] = []

    func run(_ console: Console) async throws -> ExitStatus {
        guard all != !urls.isEmpty else {
            let problem =
                all ? "--all and URLs can't be combined. Use only one." : "No URLs given. Pass URLs, or --all."
            throw CommandFailure(.usage, "\(problem) See 'sluice cache remove --help'.")
        }
        let selected = try selected()
        return try await CacheRemoval.run(cache.location(console), isJSON: json, console) { directory in
            if all { return CacheRemoval(removed: try await directory.removeAll()) }
            var removal = CacheRemoval()
            for (name, url) in selected {
                let count: Int
                if let url {
                    count = try await directory.remove(url)
                } else {
                    count = try await directory.remove(matching: CacheDirectory.Pattern(name))
                }
                if count == 0 {
                    let subject = url?.redactedForDisplay ?? name
                    await console.report(
                        "\(subject): The cache has no such response. Look it up with 'sluice cache list'.")
                    removal.missing += 1
                }
                removal.removed += count
            }
            return removal
        }
    }

    /// Returns the arguments, each with its URL, or with `nil` if it is a pattern.
    private func selected() throws(CommandFailure) -> [(String, URL?)] {
        var selected: [(String, URL?)] = []
        var problems: [String] = []
        for text in urls {
            do throws(URLRefusal) {
                selected.append((text, text.contains("*") ? nil : try URL(fetchable: text)))
            } catch {
                problems.append("\(error)")
            }
        }
        guard problems.isEmpty else { throw CommandFailure(.usage, lines: problems) }
        return selected
    }
}

// MARK: - Shared by both commands

/// What a command has removed from a cache.
private struct CacheRemoval: Sendable {
    /// The number of removed responses.
    var removed = 0
    /// The number of arguments that matched no response.
    var missing = 0

    private struct Report: Encodable {
        var removed: Int
        var entries: Int
        var bytes: Int64
    }

    /// Removes responses with `body`, and prints how many and what is left.
    static func run(
        _ location: CacheLocation, isJSON: Bool, _ console: Console,
        _ body: (CacheDirectory) async throws -> CacheRemoval
    ) async throws -> ExitStatus {
        let (removal, left) = try await location.withDirectory { directory in
            (try await body(directory), try await directory.size())
        }
        if isJSON {
            let report = Report(removed: removal.removed, entries: left.entries, bytes: left.bytes)
            await console.writeWhole(try CommandJSON.line(report), to: .output)
        } else {
            let removed = Format.count(removal.removed, "response")
            let rest = left.entries == 0 ? "none is left" : "\(left.entries) with \(Format.bytes(left.bytes)) left"
            await console.writeWhole("Removed \(removed), \(rest).\n", to: .output)
        }
        return removal.missing == 0 ? .success : .other
    }
}
