import ArgumentParser
import NativeMark
import SluiceCache
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
