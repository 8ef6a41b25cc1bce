import Foundation
import HTTPTypes
import SluiceHTTP
import Testing

@testable import SluiceDownloads

@Suite struct `Enqueuing in a store` {
    /// Names that can't be compressed, so that a server's index stores them in full.
    private static func name(_ length: Int) -> String {
        String((0..<length).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement()! })
    }

    @Test(arguments: StoreKind.allCases)
    func `names up to the limit are kept, and persistent stores refuse longer ones`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (user, batch, host) = (Self.name(500), Self.name(500), Self.name(3000) + ".example")
            let id = try await fixture.add("a", host: host, user: user, batch: batch)
            #expect(try await fixture.job(id)?.members == [.init(user: user, batch: batch, priority: 0)])
            #expect(try await fixture.claimNames(limits: .init(total: 1, perUser: 1), batch: batch) == ["a"])
            #expect(try await fixture.store.pause(.user(user)).pausing == [id])
            #expect(try await fixture.store.cancel(.batch("a\0b")) == JobChange())
            guard kind != .memory else { return }
            for (user, batch) in [(Self.name(501), "b"), ("u", Self.name(501)), ("u\0", "b"), ("u", "\0")] {
                let error = await #expect(throws: QueueStoreError.self) {
                    try await fixture.add("b", user: user, batch: batch)
                }
                #expect(error?.code == .nameNotStored)
            }
            #expect(try await fixture.counts() == [.running: 1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `enqueuing an empty list stores nothing`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture async throws in
            #expect(try await fixture.store.enqueue([], options: .init(batch: "empty")).isEmpty)
            #expect(try await fixture.counts().isEmpty)
            #expect(try await fixture.takeTurn(claiming: 1, batch: "empty").isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `new jobs get greater numbers, even after all jobs were removed`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let first = try await fixture.store.enqueue([.named("a"), .named("b")], options: .init())
            #expect(first.map(\.admission) == [.added, .added])
            #expect(first[0].id < first[1].id)
            _ = try await fixture.store.cancel(.all)
            try await fixture.store.prune(olderThan: .zero, keeping: 0)
            #expect(try await fixture.add("a") > first[1].id)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `checksums and mirrors are kept, and those of a request that joins count from then on`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (first, second) = (URL(string: "https://b.example/x?y=1,2"), URL(string: "https://c.example/%0A"))
            let (one, other) = (String(repeating: "1", count: 64), String(repeating: "2", count: 64))
            var request = DownloadRequest.named("a")
            request.mirrors = [try #require(first), try #require(second)]
            request.checksum = Checksum("sha256:\(one)")
            let id = try await fixture.enqueue(request).id
            #expect(try await fixture.job(id)?.request == request)
            // A request without them changes nothing.
            try await fixture.add("a", user: "ann")
            #expect(try await fixture.job(id)?.request.mirrors == request.mirrors)
            #expect(try await fixture.job(id)?.request.checksum == request.checksum)

            request.mirrors = [try #require(second)]
            #expect(try await fixture.enqueue(request).admission == .joined)
            request.mirrors = []
            request.checksum = Checksum("sha256:\(other)")
            #expect(try await fixture.enqueue(request).admission == .joined)
            let claimed = try await fixture.claim()[0].request
            #expect(claimed.mirrors == [second] && claimed.checksum == request.checksum)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a request comes back unchanged`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let hostile = "x'; DROP TABLE job; -- \" % _ \\ \u{1F3B5}"
            let request = DownloadRequest(
                URL(string: "https://host.example:81/a'%3B%20DROP%20TABLE%20job?q=%22&%C3%A9#f")!,
                to: URL(string: "file:///music/it's%20%22all%22/")!,
                name: "it's \"x\"; -- \u{1F3B5}" + String(repeating: "n", count: 200), user: hostile, priority: .min)
            let id = try await fixture.enqueue(request, batch: hostile).id
            #expect(try await fixture.job(id)?.request == request)
            #expect(try await fixture.claim(batch: hostile).first?.request == request)
            #expect(try await fixture.store.cancel(.user(hostile)).cancelling == [id])
            #expect(try await fixture.store.cancel(.batch(hostile)).cancelling == [id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `requests for one identifier are one download, whatever host they name`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let directory = URL(string: "file:///music/")!
            func request(_ id: String, host: String?) -> DownloadRequest {
                DownloadRequest(resolving: id, host: host, to: directory, name: "song")
            }
            let first = try await fixture.store.enqueue([request("song/1", host: "a.example")], options: .init())
            let second = try await fixture.store.enqueue([request("song/1", host: nil)], options: .init())
            let third = try await fixture.store.enqueue(
                [request("song/1", host: "b.example"), .named("x")], options: .init())
            let conflict = try await fixture.store.enqueue([request("song/2", host: "a.example")], options: .init())

            #expect([second[0].id, third[0].id] == [first[0].id, first[0].id])
            #expect((first + second + third).map(\.admission) == [.added, .joined, .joined, .added])
            guard case .conflict = conflict[0].admission else {
                Issue.record("Another identifier is \(conflict[0].admission).")
                return
            }
            #expect(try await fixture.counts() == [.waiting: 2])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `different names of 255 bytes are different jobs`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture async throws in
            let stem = String(repeating: "\u{e9}", count: 127)
            let names = [stem + "a", stem + "b"]
            for name in names { #expect(try await fixture.enqueue(.named(name)).admission == .added) }
            #expect(try await fixture.claimNames(2) == names)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `two spellings of a name are two files`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let url = URL(string: "https://host.example/x")!
            let directory = URL(string: "file:///music/")!
            for name in ["caf\u{e9}", "cafe\u{301}"] {
                let enqueued = try await fixture.enqueue(DownloadRequest(url, to: directory, name: name))
                #expect(enqueued.admission == .added)
            }
            let claimed = try await fixture.claim(2).map { Array($0.request.name.utf8) }
            #expect(claimed == [Array("caf\u{e9}".utf8), Array("cafe\u{301}".utf8)])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `two spellings of a directory are the same target`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let url = URL(string: "https://host.example/x")!
            let id = try await fixture.enqueue(DownloadRequest(url, to: URL(string: "file:///a%20b/")!)).id
            let other = DownloadRequest(url, to: URL(filePath: "/a b", directoryHint: .notDirectory))
            #expect(try await fixture.enqueue(other) == EnqueuedJob(id: id, admission: .joined))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a relative directory comes back unchanged and differs from the absolute one`(_ kind: StoreKind)
        async throws
    {
        try await StoreFixture.with(kind) { fixture in
            let url = URL(string: "https://host.example/x")!
            let hostile = "it's \"all\"/a:b/\u{1F3B5} %"
            let requests =
                try ["", "music", hostile].map { try DownloadRequest(url, below: $0) }
                + [DownloadRequest(url, to: URL(filePath: "/music")), DownloadRequest(url, to: URL(filePath: "/"))]
            let jobs = try await fixture.store.enqueue(requests, options: .init())
            #expect(jobs.allSatisfy { $0.admission == .added })
            #expect(try await fixture.store.jobs(jobs.map(\.id)).map(\.request) == requests)
            #expect(try await fixture.enqueue(requests[2]).admission == .joined)
            let other = try DownloadRequest(URL(string: "https://host.example/y")!, below: "music", name: "x")
            #expect(try await fixture.enqueue(other).admission == .conflict(with: url))
            #expect(try await fixture.claim(10).map(\.request) == requests)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `joining raises the priority and never lowers it`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let low = try await fixture.add("low", priority: 1)
            try await fixture.add("high", priority: 2)
            #expect(try await fixture.enqueue(.named("low", priority: 3)).admission == .joined)
            #expect(try await fixture.enqueue(.named("low", priority: -9)).id == low)
            #expect(try await fixture.job(low)?.request.priority == 3)
            let claimed = try await fixture.claim(2)
            #expect(claimed.map(\.request.name) == ["low", "high"])
            // This also works while it runs: it returns to its new place in line.
            try await fixture.enqueue(.named("high", priority: 5))
            for job in claimed { try await fixture.settle(job, .released) }
            #expect(try await fixture.claimNames(2) == ["high", "low"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `joining a delayed job doesn't shorten its delay`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a")
            try await fixture.settle(try await fixture.claim()[0], .retry(after: .seconds(5), message: "slow"))
            #expect(try await fixture.enqueue(.named("a", priority: 3)).admission == .joined)
            #expect(try await fixture.claimNames() == [])
            fixture.time.advance(by: .seconds(5))
            #expect(try await fixture.claimNames() == ["a"])
        }
    }

    @Test(arguments: StoreKind.allCases, [JobSettlement.Outcome.done(bytes: 1), .failed(message: "gone")])
    func `enqueuing an ended job starts it again at the end of the line`(
        _ kind: StoreKind, _ outcome: JobSettlement.Outcome
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let first = try await fixture.add("a", batch: "old")
            try await fixture.settle(try await fixture.claim()[0], outcome)
            try await fixture.add("b")
            let again = try await fixture.enqueue(.named("a"))
            #expect(again.admission == .added)
            #expect(again.id > first)
            #expect(try await fixture.job(first) == nil)
            let job = try #require(try await fixture.job(again.id))
            #expect((job.failureCount, job.fileSize, job.message, job.state) == (0, nil, nil, .waiting))
            // It belongs only to its new batches.
            #expect(try await fixture.store.cancel(.batch("old")) == JobChange())
            #expect(try await fixture.claimNames(3) == ["b", "a"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `with keepsFinished, enqueue keeps done jobs and restarts failed ones`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let done = try await fixture.add("done")
            let failed = try await fixture.add("failed")
            let claimed = try await fixture.claim(2)
            try await fixture.settle(claimed[0], .done(bytes: 3))
            try await fixture.settle(claimed[1], .failed(message: "gone"))
            let kept = try await fixture.enqueue(.named("done"), keepsFinished: true)
            #expect(kept == EnqueuedJob(id: done, admission: .kept))
            #expect(try await fixture.job(done)?.fileSize == 3)
            let again = try await fixture.enqueue(.named("failed"), keepsFinished: true)
            #expect(again.admission == .added && again.id != failed)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a second URL for the same file is a conflict while the first is unfinished`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let other = DownloadRequest(
                URL(string: "https://other.example/a")!, to: URL(string: "file:///music/")!, name: "a")
            let id = try await fixture.add("a")
            let conflict = EnqueuedJob(id: id, admission: .conflict(with: DownloadRequest.named("a").url))
            #expect(try await fixture.enqueue(other, batch: "b") == conflict)
            let claimed = try await fixture.claim()
            #expect(try await fixture.enqueue(other) == conflict)
            #expect(try await fixture.counts() == [.running: 1])
            // The refused request is in no batch.
            #expect(try await fixture.store.cancel(.batch("b")) == JobChange())
            try await fixture.settle(claimed[0], .done(bytes: 1))
            #expect(try await fixture.enqueue(other).admission == .added)
            #expect(try await fixture.counts() == [.waiting: 1, .done: 1])
        }
    }

    /// Whichever of the two came first.
    @Test(arguments: StoreKind.allCases, [["a", "z"], ["z", "a"]])
    func `a conflicting enqueue adds no job and removes none`(_ kind: StoreKind, _ hosts: [String]) async throws {
        try await StoreFixture.with(kind) { fixture in
            let done = try await fixture.enqueue(.named("x", host: hosts[0])).id
            try await fixture.settle(try await fixture.claim()[0], .done(bytes: 1))
            let open = try await fixture.enqueue(.named("x", host: hosts[1])).id
            for keepsFinished in [false, true] {
                let refused = try await fixture.enqueue(
                    .named("x", host: hosts[0]), keepsFinished: keepsFinished)
                #expect(refused.id == open)
                #expect(refused.admission == .conflict(with: DownloadRequest.named("x", host: hosts[1]).url))
            }
            #expect(try await fixture.state(done) == .done)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `requests in one call join or conflict with each other`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let jobs = try await fixture.store.enqueue(
                [.named("a"), .named("a"), .named("a", host: "other.example")], options: .init())
            #expect(jobs.map(\.admission) == [.added, .joined, .conflict(with: DownloadRequest.named("a").url)])
            #expect(Set(jobs.map(\.id)).count == 1)
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Copied queues` {
    private static let kinds = StoreKind.allCases.filter { $0 != .memory }

    private func claim(_ store: any QueueStore, _ worker: QueueWorker, _ count: Int) async throws -> [ClaimedJob] {
        let limits = DownloadCoordinator.Limits(total: 99, perHost: nil)
        return try await store.takeTurn(
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
    func `unfinished jobs are read in pages, without jobs that are being cancelled`(_ kind: StoreKind) async throws {
        try await withStores(kind, kind) { old, _ in
            _ = try await old.enqueue((0..<7).map { .named("\($0)") }, options: .init())
            let claimed = try await claim(old, old.attach(), 3)
            _ = try await old.takeTurn(
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
    func `a copied job keeps its failure count, and a running job is copied as waiting`(
        _ kind: StoreKind, _ other: StoreKind
    ) async throws {
        try await withStores(kind, other) { old, new in
            _ = try await old.enqueue([.named("a", user: "ann"), .named("b")], options: .init(batch: "x"))
            let claimed = try await claim(old, old.attach(), 2)
            let retry = JobSettlement(lease: claimed[1].lease, outcome: .retry(after: .seconds(5), message: "slow"))
            _ = try await old.takeTurn([retry], claiming: nil)
            let jobs = try await new.add(old.unfinished(after: JobID(rawValue: .min), atMost: 9))
            #expect(jobs.map(\.admission) == [.added, .added])
            let snapshot = try await new.snapshot(listing: 9)
            #expect(snapshot.waiting.map(\.failureCount) == [0, 1] && snapshot.count(in: .waiting) == 2)
            #expect(try await claim(new, new.attach(), 9).map(\.failures) == [0, 1])
        }
    }

    @Test(arguments: kinds, kinds)
    func `existing members keep their pause state, and copied members bring theirs`(
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
                #expect(jobs.map(\.admission) == [.joined])
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
    func `copying keeps done jobs, reports conflicts and preserves the order of members`(
        _ kind: StoreKind, _ other: StoreKind
    ) async throws {
        try await withStores(kind, other) { old, new in
            _ = try await old.enqueue(
                [.named("a", user: "ann", priority: 1), .named("b"), .named("c")], options: .init())
            _ = try await old.enqueue([.named("a", user: "bob", priority: 7)], options: .init(batch: "x"))
            _ = try await new.enqueue([.named("b")], options: .init())
            let done = try await claim(new, new.attach(), 1)[0]
            _ = try await new.takeTurn([JobSettlement(lease: done.lease, outcome: .done(bytes: 1))], claiming: nil)
            let rival = try await new.enqueue([.named("c", host: "rival.example")], options: .init())[0]
            let jobs = try await new.add(old.unfinished(after: JobID(rawValue: .min), atMost: 9))
            #expect(
                jobs.map(\.admission) == [
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
