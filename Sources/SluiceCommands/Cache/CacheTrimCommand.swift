import ArgumentParser
import SluiceCache

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
        help: .init("Remove the least recently used responses until the others take at most this.", valueName: "size"))
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
