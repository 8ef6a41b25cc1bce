import Foundation
import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import Testing

@Suite struct `Leases of a store` {
    @Test(arguments: StoreKind.allCases, JobSettlement.Outcome.samples)
    func `settling a revoked lease changes nothing`(
        _ kind: StoreKind, _ outcome: JobSettlement.Outcome
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a")
            let lost = try await fixture.claim(lease: .seconds(10))[0]
            fixture.time.advance(by: .seconds(10))
            let again = try await fixture.claim()
            #expect(again.map(\.lease.job) == [id])
            #expect(again.map(\.mayBePublished) == [true])
            #expect(again.map(\.failures) == [0])
            #expect(try await !fixture.settle(lost, outcome))
            #expect(try await fixture.state(id) == .running)
            #expect(try await fixture.settle(again[0], .done(bytes: 1)))
            #expect(try await !fixture.settle(lost, outcome))
            #expect(try await fixture.state(id) == .done)
        }
    }

    @Test(arguments: StoreKind.allCases, JobSettlement.Outcome.samples)
    func `settling a job twice counts once`(_ kind: StoreKind, _ outcome: JobSettlement.Outcome) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a")
            let claimed = try await fixture.claim()[0]
            let settlement = JobSettlement(lease: claimed.lease, outcome: outcome)
            let turn = try await fixture.store.takeTurn([settlement, settlement], claiming: nil)
            #expect(turn.refused == [claimed.lease])
            let failures = try #require(try await fixture.job(id)).failureCount
            #expect(failures <= 1)
            // The same goes for a lease that never existed.
            #expect(try await !fixture.settle(JobLease(job: id, token: 0), outcome))
            #expect(try await !fixture.settle(JobLease(job: JobID(rawValue: 99), token: 1), outcome))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a failed job keeps every part of its error except the cause`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a", host: "one.example")
            let url = try #require(try await fixture.job(id)).request.url
            var first = TransferError(
                .stalled, url: url, detail: "a\0 byte", remedy: "Say \"please\".",
                cause: FileError(.busy, subject: "/a", message: "Busy."))
            first.attempts = 3
            try await fixture.settle(try await fixture.claim()[0], .retry(after: .zero, first))
            let kept = try #require(try await fixture.job(id)?.error)
            #expect(kept == first && kept.isTransient && kept.cause == nil && kept.remedy == "Say \"please\".")

            let second = TransferError(status: .notFound, url: url)
            try await fixture.settle(try await fixture.claim()[0], .failed(second))
            let failed = try #require(try await fixture.job(id)?.error)
            #expect(failed == second && failed.status == .notFound && !failed.isTransient)
            let listed = try await fixture.store.snapshot(listing: 9).ended
            #expect(listed.map(\.error) == [second])

            _ = try await fixture.store.retry(.all)
            #expect(try await fixture.job(id)?.error == nil)
            try await fixture.settle(try await fixture.claim()[0], .retry(after: .zero, second))
            try await fixture.settle(try await fixture.claim()[0], .done(bytes: 1))
            #expect(try await fixture.job(id)?.error == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a postponed job waits for its delay, keeps its attempts and may change hosts`(_ kind: StoreKind)
        async throws
    {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a", host: "one.example")
            try await fixture.settle(
                try await fixture.claim()[0], .retry(after: .zero, message: "It failed."))
            try await fixture.settle(try await fixture.claim()[0], .postponed(by: .seconds(5)))
            let job = try #require(try await fixture.job(id))
            #expect(job.state == .waiting && job.failureCount == 1 && job.message == "It failed.")
            #expect(job.notBefore?.timeIntervalSince1970 == Double(fixture.time.milliseconds + 5000) / 1000)
            #expect(try await fixture.takeTurn(claiming: 1) == JobTurn(nextDue: .seconds(5)))
            fixture.time.advance(by: .seconds(5))
            let again = try await fixture.claim()[0]
            #expect(again.failures == 1 && again.host == "one.example")
            try await fixture.settle(again, .postponed(by: .seconds(1), host: "other.example"))
            fixture.time.advance(by: .seconds(1))
            let last = try await fixture.claim()[0]
            #expect(last.host == "other.example" && last.failures == 1)
            let kinds = try await fixture.store.events(after: nil, atMost: 99).map(\.kind)
            #expect(
                kinds == [.added, .started, .retrying, .started, .released, .started, .released, .started])
            // A job that is cancelled meanwhile doesn't wait.
            _ = try await fixture.store.cancel(.ids([id]))
            try await fixture.settle(last, .postponed(by: .seconds(9)))
            #expect(try await fixture.state(id) == .cancelled)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a postponed job keeps the reason, which doesn't count as a failure`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a")
            let locked = TransferError.sample("Another process is writing the file.")
            for _ in 1...2 {
                try await fixture.settle(
                    try await fixture.claim()[0], .postponed(by: .seconds(5), because: locked))
                let job = try #require(try await fixture.job(id))
                #expect(job.state == .waiting && job.failureCount == 0 && job.message == locked.description)
                fixture.time.advance(by: .seconds(5))
            }
            let last = try await fixture.store.events(after: nil, atMost: 99).last
            #expect(last?.kind == .released && last?.message == locked.description)
            let claimed = try await fixture.claim()[0]
            #expect(claimed.failures == 0)
            try await fixture.settle(claimed, .done(bytes: 1))
            #expect(try await fixture.job(id)?.error == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an expired lease still counts until a worker claims`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b"] { try await fixture.add(name) }
            let claimed = try await fixture.claim(2, lease: .seconds(10))
            fixture.time.advance(by: .seconds(100))
            #expect(try await fixture.settle(claimed[0], .done(bytes: 1)))
            #expect(
                try await fixture.store.renew(fixture.worker, lease: .seconds(10)).map(\.lease) == [claimed[1].lease])
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await fixture.settle(claimed[1], .done(bytes: 1)))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `settlements in a turn apply before its claim takes back expired leases`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b"] { try await fixture.add(name) }
            let limits = DownloadCoordinator.Limits(total: 1)
            let first = try await fixture.claim(limits: limits, lease: .seconds(1))[0]
            fixture.time.advance(by: .seconds(2))
            let turn = try await fixture.takeTurn(
                [JobSettlement(lease: first.lease, outcome: .done(bytes: 1))], claiming: 1, limits: limits)
            #expect(turn.refused.isEmpty)
            #expect(turn.claimed.map(\.request.name) == ["b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a worker that renews its leases keeps its jobs and gets a list of them`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let other = try await fixture.store.attach()
            for name in ["a", "b", "c", "d"] { try await fixture.add(name) }
            let mine = try await fixture.claim(3, lease: .seconds(10))
            let theirs = try await fixture.claim(1, lease: .seconds(10), by: other)
            try await fixture.settle(mine[2], .failed(message: "gone"))
            _ = try await fixture.store.cancel(.ids([mine[1].lease.job]))
            fixture.time.advance(by: .seconds(6))
            let renewed = try await fixture.store.renew(fixture.worker, lease: .seconds(10))
            #expect(
                renewed == [
                    RenewedLease(lease: mine[0].lease),
                    RenewedLease(lease: mine[1].lease, stop: .cancelled),
                ])
            fixture.time.advance(by: .seconds(6))
            let again = try await fixture.claim(9)
            #expect(again.map(\.lease.job) == theirs.map(\.lease.job))
            #expect(try await fixture.settle(mine[0], .done(bytes: 1)))
            #expect(try await fixture.store.renew(other, lease: .seconds(10)).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a worker that leaves releases its own jobs and no others`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let other = try await fixture.store.attach()
            for name in ["a", "b"] { try await fixture.add(name) }
            let mine = try await fixture.claim()
            let theirs = try await fixture.claim(by: other)
            try await fixture.store.detach(other)
            try await fixture.store.detach(other)
            #expect(try await !fixture.settle(theirs[0], .done(bytes: 1)))
            #expect(try await fixture.claimNames(9) == ["b"])
            #expect(try await fixture.settle(mine[0], .done(bytes: 1)))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `expired leases are released without a claim, and stopping jobs become stopped`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b", "c", "d"] { try await fixture.add(name) }
            let lost = try await fixture.claim(3, lease: .seconds(10))
            let held = try await fixture.claim(lease: .seconds(60))
            let ids = lost.map(\.lease.job)
            #expect(try await fixture.store.cancel(.ids([ids[1]])).cancelling == [ids[1]])
            #expect(try await fixture.store.pause(.ids([ids[2]])).pausing == [ids[2]])
            try await fixture.store.releaseJobsOfDeadWorkers()
            #expect(try await fixture.counts() == [.running: 4])
            fixture.time.advance(by: .seconds(10))
            try await fixture.store.releaseJobsOfDeadWorkers()
            #expect(try await fixture.store.jobs(ids).map(\.state) == [.waiting, .cancelled, .paused])
            #expect(try await !fixture.settle(lost[0], .done(bytes: 1)))
            #expect(try await fixture.settle(held[0], .done(bytes: 1)))
            #expect(try await fixture.claim(9).map(\.mayBePublished) == [true])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a late done settlement marks the job as possibly published`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a")
            let late = try await fixture.claim()[0]
            #expect(try await fixture.settle(late, .released))
            #expect(try await !fixture.settle(late, .failed(message: "gone")))
            let again = try await fixture.claim()[0]
            #expect(!again.mayBePublished)
            #expect(try await fixture.settle(again, .released))
            #expect(try await !fixture.settle(late, .done(bytes: 1)))
            #expect(try await fixture.claim()[0].mayBePublished)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the next due time is the earliest end of a delay or a lease`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            #expect(try await fixture.takeTurn(claiming: 1).nextDue == nil)
            for name in ["a", "b"] { try await fixture.add(name) }
            #expect(try await fixture.takeTurn(claiming: 1, lease: .seconds(60)).nextDue == .seconds(60))
            let job = try await fixture.claim(lease: .seconds(50))[0]
            fixture.time.advance(by: .seconds(10))
            let settlement = JobSettlement(lease: job.lease, outcome: .retry(after: .seconds(7), message: "slow"))
            #expect(try await fixture.takeTurn([settlement], claiming: 1).nextDue == .seconds(7))
            // A cancelled job's delay doesn't count.
            _ = try await fixture.store.cancel(.ids([job.lease.job]))
            #expect(try await fixture.takeTurn(claiming: 1).nextDue == .seconds(50))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a batch or queue is empty when none of its jobs wait or run`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            #expect(try await fixture.takeTurn(claiming: 1).isEmpty)
            try await fixture.add("mine", batch: "list")
            try await fixture.add("other", batch: "else")
            let first = try await fixture.takeTurn(claiming: 9, batch: "list")
            #expect(first.isEmpty == false)
            #expect(try await fixture.takeTurn(claiming: 9, batch: "list").isEmpty == false)
            let retry = JobSettlement(
                lease: first.claimed[0].lease, outcome: .retry(after: .seconds(1), message: "slow"))
            #expect(try await fixture.takeTurn([retry], claiming: 9, batch: "list").isEmpty == false)
            fixture.time.advance(by: .seconds(1))
            let again = try await fixture.claim(batch: "list")[0]
            let done = JobSettlement(lease: again.lease, outcome: .done(bytes: 1))
            #expect(try await fixture.takeTurn([done], claiming: 9, batch: "list").isEmpty)
            #expect(try await fixture.takeTurn(claiming: 9, batch: "no such").isEmpty)
            let rest = try await fixture.takeTurn(claiming: 9)
            #expect(rest.isEmpty == false && rest.claimed.count == 1)
            // A claim for zero jobs says so, too.
            #expect(try await fixture.takeTurn(claiming: 0, batch: "list").isEmpty)
            try await fixture.add("late", batch: "list")
            let turn = try await fixture.takeTurn(claiming: 0, batch: "list")
            #expect(turn.claimed.isEmpty && !turn.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a closed store refuses every operation`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            try await fixture.add("a")
            try await store.close()
            let operations: [() async throws -> Void] = [
                { _ = try await store.attach() },
                { try await store.detach(fixture.worker) },
                { try await store.releaseJobsOfDeadWorkers() },
                { _ = try await store.jobs(in: .all, after: nil, atMost: 1) },
                { _ = try await store.enqueue([.named("b")], options: .init()) },
                { _ = try await fixture.claim() },
                { _ = try await store.renew(fixture.worker, lease: .seconds(1)) },
                { _ = try await store.cancel(.all) },
                { _ = try await store.jobs([]) },
                { _ = try await store.snapshot(listing: 1) },
                { _ = try await store.remove(.batch("none")) },
                { try await store.prune(olderThan: .zero, keeping: 0) },
            ]
            for operation in operations {
                let error = await #expect(throws: QueueStoreError.self) { try await operation() }
                #expect(error?.code == .closed)
            }
            // Closing a closed store isn't an error.
            try await store.close()
        }
    }
}

