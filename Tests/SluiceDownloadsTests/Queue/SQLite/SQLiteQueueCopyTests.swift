import Foundation
import SluiceDatabase
import SluiceFiles
import Testing

@testable import SluiceDownloads

@Suite struct `SQLite queues that are copied` {
    private func claim(_ store: SQLiteQueueStore, _ worker: QueueWorker, _ count: Int) async throws -> [ClaimedJob] {
        let limits = DownloadCoordinator.Limits(total: 99, perHost: nil)
        return try await store.exchange(
            [], claiming: JobClaim(worker: worker, count: count, limits: limits, lease: .seconds(60))
        ).claimed
    }

    private func withStores(
        _ body: (_ old: SQLiteQueueStore, _ new: SQLiteQueueStore) async throws -> Void
    ) async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let old = try await SQLiteQueueStore.open(at: url, time: time.queueTime)
            let new = try await SQLiteQueueStore.open(
                at: url.deletingLastPathComponent().appending(path: "new.db"), time: time.queueTime)
            try await body(old, new)
            try await old.close()
            try await new.close()
        }
    }

    @Test func `the unfinished jobs come in pages, without those that are being cancelled`() async throws {
        try await withStores { old, _ in
            _ = try await old.enqueue((0..<7).map { .named("\($0)") }, options: .init())
            let claimed = try await claim(old, old.attach(), 3)
            _ = try await old.exchange(
                [JobSettlement(lease: claimed[0].lease, outcome: .done(bytes: 1))], claiming: nil)
            _ = try await old.cancel(.ids([claimed[1].lease.job]))
            _ = try await old.pause(.ids([JobID(rawValue: 5)]))
            var pages: [[String]] = []
            var latest = JobID(rawValue: .min)
            repeat {
                let page = try await old.unfinished(after: latest, atMost: 2)
                pages.append(page.map(\.request.name))
                latest = page.last?.id ?? latest
            } while pages.last != []
            #expect(pages == [["2", "3"], ["4", "5"], ["6"], []])
        }
    }

    @Test func `a copied job has the failures, and a running one waits`() async throws {
        try await withStores { old, new in
            _ = try await old.enqueue([.named("a", user: "ann"), .named("b")], options: .init(batch: "x"))
            let claimed = try await claim(old, old.attach(), 2)
            let retry = JobSettlement(lease: claimed[1].lease, outcome: .retry(after: .seconds(5), message: "slow"))
            _ = try await old.exchange([retry], claiming: nil)
            let jobs = try await new.add(old.unfinished(after: JobID(rawValue: .min), atMost: 9))
            #expect(jobs.map(\.outcome) == [.added, .added])
            let snapshot = try await new.snapshot(listing: 9)
            #expect(snapshot.waiting.map(\.failureCount) == [0, 1] && snapshot.count(.waiting) == 2)
            #expect(try await claim(new, new.attach(), 9).map(\.failures) == [0, 1])
        }
    }

    @Test func `members that the other queue has keep their pauses, and new ones bring theirs`() async throws {
        try await withStores { old, new in
            _ = try await old.enqueue([.named("a", user: "ann")], options: .init())
            _ = try await old.enqueue([.named("a", user: "bob")], options: .init())
            _ = try await old.pause(.user("bob"))
            _ = try await new.enqueue([.named("a", user: "ann")], options: .init())
            _ = try await new.pause(.user("ann"))
            for _ in 0..<2 {
                let jobs = try await new.add(old.unfinished(after: JobID(rawValue: .min), atMost: 9))
                #expect(jobs.map(\.outcome) == [.joined])
                let job = try #require(try await new.snapshot(listing: 9).paused.first)
                #expect(
                    job.members == [.init(user: "ann", isPaused: true), .init(user: "bob", isPaused: true)])
            }
            // The lines of the copied members are right: each can be claimed.
            #expect(try await new.resume(.user("bob")).count == 1)
            #expect(try await claim(new, new.attach(), 9).map(\.request.user) == ["bob"])
        }
    }
}
