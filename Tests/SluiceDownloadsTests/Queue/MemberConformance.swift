import SluiceDownloads
import Testing

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
    func `a job lists its members in the order of their arrival, each user and batch once`(_ kind: StoreKind)
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
    func `the first user leaves, and the job goes on for the second`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann", priority: 9)
            try await fixture.add("song", user: "ben")
            #expect(try await fixture.store.cancel(.user("ann")) == JobChange(continuing: [id]))
            #expect(Self.members(try await fixture.job(id)) == ["ben - 0"])
            #expect(try await fixture.job(id)?.request.priority == 0)
            #expect(try await fixture.store.cancel(.user("ann")) == JobChange())
            #expect(try await fixture.store.cancel(.user("ben")).stopped.map(\.id) == [id])
            // The last member stays, so that the job can be tried again for it.
            #expect(try await fixture.store.retry(.user("ben")) == [id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the second user leaves a running job, which goes on for the first`(_ kind: StoreKind) async throws {
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
    func `a user waits behind no full lane of another`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b", "c"] { try await fixture.add(name, user: "ann") }
            try await fixture.add("b", user: "ben")
            #expect(try await fixture.claimNames(9, limits: Self.onePerUser) == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the charge moves to the member with the fewest running jobs, and a lane above its limit claims none`(
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
    func `a request without a user has room always`(_ kind: StoreKind) async throws {
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
    func `removing a user leaves what others have`(_ kind: StoreKind) async throws {
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
    func `a paused job is not claimed and keeps no run open, until it is resumed`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("song", user: "ann", batch: "list")
            #expect(try await fixture.store.pause(.user("ann")).stopped.map(\.id) == [id])
            #expect(try await fixture.state(id) == .paused)
            #expect(try await fixture.exchange(claiming: 1) == JobExchange(isEmpty: true))
            #expect(try await fixture.exchange(claiming: 1, batch: "list").isEmpty)
            #expect(try await fixture.store.snapshot(listing: 9).paused.map(\.id) == [id])
            #expect(try await fixture.store.pause(.all) == JobChange())
            #expect(try await fixture.store.resume(.batch("list")) == [id])
            #expect(try await fixture.store.resume(.all) == [])
            #expect(try await fixture.claimNames() == ["song"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a job goes on for the members that are not paused, and is charged to them`(_ kind: StoreKind) async throws {
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
    func `a running job shows that it has to stop, until that is revoked`(_ kind: StoreKind) async throws {
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
    func `the last active member leaves, and the job is paused`(_ kind: StoreKind) async throws {
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
    func `a resumed job waits for the rest of its delay`(_ kind: StoreKind) async throws {
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
    func `a job that ends while it is being paused has ended`(_ kind: StoreKind, _ outcome: JobSettlement.Outcome)
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
