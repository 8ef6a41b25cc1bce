import SluiceDownloads
import Testing

@Suite struct `Cancelling in a store` {
    @Test(arguments: StoreKind.allCases)
    func `forgetting a batch removes its ended jobs, except those another batch shares`(
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
            // Jobs that haven't ended are still in the batch.
            #expect(try await fixture.store.cancel(.batch("list")).cancelling.count == 1)
            _ = try await fixture.store.remove(.batch("other"))
            #expect(try await fixture.store.snapshot(listing: 9).ended.map(\.request.name) == ["single"])
        }
    }

    /// A waiting, a delayed and a running job of one batch and user, and a job that is done.
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
    func `cancel stops waiting jobs immediately, and running jobs when their worker confirms`(
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
            #expect(try await fixture.takeTurn(claiming: 1).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a selection that matches nothing changes nothing`(_ kind: StoreKind) async throws {
        try await Self.filled(kind) { fixture, _ async throws in
            for selection: QueuedDownload.Selection in [
                .batch("no such"), .user("bob"), .ids([]), .batch("lis%"), .user("an_"), .user("ann", ids: []),
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
    func `a cancelled running job doesn't return to the line`(
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
    func `a job being cancelled ends as cancelled when its worker is lost or leaves`(_ kind: StoreKind) async throws {
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
            #expect(try await fixture.enqueue(.named("running")) == EnqueuedJob(id: id, admission: .joined))
            #expect(try await fixture.store.renew(fixture.worker, lease: .seconds(9)).map(\.stop) == [nil])
            // Its worker may already know about the cancellation.
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
            // Any other selection cancels it, whatever its batches.
            #expect(try await fixture.store.cancel(.all).cancelling == [id])
        }
    }
}

@Suite struct `Controlling jobs in a store` {
    @Test(arguments: StoreKind.allCases)
    func `selecting waiting jobs includes delayed ones and excludes running ones`(
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
    func `a host is selected with its port, unless it's the default port`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a", host: "x.example")
            try await fixture.add("b", host: "x.example:443")
            try await fixture.add("c", host: "x.example:81")

            #expect(try await fixture.store.cancel(.host("x.example")).stopped.map(\.request.name) == ["a", "b"])
            #expect(try await fixture.store.cancel(.host("x.example:81")).stopped.map(\.request.name) == ["c"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `retry puts failed and cancelled jobs back in line with no failures`(
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
    func `retrying two jobs that write one file retries only one of them`(_ kind: StoreKind) async throws {
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
    func `a new priority reorders waiting jobs, and running jobs once they wait again`(_ kind: StoreKind)
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

/// Several users and batches want one job.
@Suite struct `Members of a job in a store` {
    private static func members(_ job: QueuedDownload?) -> [String] {
        job?.members.map { "\($0.user ?? "-") \($0.batch ?? "-") \($0.priority)\($0.isPaused ? " paused" : "")" } ?? []
    }

    private static let onePerUser = DownloadCoordinator.Limits(total: 100, perHost: nil, perUser: 1)

    /// Returns the user that each running job is charged to.
    private static func charges(_ fixture: StoreFixture) async throws -> [String] {
        try await fixture.store.snapshot(listing: 99).running.map {
            "\($0.download.request.name) \($0.download.request.user ?? "-")"
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a job lists each user and batch once, in order of arrival`(_ kind: StoreKind)
        async throws
    {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann", priority: 1, batch: "list")
            try await fixture.add("song", user: "ben", priority: 3)
            try await fixture.add("song", user: "ann", priority: 2, batch: "list")
            try await fixture.add("song", user: "ann", priority: -1)
            let job = try await fixture.job(id)
            #expect(Self.members(job) == ["ann list 2", "ben - 3", "ann - -1"])
            #expect(job?.request.user == "ann" && job?.request.priority == 3)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when the first user leaves, the job continues for the second`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann", priority: 9)
            try await fixture.add("song", user: "ben")
            #expect(try await fixture.store.cancel(.user("ann")) == JobChange(continuing: [id]))
            #expect(Self.members(try await fixture.job(id)) == ["ben - 0"])
            #expect(try await fixture.job(id)?.request.priority == 0)
            #expect(try await fixture.store.cancel(.user("ann")) == JobChange())
            #expect(try await fixture.store.cancel(.user("ben")).stopped.map(\.id) == [id])
            // The last member stays, so that the job can be retried for it.
            #expect(try await fixture.store.retry(.user("ben")) == [id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a user leaves one of their jobs, and stays in the others`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let shared = try await fixture.add("shared", user: "ann")
            try await fixture.add("shared", user: "ben")
            let alone = try await fixture.add("alone", user: "ann")
            let store = fixture.store

            #expect(try await store.pause(.user("ann", ids: [shared])) == JobChange(continuing: [shared]))
            #expect(try await fixture.job(shared)?.members.map(\.isPaused) == [true, false])
            #expect(try await fixture.job(alone)?.members.map(\.isPaused) == [false])
            #expect(try await store.resume(.user("ann", ids: [shared, alone])) == [])
            #expect(try await store.prioritize(.user("ben", ids: [shared, alone]), priority: 5) == 1)
            #expect(try await fixture.job(shared)?.members.map(\.priority) == [0, 5])
            #expect(try await store.cancel(.user("ben", ids: [alone])) == JobChange())
            #expect(try await store.cancel(.user("ann", ids: [shared])) == JobChange(continuing: [shared]))
            #expect(Self.members(try await fixture.job(shared)) == ["ben - 5"])
            #expect(try await store.cancel(.user("ann", ids: [alone])).stopped.map(\.id) == [alone])
            #expect(try await store.retry(.user("ben", ids: [alone])) == [])
            #expect(try await store.remove(.user("ann", ids: [alone, shared])) == 1)
            #expect(try await fixture.counts() == [.waiting: 1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when the second user leaves a running job, it continues for the first`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann")
            try await fixture.add("song", user: "ben")
            _ = try await fixture.claim()
            #expect(try await fixture.store.cancel(.user("ben")) == JobChange(continuing: [id]))
            #expect(try await fixture.store.cancel(.user("ann")) == JobChange(cancelling: [id]))
            // A user who joins now is the only member.
            try await fixture.add("song", user: "cleo")
            #expect(Self.members(try await fixture.job(id)) == ["cleo - 0"])
            #expect(try await Self.charges(fixture) == ["song cleo"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim charges the earliest member with room`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("first", user: "ann")
            for user in ["ann", "ben", "cleo"] { try await fixture.add("both", user: user) }
            try await fixture.add("third", user: "ben")
            #expect(try await fixture.claim(9, limits: Self.onePerUser).map(\.request.user) == ["ann", "ben"])
            #expect(try await Self.charges(fixture) == ["first ann", "both ben"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a user's full lane doesn't block another user`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b", "c"] { try await fixture.add(name, user: "ann") }
            try await fixture.add("b", user: "ben")
            #expect(try await fixture.claimNames(9, limits: Self.onePerUser) == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the charge moves to the member with the fewest running jobs, and a full lane claims none`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            for user in ["ann", "ben", "cleo"] { try await fixture.add("shared", user: user) }
            for name in ["b1", "b2"] { try await fixture.add(name, user: "ben") }
            let claimed = try await fixture.claim(9, limits: Self.onePerUser)
            #expect(try await Self.charges(fixture) == ["shared ann", "b1 ben"])
            _ = try await fixture.store.cancel(.user("ann"))
            #expect(try await Self.charges(fixture) == ["shared cleo", "b1 ben"])
            _ = try await fixture.store.cancel(.user("cleo"))
            #expect(try await Self.charges(fixture) == ["shared ben", "b1 ben"])
            try await fixture.settle(claimed[1], .done(bytes: 1))
            #expect(try await fixture.claimNames(9, limits: Self.onePerUser) == [])
            try await fixture.settle(claimed[0], .done(bytes: 1))
            #expect(try await fixture.claimNames(9, limits: Self.onePerUser) == ["b2"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a request without a user always has room`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("own", user: "ann")
            for user in ["ann", nil] { try await fixture.add("shared", user: user) }
            #expect(try await fixture.claimNames(9, limits: Self.onePerUser) == ["own", "shared"])
            #expect(try await Self.charges(fixture) == ["own ann", "shared -"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim for a batch may charge a member of another`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("own", user: "ann", batch: "list")
            try await fixture.add("shared", user: "ann", batch: "list")
            try await fixture.add("shared", user: "ben", batch: "other")
            #expect(try await fixture.claimNames(9, limits: Self.onePerUser, batch: "list") == ["own", "shared"])
            #expect(try await Self.charges(fixture) == ["own ann", "shared ben"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `removing a user keeps other users' jobs`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let own = try await fixture.add("own", user: "ann")
            let shared = try await fixture.add("shared", user: "ann")
            try await fixture.add("shared", user: "ben")
            for job in try await fixture.claim(2) { try await fixture.settle(job, .done(bytes: 1)) }
            #expect(try await fixture.store.remove(.user("ann")) == 2)
            #expect(try await fixture.job(own) == nil)
            #expect(Self.members(try await fixture.job(shared)) == ["ben - 0"])
            #expect(try await fixture.store.remove(.all) == 1)
        }
    }

    // MARK: Pausing

    @Test(arguments: StoreKind.allCases)
    func `until it's resumed, a paused job isn't claimed and keeps no run open`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann", batch: "list")
            #expect(try await fixture.store.pause(.user("ann")).stopped.map(\.id) == [id])
            #expect(try await fixture.state(id) == .paused)
            #expect(try await fixture.takeTurn(claiming: 1) == JobTurn(isEmpty: true))
            #expect(try await fixture.takeTurn(claiming: 1, batch: "list").isEmpty)
            #expect(try await fixture.store.snapshot(listing: 9).paused.map(\.id) == [id])
            #expect(try await fixture.store.pause(.all) == JobChange())
            #expect(try await fixture.store.resume(.batch("list")) == [id])
            #expect(try await fixture.store.resume(.all) == [])
            #expect(try await fixture.claimNames() == ["song"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a job continues for its unpaused members and is charged to them`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann")
            try await fixture.add("song", user: "ben")
            let job = try await fixture.claim()[0]
            #expect(try await fixture.store.pause(.user("ann")) == JobChange(continuing: [id]))
            #expect(try await Self.charges(fixture) == ["song ben"])
            #expect(try await fixture.store.renew(fixture.worker, lease: .seconds(60)).map(\.stop) == [nil])
            #expect(try await fixture.store.pause(.user("ben")) == JobChange(pausing: [id]))
            #expect(try await fixture.store.renew(fixture.worker, lease: .seconds(60)).map(\.stop) == [.paused])
            try await fixture.settle(job, .released)
            #expect(try await fixture.state(id) == .paused)
            // Enqueuing it again resumes the member.
            try await fixture.add("song", user: "ben")
            #expect(Self.members(try await fixture.job(id)) == ["ann - 0 paused", "ben - 0"])
            #expect(try await fixture.claim().map(\.request.user) == ["ben"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a running job is marked as stopping until the stop is revoked`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann")
            try await fixture.add("song", user: "ben")
            _ = try await fixture.claim()
            func isStopping() async throws -> Bool? { try await fixture.job(id)?.isStopping }
            _ = try await fixture.store.pause(.user("ann"))
            #expect(try await isStopping() == false)
            _ = try await fixture.store.pause(.all)
            #expect(try await isStopping() == true)
            _ = try await fixture.store.resume(.user("ben"))
            #expect(try await isStopping() == false)
            _ = try await fixture.store.cancel(.all)
            #expect(try await isStopping() == true)
            try await fixture.add("song", user: "ben")
            #expect(try await isStopping() == false)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when the last active member leaves, the job is paused`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["runs", "waits"] {
                for user in ["ann", "ben"] { try await fixture.add(name, user: user) }
            }
            let running = try await fixture.claim()[0].lease.job
            _ = try await fixture.store.pause(.user("ann"))
            let change = try await fixture.store.cancel(.user("ben"))
            #expect(change.pausing == [running] && change.continuing.count == 2)
            #expect(try await fixture.counts() == [.running: 1, .paused: 1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a resumed job waits out the rest of its delay`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b"] { try await fixture.add(name) }
            for job in try await fixture.claim(2) {
                try await fixture.settle(job, .retry(after: .seconds(5), message: "slow"))
            }
            _ = try await fixture.store.pause(.all)
            fixture.time.advance(by: .seconds(2))
            _ = try await fixture.store.resume(.all)
            #expect(try await fixture.claimNames(9) == [])
            _ = try await fixture.store.pause(.all)
            fixture.time.advance(by: .seconds(3))
            #expect(try await fixture.claimNames(9) == [])
            #expect(try await fixture.counts() == [.paused: 2])
            _ = try await fixture.store.resume(.all)
            #expect(try await fixture.claimNames(9) == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases, [JobSettlement.Outcome.done(bytes: 1), .failed(message: "gone")])
    func `a job that ends while it's being paused isn't paused`(_ kind: StoreKind, _ outcome: JobSettlement.Outcome)
        async throws
    {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a")
            let job = try await fixture.claim()[0]
            _ = try await fixture.store.pause(.all)
            try await fixture.settle(job, outcome)
            #expect(try await fixture.state(id)?.isFinal == true)
        }
    }
}
