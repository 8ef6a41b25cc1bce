#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceDownloads
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(10))) struct `A queue that announces changes` {
    /// Runs `body` while a store listens, and passes what it has announced.
    private static func listening(
        _ store: PostgresQueueStore, _ body: (Monitor<[QueueAnnouncement]>) async throws -> Void
    ) async throws {
        let heard = Monitor<[QueueAnnouncement]>([])
        let listening = Task { try await store.listen { news in heard.withState { $0.append(news) } } }
        try await heard.waitUnlessCancelled(where: { $0 == [.anything] })
        try await body(heard)
        listening.cancel()
        await #expect(throws: CancellationError.self) { try await listening.value }
    }

    @Test func `jobs to claim and jobs to stop are announced, claims and settlements aren't`() async throws {
        try await QueueFixture.with(workers: 2) { fixture async throws in
            let (one, other) = (fixture.stores[0], fixture.stores[1])
            try await Self.listening(one) { heard in
                let added = try await other.enqueue([.numbered(1), .numbered(2)], options: .init())
                try await heard.waitUnlessCancelled(where: { $0.last == .jobs })
                let worker = try await other.attach()
                let claim = JobClaim(worker: worker, count: 2, limits: .init(), lease: .seconds(3600))
                let claimed = try await other.exchange([], claiming: claim).claimed
                _ = try await other.exchange(
                    [JobSettlement(lease: claimed[0].lease, outcome: .done(bytes: 1))], claiming: nil)
                #expect(try await other.cancel(.ids([added[1].id])).cancelling == [added[1].id])
                try await heard.waitUnlessCancelled(where: { $0.count >= 3 })
                #expect(heard.state == [.anything, .jobs, .anything])
            }
        }
    }

    @Test func `a pooler in transaction mode, which loses them, is an error that says what to do`() async throws {
        try await QueueFixture.with(try Servers.pooler) { fixture async throws in
            let error = await #expect(throws: QueueStoreError.self) { try await fixture.store.listen { _ in } }
            #expect(error?.code == .other && error?.remedy?.contains("session mode") == true)
        }
    }
}
#endif
