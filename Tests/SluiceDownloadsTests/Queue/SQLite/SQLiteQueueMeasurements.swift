import Foundation
import GRDB
import Testing

@testable import SluiceDownloads

/// What the design promises, measured: prints, asserts nothing. `SLUICE_MEASURE=1 swift test -c release …`
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["SLUICE_MEASURE"] != nil))
struct SQLiteQueueMeasurements {
    private func median(_ count: Int, _ body: (Int) async throws -> Void) async throws -> Duration {
        var times: [Duration] = []
        for index in 0..<count { times.append(try await ContinuousClock().measure { try await body(index) }) }
        return times.sorted()[count / 2]
    }

    @Test(arguments: [1, 100, 10_000])
    func `with a hundred thousand jobs waiting`(_ lanes: Int) async throws {
        try await withQueueFile { url in
            let store = try await SQLiteQueueStore.open(at: url)
            let worker = try await store.attach()
            let requests = (0..<100_000).map { DownloadRequest.named("\($0)", user: "u\($0 % lanes)") }
            _ = try await store.enqueue(requests, options: .init())
            let limits = DownloadLimits(total: 8, perHost: nil, perUser: 1)
            var held: [JobSettlement] = []
            let exchange = try await median(lanes > 1000 ? 21 : 201) { _ in
                let claim = JobClaim(worker: worker, count: 1, limits: limits, lease: .seconds(60))
                let answer = try await store.exchange(held, claiming: claim)
                held = answer.claimed.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            }
            let enqueue = try await median(11) { round in
                _ = try await store.enqueue(
                    (0..<500).map { .named("n\(round)-\($0)", user: "u\($0 % lanes)") }, options: .init())
            }
            let snapshot = try await median(11) { _ in _ = try await store.snapshot(listing: 100) }
            print("MEASURED lanes \(lanes): exchange \(exchange), enqueue of 500 \(enqueue), snapshot \(snapshot)")
            try await store.close()
        }
    }
}
