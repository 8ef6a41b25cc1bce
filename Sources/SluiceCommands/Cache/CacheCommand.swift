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
