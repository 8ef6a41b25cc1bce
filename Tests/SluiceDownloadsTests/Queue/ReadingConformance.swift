import Foundation
import SluiceDownloads
import Testing

@Suite struct `Snapshots of a store` {
    @Test(arguments: StoreKind.allCases)
    func `an empty queue shows nothing`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture async throws in
            #expect(try await fixture.store.snapshot(listing: 9) == QueueSnapshot())
            #expect(try await fixture.store.jobs([JobID(rawValue: 1)]).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `each list is sorted and has at most the requested length`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for index in 0..<9 { try await fixture.add("\(index)", priority: index / 3) }
            // 6, 7, 8, 3, 4
            let claimed = try await fixture.claim(5)
            try await fixture.settle(claimed[4], .done(bytes: 5))
            fixture.time.advance(by: .seconds(1))
            try await fixture.settle(claimed[2], .failed(message: "gone"))
            try await fixture.settle(claimed[3], .retry(after: .seconds(9), message: "slow"))
            _ = try await fixture.store.cancel(.ids([JobID(rawValue: claimed[0].lease.job.rawValue - 6)]))
            let snapshot = try await fixture.store.snapshot(listing: 9)
            #expect(snapshot.counts == [.waiting: 4, .running: 2, .done: 1, .failed: 1, .cancelled: 1])
            #expect(snapshot.openCount == 6)
            #expect(snapshot.running.map(\.download.request.name) == ["6", "7"])
            #expect(snapshot.waiting.map(\.request.name) == ["3", "5", "1", "2"])
            #expect(snapshot.ended.map(\.request.name) == ["8", "0", "4"])
            #expect(snapshot.ended.map(\.fileSize) == [nil, nil, 5])
            for count in [1, 2] {
                let short = try await fixture.store.snapshot(listing: count)
                #expect(short.counts == snapshot.counts)
                #expect(short.running == Array(snapshot.running.prefix(count)))
                #expect(short.waiting == Array(snapshot.waiting.prefix(count)))
                #expect(short.ended == Array(snapshot.ended.prefix(count)))
            }
            for count in [0, -1] {
                let none = try await fixture.store.snapshot(listing: count)
                #expect(none == QueueSnapshot(counts: snapshot.counts, cursor: none.cursor))
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `jobs are listed in the requested order, without removed ones`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (a, b) = (try await fixture.add("a"), try await fixture.add("b"))
            #expect(try await fixture.store.jobs([b, JobID(rawValue: 77), a, b]).map(\.id) == [b, a, b])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a selection's jobs are listed by number, in pages of the requested size`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a", user: "ann", batch: "list")
            try await fixture.add("b", user: "ben", priority: 7, batch: "list")
            try await fixture.add("c", host: "other.example", user: "ann")
            let last = try await fixture.add("d")
            // "b"
            try await fixture.settle(try await fixture.claim()[0], .done(bytes: 1))
            _ = try await fixture.claim()
            let unknown = JobID(rawValue: 77)
            let selections: [(QueuedDownload.Selection, [String])] = [
                (.all, ["a", "b", "c", "d"]), (.waiting, ["c", "d"]), (.state(.running), ["a"]), (.state(.done), ["b"]),
                (.state(.failed), []), (.batch("list"), ["a", "b"]), (.batch("a\0b"), []), (.user("ann"), ["a", "c"]),
                (.user(""), ["d"]), (.user("cat"), []), (.host("other.example"), ["c"]),
                (.ids([last, unknown, JobID(rawValue: 1), last]), ["a", "d"]),
                (.user("ann", ids: [last, unknown, JobID(rawValue: 1), last]), ["a"]), (.user("", ids: [last]), ["d"]),
                (.user("ann", ids: []), []), (.user("a\0", ids: [JobID(rawValue: 1)]), []),
            ]
            for (selection, names) in selections {
                let jobs = try await fixture.store.jobs(in: selection, after: nil, atMost: 9)
                #expect(jobs.map(\.request.name) == names, "\(selection)")
                #expect(try await fixture.store.jobs(jobs.map(\.id)) == jobs)
                let rest = try await fixture.store.jobs(in: selection, after: JobID(rawValue: 1), atMost: 1)
                #expect(rest == Array(jobs.filter { $0.id.rawValue > 1 }.prefix(1)))
            }
            for count in [0, -1] {
                #expect(try await fixture.store.jobs(in: .all, after: nil, atMost: count).isEmpty)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a cursor after the last event has no events`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a")
            for cursor in [1, 2, Int64.max - 1, .max] {
                #expect(try await fixture.store.events(after: cursor, atMost: 9).isEmpty)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `only ended jobs are pruned`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let ids = [try await fixture.add("a"), try await fixture.add("b"), try await fixture.add("c")]
            try await fixture.settle(try await fixture.claim()[0], .done(bytes: 1))
            _ = try await fixture.claim()
            try await fixture.store.prune(olderThan: .zero, keeping: 0)
            #expect(try await fixture.counts() == [.running: 1, .waiting: 1])
            #expect(try await fixture.job(ids[0]) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pruning removes jobs past an age and the oldest beyond a count`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for index in 0..<6 {
                try await fixture.add("\(index)")
                let outcomes = [JobSettlement.Outcome.done(bytes: 1), .failed(message: "gone")]
                try await fixture.settle(try await fixture.claim()[0], outcomes[index % 2])
                fixture.time.advance(by: .seconds(10))
            }
            func left() async throws -> [String] {
                try await fixture.store.snapshot(listing: 9).ended.map(\.request.name)
            }
            // "1" ended exactly 50 s ago, so it stays.
            try await fixture.store.prune(olderThan: .seconds(50), keeping: 99)
            #expect(try await left() == ["5", "4", "3", "2", "1"])
            try await fixture.store.prune(olderThan: .seconds(1000), keeping: 2)
            #expect(try await left() == ["5", "4"])
            try await fixture.store.prune(olderThan: .seconds(Int64.max), keeping: .max)
            #expect(try await left() == ["5", "4"])
            try await fixture.store.prune(olderThan: .seconds(1000), keeping: -1)
            #expect(try await left() == [])
        }
    }
}