@Suite struct `Rates in a store` {
    @Test(arguments: StoreKind.allCases) func `are kept, and the other workers with running jobs are counted`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            #expect(try await store.rates(besides: fixture.worker).rates == .init())
            for rates: DownloadCoordinator.MaximumRates in [
                .init(total: 1), .init(perHost: .max), .init(total: 2_000_000, perHost: 500), .init(), .init(total: 7),
            ] {
                try await store.setRates(rates)
                #expect(try await store.rates(besides: fixture.worker) == SharedRates(rates, otherWorkers: 0))
            }
            for name in ["a", "b", "c", "d"] { try await fixture.add(name) }
            let (second, third) = (try await store.attach(), try await store.attach())
            #expect(try await fixture.claim(1).count == 1)
            #expect(try await fixture.claim(2, by: second).count == 2)
            let last = try await fixture.claim(1, by: third)[0]
            #expect(try await store.rates(besides: fixture.worker).otherWorkers == 2)
            #expect(try await store.rates(besides: nil).otherWorkers == 3)
            try await fixture.settle(last, .done(bytes: 1))
            #expect(try await store.rates(besides: fixture.worker).otherWorkers == 1)
            #expect(try await store.rates(besides: third).otherWorkers == 2)
        }
    }

    @Test func `are divided equally, and everybody gets something`() {
        let rates = DownloadCoordinator.MaximumRates(total: 1000, perHost: 2)
        #expect(SharedRates(rates, otherWorkers: 0).share == rates)
        #expect(SharedRates(rates, otherWorkers: 3).share == .init(total: 250, perHost: 1))
        #expect(SharedRates(rates, otherWorkers: .max).share == .init(total: 1, perHost: 1))
        // What another program has written.
        #expect(SharedRates(.init(total: 0, perHost: -5), otherWorkers: -7).share == .init(total: 1, perHost: 1))
        #expect(SharedRates(.init(), otherWorkers: 3).share == .init())
    }
}
