import Foundation
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Queues that are copied` {
    private static let kinds = StoreKind.allCases.filter { $0 != .memory }

    private func claim(_ store: any QueueStore, _ worker: QueueWorker, _ count: Int) async throws -> [ClaimedJob] {
        let limits = DownloadCoordinator.Limits(total: 99, perHost: nil)
        return try await store.exchange(
            [], claiming: JobClaim(worker: worker, count: count, limits: limits, lease: .seconds(60))
        ).claimed
    }

    private func withStores(
        _ kind: StoreKind, _ other: StoreKind,
        _ body: (_ old: any CopyableQueue, _ new: any CopyableQueue) async throws -> Void
    ) async throws {
        try await StoreFixture.with(kind) { old in
            try await StoreFixture.with(other) { new in
                try await body(#require(old.store as? any CopyableQueue), #require(new.store as? any CopyableQueue))
            }
        }
    }

    @Test(arguments: kinds)
    func `the unfinished jobs come in pages, without those that are being cancelled`(_ kind: StoreKind) async throws {
        try await withStores(kind, kind) { old, _ in
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

    @Test(arguments: kinds, kinds)
    func `a copied job has the failures, and a running one waits`(
        _ kind: StoreKind, _ other: StoreKind
    ) async throws {
        try await withStores(kind, other) { old, new in
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

    @Test(arguments: kinds, kinds)
    func `members that the other queue has keep their pauses, and new ones bring theirs`(
        _ kind: StoreKind, _ other: StoreKind
    ) async throws {
        try await withStores(kind, other) { old, new in
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

    @Test(arguments: kinds, kinds)
    func `done jobs stay done, other URLs of a file are conflicts, and the members keep their order`(
        _ kind: StoreKind, _ other: StoreKind
    ) async throws {
        try await withStores(kind, other) { old, new in
            _ = try await old.enqueue(
                [.named("a", user: "ann", priority: 1), .named("b"), .named("c")], options: .init())
            _ = try await old.enqueue([.named("a", user: "bob", priority: 7)], options: .init(batch: "x"))
            _ = try await new.enqueue([.named("b")], options: .init())
            let done = try await claim(new, new.attach(), 1)[0]
            _ = try await new.exchange([JobSettlement(lease: done.lease, outcome: .done(bytes: 1))], claiming: nil)
            let rival = try await new.enqueue([.named("c", host: "rival.example")], options: .init())[0]
            let jobs = try await new.add(old.unfinished(after: JobID(rawValue: .min), atMost: 9))
            #expect(
                jobs.map(\.outcome) == [
                    .added, .kept, .conflict(with: DownloadRequest.named("c", host: "rival.example").url),
                ])
            #expect(jobs[1].id == done.lease.job && jobs[2].id == rival.id)
            let copied = try #require(try await new.jobs([jobs[0].id]).first)
            #expect(copied.members == [.init(user: "ann", priority: 1), .init(user: "bob", batch: "x", priority: 7)])
            #expect(try await claim(new, new.attach(), 9).map(\.request.name) == ["a", "c"])
            #expect(try await new.cancel(.batch("x")).continuing == [jobs[0].id])
        }
    }
}
