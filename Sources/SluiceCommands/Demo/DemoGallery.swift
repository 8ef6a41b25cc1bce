import LoopbackOrigin
import SluiceCache
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads the demo's images through a ``ResourceCache`` three times: from the network, from memory and from disk.
struct DemoGallery: Sendable {
    let catalogue: DemoCatalogue
    let origin: LoopbackOrigin
    let files: FileIO

    struct Report: Sendable {
        /// One line, with the cache's own counts.
        var line: String
        /// Whether each pass was answered by the expected stage of the cache.
        var isAsExpected: Bool
        /// The names of images that had wrong bytes in any pass.
        var wrong: Set<String>
    }

    // The policy `immutable` never revalidates. The images don't change while the server runs.
    private static let configuration = ResourceCache.Configuration(concurrency: 8, policy: .immutable)

    func read() async throws -> Report {
        try await files.withTemporaryDirectory(prefix: "sluice-demo-cache") { directory in
            let images = catalogue.items.filter(\.isImage)
            let (first, firstWrong, secondWrong) = try await ResourceCache.withCache(
                directory: directory, configuration: Self.configuration, using: files
            ) { cache in
                // Two tasks ask for each image concurrently and wait for the same download.
                let firstWrong = try await read(images + images, through: cache)
                let early = cache.statistics.memoryHits
                let secondWrong = try await read(images, through: cache)
                var statistics = Counts(cache.statistics)
                statistics.memoryHits -= early
                return (statistics, firstWrong, secondWrong)
            }
            let (later, thirdWrong) = try await ResourceCache.withCache(
                directory: directory, configuration: Self.configuration, using: files
            ) { cache in
                let wrong = try await read(images, through: cache)
                return (Counts(cache.statistics), wrong)
            }
            let count = images.count
            return Report(
                line: """
                    Images   \(count) for \(count * 2) callers: \(first.fetched) from the network, \
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

    /// Returns the names of images with wrong bytes.
    private func read(_ images: [DemoCatalogue.Item], through cache: ResourceCache) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String?.self) { group in
            for image in images {
                group.addTask {
                    let data = try await cache.data(for: try URL(fetchable: origin.url("/files/\(image.name)")))
                    return data.elementsEqual(catalogue.content(of: image)) ? nil : image.name
                }
            }
            var wrong: Set<String> = []
            for try await name in group { if let name { wrong.insert(name) } }
            return wrong
        }
    }
}
