import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Downloads in segments` {
    @Test func `have no more connections to a host than its limit allows`() async throws {
        let content = bytes(1_000_000)
        try await downloading {
            .file(content, etag: "\"v1\"", request: $0)
        } during: { downloader, origin, directory in
            var downloader = downloader
            downloader.limits = .init(total: 4, perHost: 3)
            downloader.configuration.segments = .init(count: 3, minimumSize: 50_000)
            let names = (0..<6).map { "file-\($0)" }
            let summary = try await downloader.run(
                names.map { DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory) })
            #expect(summary.doneCount == 6)
            for name in names {
                #expect(try Data(contentsOf: directory.appending(path: name)) == Data(content))
            }
            #expect(origin.metrics.peak <= 3)
        }
    }

    @Test func `are retried and continued like others`() async throws {
        let content = bytes(1_000_000)
        try await downloading { request in
            .file(
                content, etag: "\"v1\"", request: request, sending: request.attempt <= 8 ? 120_000 : nil, then: .hangUp)
        } during: { downloader, origin, directory in
            var downloader = downloader
            downloader.configuration.segments = .init(count: 4, minimumSize: 50_000)
            downloader.configuration.retries = RetryPolicy(maximumRetries: 20)
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.doneCount == 1)
            #expect(try Data(contentsOf: directory.appending(path: "a")) == Data(content))
            #expect(try names(in: directory) == ["a"])
        }
    }

    @Test func `count as all their connections in a store that other processes share`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let shared = DownloadStore.sqlite(at: directory.appending(path: "queue.db"))
            for (perHost, count, inShared, inMemory) in [
                (8, 4, 2, 8), (8, 3, 2, 8), (2, 4, 1, 2), (nil, 4, nil, nil),
            ] as [(Int?, Int, Int?, Int?)] {
                for (store, expected) in [(shared, inShared), (.memory, inMemory)] {
                    var configuration = DownloadCoordinator.Configuration()
                    configuration.segments = .init(count: count)
                    let coordinator = DownloadCoordinator(
                        store: store, limits: .init(perHost: perHost), configuration: configuration)
                    #expect(coordinator.core.claimLimits.perHost == expected)
                    #expect(coordinator.core.segments.count == min(count, perHost ?? count))
                    try await coordinator.close()
                }
            }
            var configuration = DownloadCoordinator.Configuration()
            #expect(DownloadCoordinator(configuration: configuration).core.segments.count == 1)
            (configuration.segments, configuration.decodesContent) = (.init(count: 4), true)
            #expect(DownloadCoordinator(configuration: configuration).core.segments.count == 1)
        }
    }
}
