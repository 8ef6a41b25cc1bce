#if PostgreSQL
import Foundation
import SluiceDownloads
import SluicePostgres
import TestSupport
import Testing

/// Delays and leases are measured by the server's clock, which a test sets here.
@Suite(.needsPostgres, .timeLimit(.minutes(5))) struct `A server whose clock is set` {
    /// A queue with two jobs, and two workers with leases of a minute.
    private static func withClock(
        _ test: @Sendable (Guarded<Int64>, PostgresQueueStore, _ workers: [QueueWorker]) async throws -> Void
    ) async throws {
        let now = Guarded<Int64>(10_000_000)
        try await QueueFixture.with(time: QueueTime { now.withLock { $0 } }) { fixture in
            let store = fixture.store
            _ = try await store.enqueue([.numbered(1), .numbered(2)], options: .init())
            try await test(now, store, [try await store.attach(), try await store.attach()])
        }
    }

    private static func claim(
        _ store: PostgresQueueStore, _ worker: QueueWorker, count: Int = 1
    ) async throws -> JobExchange {
        let limits = DownloadCoordinator.Limits(total: 9, perHost: nil)
        return try await store.exchange(
            [], claiming: JobClaim(worker: worker, count: count, limits: limits, lease: .seconds(60)))
    }

    @Test func `forward: all leases are over, and their tokens record nothing more`() async throws {
        try await Self.withClock { now, store, workers in
            let lost = try await Self.claim(store, workers[0]).claimed[0]
            now.withLock { $0 += 3_600_000 }
            #expect(try await Self.claim(store, workers[1], count: 2).claimed.count == 2)
            let late = JobSettlement(lease: lost.lease, outcome: .done(bytes: 1))
            #expect(try await store.exchange([late], claiming: nil).refused == [lost.lease])
            #expect(try await store.renew(workers[0], lease: .seconds(60)) == [])
        }
    }

    @Test func `back: leases are renewed as before`() async throws {
        try await Self.withClock { now, store, workers in
            let held = try await Self.claim(store, workers[0]).claimed[0]
            now.withLock { $0 -= 3_600_000 }
            #expect(try await store.renew(workers[0], lease: .seconds(60)).map(\.lease) == [held.lease])
            #expect(try await Self.claim(store, workers[1], count: 2).claimed.count == 1)
            #expect(try await store.renew(workers[0], lease: .seconds(60)).map(\.lease) == [held.lease])
        }
    }

    @Test func `back: the job of a dead worker is claimed after the time of a lease`() async throws {
        try await Self.withClock { now, store, workers in
            let lost = try await Self.claim(store, workers[0]).claimed[0]
            now.withLock { $0 -= 3_600_000 }
            #expect(try await Self.claim(store, workers[1]).claimed.count == 1)
            let exchange = try await Self.claim(store, workers[1])
            #expect(exchange.claimed == [] && exchange.nextDue == .seconds(60))
            now.withLock { $0 += 60_000 }
            let claimed = try await Self.claim(store, workers[1], count: 2).claimed
            #expect(claimed.map(\.lease.job).contains(lost.lease.job))
        }
    }

    @Test func `back: a delay lasts until the clock has the time again`() async throws {
        try await Self.withClock { now, store, workers in
            let claimed = try await Self.claim(store, workers[0]).claimed[0]
            let retry = JobSettlement(lease: claimed.lease, outcome: .retry(after: .seconds(5), message: "slow"))
            _ = try await store.exchange([retry], claiming: nil)
            now.withLock { $0 -= 3_600_000 }
            #expect(try await Self.claim(store, workers[1], count: 2).claimed.count == 1)
            now.withLock { $0 += 3_605_000 }
            let again = try await Self.claim(store, workers[1], count: 2).claimed
            #expect(again.map(\.lease.job).contains(claimed.lease.job))
        }
    }
}
#endif
