import ArgumentParser
import SluiceCache
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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

    /// Such as `4M`, for the help.
    var defaultValueDescription: String {
        let unit = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")].first { bytes >= $0.0 && bytes % $0.0 == 0 }
        return unit.map { "\(bytes / $0.0)\($0.1)" } ?? "\(bytes)"
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
