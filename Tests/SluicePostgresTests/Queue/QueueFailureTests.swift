#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceDownloads
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(10))) struct `A queue whose server fails` {
    private static let limits = DownloadCoordinator.Limits(total: 4, perHost: nil)

    @Test func `a server that is killed while workers work loses no job, and no job is settled twice`() async throws {
        try await Servers.withMortal { url in
            try await QueueFixture.with(url, workers: 4) { fixture async throws in
                let added = try await fixture.store.enqueue((0..<600).map { .numbered($0) }, options: .init())
                let settled = Monitor<[JobID]>([])
                try await withThrowingTaskGroup { group in
                    for store in fixture.stores {
                        group.addTask { try await Self.workOff(store, settled) }
                    }
                    group.addTask {
                        for round in 1...3 {
                            try await settled.waitUnlessCancelled(where: { $0.count >= round * 100 })
                            try await Servers.control("kill")
                            try await Servers.control("start")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(settled.state.sorted() == added.map(\.id))
                #expect(try await fixture.store.snapshot(listing: 0).counts == [.done: 600])
                let events = try await fixture.store.events(after: nil, atMost: 100_000)
                #expect(events.map(\.id.rawValue) == Array(1...Int64(events.count)))
                #expect(events.filter { $0.kind == .done }.map(\.job).sorted() == added.map(\.id))
            }
        }
    }

    /// Claims and settles until the queue is empty, and notes each accepted settlement.
    private static func workOff(_ store: PostgresQueueStore, _ settled: Monitor<[JobID]>) async throws {
        let worker = try await store.attach()
        var held: [ClaimedJob] = []
        while true {
            let settlements = held.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            // A lease that a crash has undone is refused, and its job is claimed again.
            let exchange = try await store.exchange(
                settlements,
                claiming: JobClaim(worker: worker, count: 1, limits: limits, lease: .seconds(3600)))
            for job in held where !exchange.refused.contains(job.lease) {
                settled.withState { $0.append(job.lease.job) }
            }
            held = exchange.claimed
            if exchange.isEmpty { break }
        }
        try await store.detach(worker)
    }

    @Test func `an exchange whose commit had no answer is recognized when it runs again`() async throws {
        try await QueueFixture.with { fixture async throws in
            let (store, worker) = (fixture.store, try await fixture.store.attach())
            _ = try await store.enqueue((0..<4).map { .numbered($0) }, options: .init())
            let claim = JobClaim(worker: worker, count: 2, limits: Self.limits, lease: .seconds(3600))
            let claimed = try await store.exchange([], claiming: claim).claimed
            let settlements = claimed.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            let first = try await store.exchange(settlements, claim, token: 1_000, isAgain: false)
            #expect(first.refused == [] && first.claimed.map(\.lease.token) == [1_001, 1_002])
            let again = try await store.exchange(settlements, claim, token: 1_000, isAgain: true)
            #expect(again.refused == [] && again.claimed == first.claimed)
            let late = try await store.exchange(settlements, claim, token: 2_000, isAgain: false)
            #expect(late.refused == settlements.map(\.lease) && late.claimed == [])
        }
    }

    @Test func `the errors name what to do and never the password`() async throws {
        let cases: [(url: String, code: QueueStoreError.Code)] = [
            ("postgres://me:secret-word@127.0.0.1:1/queue", .unavailable),
            ("mysql://me:secret-word@127.0.0.1/queue", .unusable),
            (try Servers.url { $0.password = "secret-word" }, .notWritable),
            (try Servers.url { $0.path = "/missing" }, .unusable),
        ]
        for (url, code) in cases {
            let store = DownloadStore.postgres(url).queue
            let error = await #expect(throws: QueueStoreError.self) { try await store.attach() }
            #expect(error?.code == code, "\(String(describing: error))")
            #expect(error?.remedy != nil)
            #expect(!"\(String(describing: error)) \(String(reflecting: error))".contains("secret-word"))
            try await store.close()
        }
    }

    @Test func `secrets are refused`() async throws {
        try await QueueFixture.with { fixture in
            var request = DownloadRequest.numbered(1)
            request.url = URL(string: "https://me:secret-word@host.example/1")!
            let error = await #expect(throws: QueueStoreError.self) {
                try await fixture.store.enqueue([request], options: .init())
            }
            #expect(error?.code == .passwordNotStored && error?.description.contains("secret-word") == false)
        }
    }
}
#endif
