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
    func `each list has its order, and is as long as asked`(_ kind: StoreKind) async throws {
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
            #expect(snapshot.ended.map(\.bytes) == [nil, nil, 5])
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
    func `jobs are listed as asked, those that are gone left out`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (a, b) = (try await fixture.add("a"), try await fixture.add("b"))
            #expect(try await fixture.store.jobs([b, JobID(rawValue: 77), a, b]).map(\.id) == [b, a, b])
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
    func `pruning takes the old ones, and the oldest beyond a number`(_ kind: StoreKind) async throws {
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
            // "1" ended 50 s ago: not longer than that.
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
