import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceDownloads

/// The servers do the counting, because a client's own count of its requests proves nothing.
@Suite(.timeLimit(.minutes(15))) struct `Limits, as counted by the servers` {
    enum Store: CaseIterable { case memory, sqlite }

    private func open(_ kind: Store, in directory: URL) async throws -> any QueueStore {
        switch kind {
        case .memory: MemoryQueueStore()
        case .sqlite: try await SQLiteQueueStore.open(at: directory.appending(path: "queue.db"))
        }
    }

    /// The user that a request is for, the first part of its path, and the host that it names.
    @Sendable private static func groups(_ request: OriginRequest) -> [String] {
        let user = request.target.split(separator: "/").first.map(String.init) ?? ""
        return [user, request.headerFields[HTTPField.Name("Host")!] ?? "no host"]
    }

    private static func answer(_ gate: Gate) -> LoopbackOrigin.Handler {
        { _ in
            await gate.pass()
            return OriginResponse(body: bytes(300))
        }
    }

    /// Prints what the server saw, for readers of the log.
    private func show(_ metrics: LoopbackOrigin.Metrics, _ name: String) {
        let groups = metrics.peakByGroup.sorted { $0.key < $1.key }.map { "\($0) \($1)" }.joined(separator: ", ")
        print("limits, \(name): \(metrics.requests) requests, at most \(metrics.peak) concurrent; \(groups)")
    }

    @Test(arguments: Store.allCases) func `total, host and user limits hold together`(kind: Store) async throws {
        let gate = Gate()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve(groupedBy: Self.groups, Self.answer(gate)) { origin in
                let store = try await open(kind, in: directory)
                try await withPatientTransport { transport in
                    let downloads = DownloadCoordinator(
                        store: DownloadStore(store), transport: transport,
                        limits: .init(total: 5, perHost: 3, perUser: 2),
                        configuration: .init(durability: .none, lease: .seconds(3600)))
                    // One server under two names, so its count covers both hosts.
                    let hosts = ["127.0.0.1:\(origin.port)", "localhost:\(origin.port)"]
                    let requests = try (0..<180).map { number in
                        let user = "user-\(number % 4)"
                        return DownloadRequest(
                            try URL(fetchable: "http://\(hosts[number / 4 % 2])/\(user)/\(number)"),
                            to: directory.appending(path: "files", directoryHint: .isDirectory), user: user)
                    }
                    async let held: Void = expect(5, heldAt: gate, by: origin)
                    let summary = try await downloads.download(requests)
                    try await held
                    #expect(summary.doneCount == 180 && summary.isComplete)
                }
                try await store.close()
                let metrics = origin.metrics
                show(metrics, "\(kind), total 5, per host 3, per user 2")
                #expect(metrics.requests == 180)
                // Each limit is reached and never exceeded. A limit that isn't reached proves nothing.
                let users = metrics.peakByGroup.filter { $0.key.hasPrefix("user") }.values
                let hosts = metrics.peakByGroup.filter { !$0.key.hasPrefix("user") }.values
                #expect(metrics.peak == 5)
                #expect(users.max() == 2 && hosts.max() == 3)
                #expect(metrics.peakByGroup.count == 6)
            }
        }
    }

    @Test(arguments: [1, 2]) func `a user's limit holds across coordinators that share a queue`(
        perUser: Int
    ) async throws {
        let gate = Gate()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve(groupedBy: Self.groups, Self.answer(gate)) { origin in
                let file = directory.appending(path: "queue.db")
                let stores = [
                    try await SQLiteQueueStore.open(at: file), try await SQLiteQueueStore.open(at: file),
                    try await SQLiteQueueStore.open(at: file),
                ]
                try await withPatientTransport { transport in
                    let coordinators = stores.map { store in
                        DownloadCoordinator(
                            store: DownloadStore(store), transport: transport,
                            limits: .init(total: 4, perHost: nil, perUser: perUser),
                            configuration: .init(durability: .none, lease: .seconds(3600)))
                    }
                    let requests = try (0..<90).map { number in
                        DownloadRequest(
                            try URL(fetchable: origin.url("/user-\(number % 5)/\(number)")),
                            to: directory.appending(path: "files", directoryHint: .isDirectory),
                            user: "user-\(number % 5)")
                    }
                    try await coordinators[0].enqueue(requests)
                    try await withThrowingTaskGroup { group in
                        group.addTask { try await expect(4, heldAt: gate, by: origin) }
                        for coordinator in coordinators {
                            group.addTask { try await coordinator.run(until: .whenEmpty) }
                        }
                        try await group.waitForAll()
                    }
                    let snapshot = try await coordinators[0].snapshot()
                    #expect(snapshot.count(in: .done) == 90 && snapshot.openCount == 0)
                }
                for store in stores { try await store.close() }
                let metrics = origin.metrics
                show(metrics, "three coordinators on one file, total 4, per user \(perUser)")
                #expect(metrics.requests == 90, "each once")
                #expect(metrics.peak == 4)
                let users = metrics.peakByGroup.filter { $0.key.hasPrefix("user") }
                #expect(users.count == 5 && users.values.allSatisfy { $0 <= perUser })
                #expect(try names(in: directory).filter { $0.contains("-worker-") }.isEmpty)
            }
        }
    }
}
