import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceDownloads

/// All counted by the servers: a client's own count of its requests proves nothing.
@Suite struct `Limits as the servers count them` {
    enum Store: CaseIterable { case memory, sqlite }

    private func open(_ kind: Store, in folder: URL) async throws -> any QueueStore {
        switch kind {
        case .memory: MemoryQueueStore()
        case .sqlite: try await SQLiteQueueStore.open(at: folder.appending(path: "queue.db"))
        }
    }

    /// The user that a request is for: the first part of its path.
    @Sendable private static func user(_ request: OriginRequest) -> String? {
        request.target.split(separator: "/").first.map(String.init)
    }

    @Sendable private static func answer(_ request: OriginRequest) async -> OriginResponse {
        OriginResponse(body: bytes(300), delay: .milliseconds(3))
    }

    @Test(arguments: Store.allCases) func `in total, per host and per user, all at once`(kind: Store) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { folder in
            try await LoopbackOrigin.serve(groupedBy: Self.user, Self.answer) { one in
                try await LoopbackOrigin.serve(groupedBy: Self.user, Self.answer) { other in
                    let store = try await open(kind, in: folder)
                    try await HTTPTransport.withTransport { transport in
                        let downloads = DownloadCoordinator(
                            store: store, transport: transport, limits: .init(total: 5, perHost: 3, perUser: 2),
                            configuration: .init(durability: .none))
                        var requests: [DownloadRequest] = []
                        for number in 0..<120 {
                            let user = "user-\(number % 4)"
                            let origin = number % 3 == 0 ? one : other
                            requests.append(
                                DownloadRequest(
                                    try URL(fetchable: origin.url("/\(user)/\(number)")),
                                    to: folder.appending(path: "files", directoryHint: .isDirectory), user: user))
                        }
                        let summary = try await downloads.download(requests)
                        #expect(summary.done == 120 && summary.isComplete)
                    }
                    try await store.close()
                    let metrics = [one.metrics, other.metrics]
                    #expect(metrics.map(\.requests) == [40, 80])
                    #expect(metrics.allSatisfy { $0.peak <= 3 })
                    for user in 0..<4 {
                        // Each server's own peak; both at once are bounded by the sum at one moment, see below.
                        #expect(metrics.allSatisfy { $0.peakByGroup["user-\(user)", default: 0] <= 2 })
                    }
                }
            }
        }
    }

    @Test(arguments: [1, 2]) func `a user has no more at once than allowed, over coordinators that share a queue`(
        perUser: Int
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { folder in
            try await LoopbackOrigin.serve(groupedBy: Self.user, Self.answer) { origin in
                let file = folder.appending(path: "queue.db")
                let stores = [
                    try await SQLiteQueueStore.open(at: file), try await SQLiteQueueStore.open(at: file),
                    try await SQLiteQueueStore.open(at: file),
                ]
                try await HTTPTransport.withTransport { transport in
                    let coordinators = stores.map { store in
                        DownloadCoordinator(
                            store: store, transport: transport, limits: .init(total: 4, perHost: nil, perUser: perUser),
                            configuration: .init(durability: .none))
                    }
                    let requests = try (0..<90).map { number in
                        DownloadRequest(
                            try URL(fetchable: origin.url("/user-\(number % 5)/\(number)")),
                            to: folder.appending(path: "files", directoryHint: .isDirectory),
                            user: "user-\(number % 5)")
                    }
                    try await coordinators[0].enqueue(requests)
                    try await withThrowingTaskGroup { group in
                        for coordinator in coordinators {
                            group.addTask { try await coordinator.run(until: .whenEmpty) }
                        }
                        try await group.waitForAll()
                    }
                    let snapshot = try await coordinators[0].snapshot()
                    #expect(snapshot.count(.done) == 90 && snapshot.open == 0)
                }
                for store in stores { try await store.close() }
                let metrics = origin.metrics
                #expect(metrics.requests == 90, "each once")
                #expect(metrics.peak <= 4)
                #expect(metrics.peakByGroup.count == 5)
                #expect(metrics.peakByGroup.values.allSatisfy { $0 <= perUser })
                #expect(try names(in: folder).filter { $0.contains("-worker-") }.isEmpty)
            }
        }
    }
}
