import SluiceDownloads
import Testing

@Suite struct `Controlling jobs in a store` {
    @Test(arguments: StoreKind.allCases)
    func `the selection of waiting jobs leaves running ones alone, those that wait for a delay included`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["delayed", "running", "waiting"] { try await fixture.add(name) }
            let claimed = try await fixture.claim(2)
            try await fixture.settle(claimed[0], .retry(after: .seconds(5), message: "slow"))

            let cancelled = try await fixture.store.cancel(.waiting)

            #expect(cancelled.stopped.map(\.request.name) == ["delayed", "waiting"] && cancelled.cancelling == [])
            #expect(try await fixture.counts() == [.cancelled: 2, .running: 1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a host is selected with its port, unless that is the usual one`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a", host: "x.example")
            try await fixture.add("b", host: "x.example:443")
            try await fixture.add("c", host: "x.example:81")

            #expect(try await fixture.store.cancel(.host("x.example")).stopped.map(\.request.name) == ["a", "b"])
            #expect(try await fixture.store.cancel(.host("x.example:81")).stopped.map(\.request.name) == ["c"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `failed and cancelled jobs wait again under their numbers, as if they had never failed`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let ids = [
                try await fixture.add("failed", priority: 2, batch: "list"),
                try await fixture.add("cancelled", priority: 1, batch: "list"),
            ]
            let done = try await fixture.add("done", priority: 3, batch: "list")
            for (job, outcome) in zip(
                try await fixture.claim(2), [.done(bytes: 1), .failed(message: "gone")] as [JobSettlement.Outcome])
            {
                try await fixture.settle(job, outcome)
            }
            _ = try await fixture.store.cancel(.waiting)

            #expect(try await fixture.store.retry(.batch("list")) == ids)

            let failed = try await fixture.job(ids[0])
            #expect(failed?.state == .waiting && failed?.failureCount == 0 && failed?.message == nil)
            #expect(try await fixture.state(done) == .done)
            #expect(try await fixture.claim(9).map(\.lease.job) == ids)
            #expect(try await fixture.store.retry(.all) == [], "running jobs are not tried again")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of two jobs that write one file, one is tried again`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            var ids: [JobID] = []
            for path in ["a", "b"] {
                var request = DownloadRequest.named(path)
                request.name = "same"
                ids.append(try await fixture.enqueue(request).id)
                _ = try await fixture.store.cancel(.waiting)
            }
            #expect(try await fixture.store.retry(.ids(ids)) == [ids[0]])
            #expect(try await fixture.store.retry(.all) == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a new priority changes the order of waiting jobs, and of those that wait again`(_ kind: StoreKind)
        async throws
    {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b", "c"] { try await fixture.add(name, user: name == "c" ? "me" : nil) }
            let first = try await fixture.claim()[0]
            #expect(try await fixture.store.prioritize(.user("me"), priority: 5) == 1)
            #expect(try await fixture.store.prioritize(.ids([first.lease.job]), priority: -1) == 1)
            try await fixture.settle(first, .released)
            #expect(try await fixture.claimNames(3) == ["c", "b", "a"])
            #expect(try await fixture.store.prioritize(.state(.done), priority: 1) == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `only ended jobs are removed`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let ended = try await fixture.add("ended")
            let open = try await fixture.add("open")
            try await fixture.settle(try await fixture.claim()[0], .failed(message: "gone"))
            #expect(try await fixture.store.remove(.ids([ended, open])) == 1)
            #expect(try await fixture.job(ended) == nil)
            #expect(try await fixture.state(open) == .waiting)
            #expect(try await fixture.store.remove(.all) == 0)
        }
    }
}
