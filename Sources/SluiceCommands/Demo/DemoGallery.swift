import LoopbackOrigin
import SluiceCache
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The demo's pictures, read through a ``ResourceCache`` three times: from the network, from memory and from disk.
struct DemoGallery: Sendable {
    let catalogue: DemoCatalogue
    let origin: LoopbackOrigin
    let files: FileIO

    /// What came of it.
    struct Report: Sendable {
        /// One line, with the cache's own counts.
        var line: String
        /// Whether each pass was answered by the stage that it is for.
        var isAsExpected: Bool
        /// The names of pictures whose bytes were wrong in one pass or another.
        var wrong: Set<String>
    }

    /// What the cache keeps is never asked for again: these pictures do not change while the server runs.
    private static let configuration = ResourceCache.Configuration(concurrency: 8, policy: .immutable)

    func read() async throws -> Report {
        try await files.withTemporaryDirectory(prefix: "sluice-demo-cache") { folder in
            let pictures = catalogue.items.filter(\.isPicture)
            let (first, firstWrong, secondWrong) = try await withResourceCache(
                directory: folder, configuration: Self.configuration, using: files
            ) { cache in
                // Two at once ask for each: they wait for the same download.
                let firstWrong = try await read(pictures + pictures, through: cache)
                let early = cache.statistics.memoryHits
                let secondWrong = try await read(pictures, through: cache)
                var statistics = Counts(cache.statistics)
                statistics.memoryHits -= early
                return (statistics, firstWrong, secondWrong)
            }
            let (later, thirdWrong) = try await withResourceCache(
                directory: folder, configuration: Self.configuration, using: files
            ) { cache in
                let wrong = try await read(pictures, through: cache)
                return (Counts(cache.statistics), wrong)
            }
            let count = pictures.count
            return Report(
                line: """
                    Pictures \(count) read through the cache: \(first.fetched) from the network for \(count * 2) callers, \
                    \(first.memoryHits) from memory, \(later.diskHits) from disk
                    """,
                isAsExpected: first == Counts(fetched: count, memoryHits: count, diskHits: 0)
                    && later == Counts(fetched: 0, memoryHits: 0, diskHits: count),
                wrong: firstWrong.union(secondWrong).union(thirdWrong))
        }
    }

    private struct Counts: Equatable, Sendable {
        var fetched: Int
        var memoryHits: Int
        var diskHits: Int

        init(fetched: Int, memoryHits: Int, diskHits: Int) {
            self.fetched = fetched
            self.memoryHits = memoryHits
            self.diskHits = diskHits
        }

        init(_ statistics: ResourceCache.Statistics) {
            self.init(
                fetched: statistics.fetched, memoryHits: statistics.memoryHits, diskHits: statistics.diskHits)
        }
    }

    /// Reads the pictures, all at once, and returns the names of those that are not what they should be.
    private func read(_ pictures: [DemoCatalogue.Item], through cache: ResourceCache) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String?.self) { group in
            for picture in pictures {
                group.addTask {
                    let data = try await cache.data(for: try URL(fetchable: origin.url("/files/\(picture.name)")))
                    return data.elementsEqual(catalogue.content(of: picture)) ? nil : picture.name
                }
            }
            var wrong: Set<String> = []
            for try await name in group { if let name { wrong.insert(name) } }
            return wrong
        }
    }
}
