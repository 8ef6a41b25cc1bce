import SluiceDownloads
import Testing

@Suite struct `Cancelling in a store` {
    @Test(arguments: StoreKind.allCases)
    func `a batch that is forgotten takes its ended jobs along, those left out that another batch has`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["mine", "shared", "open"] { try await fixture.add(name, batch: "list") }
            for batch in ["other", nil] { try await fixture.add(batch ?? "single", batch: batch) }
            try await fixture.add("shared", batch: "other")
            for job in try await fixture.claim(5) where job.request.name != "open" {
                try await fixture.settle(job, .done(bytes: 1))
            }
            _ = try await fixture.store.remove(.batch("list"))
            #expect(
                try await fixture.store.snapshot(listing: 9).ended.map(\.request.name).sorted()
                    == ["other", "shared", "single"])
            #expect(try await fixture.counts() == [.done: 3, .running: 1])
            // What has not ended is in it still.
            #expect(try await fixture.store.cancel(.batch("list")).cancelling.count == 1)
            _ = try await fixture.store.remove(.batch("other"))
            #expect(try await fixture.store.snapshot(listing: 9).ended.map(\.request.name) == ["single"])
        }
    }

    /// One job that waits, one that waits for a delay, one that runs: of a batch and a user. Then one that is done.
    private static func filled(
        _ kind: StoreKind, _ test: (StoreFixture, _ running: ClaimedJob) async throws -> Void
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("done")
            try await fixture.settle(try await fixture.claim()[0], .done(bytes: 1))
            for name in ["delayed", "running", "waiting"] { try await fixture.add(name, user: "ann", batch: "list") }
            let claimed = try await fixture.claim(2)
            try await fixture.settle(claimed[0], .retry(after: .seconds(5), message: "slow"))
            try await test(fixture, claimed[1])
        }
    }

    @Test(arguments: StoreKind.allCases, [.all, .batch("list"), .user("ann"), nil] as [QueuedDownload.Selection?])
    func `those that wait are stopped immediately, those that run when their worker has heard`(
        _ kind: StoreKind, _ selection: QueuedDownload.Selection?
    ) async throws {
        try await Self.filled(kind) { fixture, running in
            let all = try await fixture.store.snapshot(listing: 9)
            let ids = (all.waiting.map(\.id) + all.running.map(\.id) + all.ended.map(\.id)).sorted()
            let cancelled = try await fixture.store.cancel(selection ?? .ids(ids + ids + [JobID(rawValue: 999)]))
            #expect(cancelled.stopped.map(\.request.name) == ["delayed", "waiting"])
            #expect(cancelled.stopped.allSatisfy { $0.state == .cancelled && $0.notBefore == nil })
            #expect(cancelled.cancelling == [running.lease.job])
            #expect(try await fixture.counts() == [.done: 1, .cancelled: 2, .running: 1])
            #expect(try await fixture.store.renew(fixture.worker, lease: .seconds(9)).map(\.stop) == [.cancelled])
            fixture.time.advance(by: .seconds(6))
            #expect(try await fixture.claim(9).isEmpty)
            try await fixture.settle(running, .cancelled)
            #expect(try await fixture.counts() == [.done: 1, .cancelled: 3])
            #expect(try await fixture.exchange(claiming: 1).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a selection that matches nothing changes nothing`(_ kind: StoreKind) async throws {
        try await Self.filled(kind) { fixture, _ async throws in
            for selection: QueuedDownload.Selection in [
                .batch("no such"), .user("bob"), .ids([]), .batch("lis%"), .user("an_"),
            ] {
                #expect(try await fixture.store.cancel(selection) == JobChange())
            }
            #expect(try await fixture.counts() == [.done: 1, .waiting: 2, .running: 1])
        }
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            (JobSettlement.Outcome.done(bytes: 1), QueuedDownload.State.done), (.failed(message: "gone"), .failed),
            (.retry(after: .seconds(1), message: "slow"), .cancelled), (.released, .cancelled),
            (.cancelled, .cancelled),
        ])
    func `a running job that is cancelled does not wait again`(
        _ kind: StoreKind, _ case: (outcome: JobSettlement.Outcome, state: QueuedDownload.State)
    ) async throws {
        try await Self.filled(kind) { fixture, running in
            let id = running.lease.job
            _ = try await fixture.store.cancel(.ids([id]))
            #expect(try await fixture.settle(running, `case`.outcome))
            #expect(try await fixture.state(id) == `case`.state)
            #expect(try await fixture.job(id)?.notBefore == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a cancelled job is cancelled when its worker is lost or leaves`(_ kind: StoreKind) async throws {
        for isLost in [true, false] {
            try await Self.filled(kind) { fixture, running in
                _ = try await fixture.store.cancel(.all)
                if isLost {
                    fixture.time.advance(by: .seconds(100))
                } else {
                    try await fixture.store.detach(fixture.worker)
                }
                #expect(try await fixture.claim(9).isEmpty)
                #expect(try await fixture.state(running.lease.job) == .cancelled)
            }
        }
    }

    @Test(arguments: StoreKind.allCases, [JobSettlement.Outcome.cancelled, .released])
    func `a job enqueued again while it is being cancelled continues`(
        _ kind: StoreKind, _ outcome: JobSettlement.Outcome
    ) async throws {
        try await Self.filled(kind) { fixture, running in
            let id = running.lease.job
            _ = try await fixture.store.cancel(.all)
            #expect(try await fixture.enqueue(.named("running")) == EnqueuedJob(id: id, outcome: .joined))
            #expect(try await fixture.store.renew(fixture.worker, lease: .seconds(9)).map(\.stop) == [nil])
            // Its worker may have heard of it already.
            #expect(try await fixture.settle(running, outcome))
            #expect(try await fixture.claim(9).map(\.lease.job) == [id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a job of two batches outlives one of them`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a", batch: "one")
            try await fixture.enqueue(.named("a"), batch: "two")
            #expect(try await fixture.store.cancel(.batch("one")) == JobChange(continuing: [id]))
            #expect(try await fixture.claim(batch: "one").isEmpty)
            #expect(try await fixture.store.cancel(.batch("one")) == JobChange())
            #expect(try await fixture.store.cancel(.batch("two")).stopped.map(\.id) == [id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a job enqueued without a batch outlives the batch that joined it`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a")
            try await fixture.enqueue(.named("a"), batch: "one")
            _ = try await fixture.claim()
            #expect(try await fixture.store.cancel(.batch("one")) == JobChange(continuing: [id]))
            #expect(try await fixture.store.renew(fixture.worker, lease: .seconds(9)).map(\.stop) == [nil])
            // By all other selections it is cancelled, whatever its batches.
            #expect(try await fixture.store.cancel(.all).cancelling == [id])
        }
    }
}

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
