import ArgumentParser
import SluiceCache
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