@Suite struct `Events of a store` {
    private static func texts(_ events: [QueueEvent]) -> [String] {
        events.map { event in
            let parts: [String?] = [
                "\(event.id)", "\(event.kind)", event.user, event.batch, event.fileSize.map { "\($0)" }, event.message,
            ]
            return parts.compactMap(\.self).joined(separator: " ")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `every change of a job is an event, in the order of the changes`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            #expect(try await store.snapshot(listing: 0).cursor.rawValue == 0)
            let id = try await fixture.add("song", user: "ann", batch: "list")
            try await fixture.add("song", user: "ben")
            try await fixture.settle(try await fixture.claim()[0], .retry(after: .zero, message: "slow"))
            _ = try await store.cancel(.user("ann"))
            _ = try await store.pause(.all)
            _ = try await store.resume(.all)
            try await fixture.settle(try await fixture.claim()[0], .failed(message: "gone"))
            _ = try await store.retry(.all)
            try await fixture.settle(try await fixture.claim()[0], .released)
            try await fixture.settle(try await fixture.claim()[0], .done(bytes: 7))
            _ = try await store.remove(.all)
            let events = try await store.events(after: nil, atMost: 100)
            #expect(
                Self.texts(events) == [
                    "1 added ann list", "2 joined ben", "3 started ann", "4 retrying slow", "5 left ann list",
                    "6 paused",
                    "7 resumed", "8 started ben", "9 failed gone", "10 retried", "11 started ben", "12 released",
                    "13 started ben", "14 done 7", "15 removed",
                ])
            #expect(
                events.allSatisfy {
                    $0.download == id && $0.time.timeIntervalSince1970 == Double(fixture.time.milliseconds) / 1000
                })
            #expect(try await store.snapshot(listing: 0).cursor.rawValue == 15)
            #expect(try await store.events(after: 3, atMost: 2) == Array(events[3..<5]))
            #expect(try await store.events(after: 15, atMost: 2) == [])
            #expect(try await store.events(after: 99, atMost: 2) == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `old events are dropped, and reading from a cursor before them throws`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            for start in stride(from: 0, to: 110_000, by: 10_000) {
                let requests = (start..<start + 10_000).map { DownloadRequest.named("\($0)") }
                _ = try await store.enqueue(requests, options: .init())
            }
            try await store.prune(olderThan: .seconds(1), keeping: 10)
            let kept = try await store.events(after: nil, atMost: 200_000)
            #expect(kept.count >= 10_000 && kept.last?.id.rawValue == 110_000)
            let first = try #require(kept.first?.id.rawValue)
            #expect(first > 1)
            #expect(try await store.events(after: first - 1, atMost: 1) == [kept[0]])
            let error = await #expect(throws: QueueStoreError.self) {
                try await store.events(after: first - 2, atMost: 1)
            }
            #expect(error?.code == .eventsRemoved && error?.remedy != nil)
        }
    }
}
