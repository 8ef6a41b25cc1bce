import Foundation
import SluiceConcurrency
import SluiceDownloads
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Claims of a store` {
    @Test(arguments: StoreKind.allCases)
    func `a claim finds the first job with room behind any number of blocked jobs`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let blocked = (0..<600).map { DownloadRequest.named("ann-\($0)", user: "ann", priority: $0 % 3) }
            _ = try await fixture.store.enqueue(blocked, options: EnqueueOptions(batch: "list"))
            for name in ["cleo", "ben"] { try await fixture.add(name, user: name) }
            let limits = DownloadCoordinator.Limits(total: 10, perHost: nil, perUser: 1)
            #expect(try await fixture.claimNames(5, limits: limits) == ["ann-2", "cleo", "ben"])
            #expect(try await fixture.claimNames(5, limits: limits) == [])
            #expect(try await fixture.claimNames(5, limits: limits, batch: "list") == [])
            // Without a limit per user, jobs come in the usual order, and a claim for a batch gets past the other jobs.
            #expect(try await fixture.claimNames(2) == ["ann-5", "ann-8"])
            try await fixture.add("late", batch: "other")
            #expect(try await fixture.claimNames(2, batch: "other") == ["late"])
        }
    }

    /// More full lanes than a claim passes over one by one: of a host, of a user, and of both.
    @Test(arguments: StoreKind.allCases, [(200, 1), (1, 200), (80, 80)])
    func `a claim finds the jobs with room behind any number of full lanes, in order`(
        _ kind: StoreKind, _ lanes: (users: Int, hosts: Int)
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            var model = QueueModel()
            var random = SeededRandom(seed: UInt64(lanes.users))
            var requests: [DownloadRequest] = []
            func add(_ host: Int, _ user: Int) {
                requests.append(
                    .named(
                        "\(requests.count)", host: "h\(host).example", user: "u\(user)",
                        priority: Int.random(in: 0..<3, using: &random)))
            }
            for user in 0..<lanes.users { add(0, user) }
            for host in 0..<lanes.hosts { add(host, 0) }
            for number in 0..<40 { add(number % 7, number % 5) }
            _ = try await fixture.store.enqueue(requests, options: .init())
            for request in requests { _ = model.enqueue(request, batch: nil, keepsFinished: false) }
            let limits = DownloadCoordinator.Limits(total: 12, perHost: 2, perUser: 2)
            for count in [1, 1, 1, 3, 8] {
                let expected = model.claim(
                    count, worker: 0, limits: limits, lease: 60_000, batch: nil, now: fixture.time.milliseconds)
                #expect(try await fixture.claimNames(count, limits: limits) == expected.map(\.request.name))
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `jobs are claimed by priority, then in order of arrival`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for (index, priority) in [0, 2, -1, 2, 0, .max, .min].enumerated() {
                try await fixture.add("\(index)", host: "h\(index % 3).example", priority: priority)
            }
            #expect(try await fixture.claimNames(3) == ["5", "1", "3"])
            #expect(try await fixture.claimNames(9) == ["0", "4", "2", "6"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim that avoids a host gets none of its jobs`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            // More than a claim passes over one by one.
            for number in 0..<80 { try await fixture.add("dead \(number)", host: "dead.example", user: "u\(number)") }
            for host in ["gone.example", "live.example"] { try await fixture.add(host, host: host, batch: "list") }
            func names(_ hosts: Set<String>, limit: Int? = nil, batch: String? = nil) async throws -> [String] {
                let limits = DownloadCoordinator.Limits(total: 1000, perHost: limit)
                let claim = JobClaim(
                    worker: fixture.worker, count: 3, limits: limits, lease: .seconds(60), batch: batch, avoiding: hosts
                )
                let claimed = try await fixture.store.takeTurn([], claiming: claim).claimed
                for job in claimed { try await fixture.settle(job, .released) }
                return claimed.map(\.request.name)
            }
            for limit in [nil, 2] {
                #expect(try await names(["dead.example", "gone.example"], limit: limit) == ["live.example"])
                #expect(try await names(["dead.example"], limit: limit) == ["gone.example", "live.example"])
                #expect(try await names(["gone.example"], limit: limit, batch: "list") == ["live.example"])
                #expect(try await names(["other.example"], limit: limit).first == "dead 0")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a released job returns to its place in line`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a", "b", "c", "d"] { try await fixture.add(name) }
            let claimed = try await fixture.claim(3)
            try await fixture.settle(claimed[1], .released)
            try await fixture.settle(claimed[0], .retry(after: .zero, message: "again"))
            #expect(try await fixture.claimNames(4) == ["a", "b", "d"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a delayed job isn't claimed before its delay ends`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a")
            try await fixture.settle(
                try await fixture.claim()[0], .retry(after: .milliseconds(1500), message: "slow"))
            let waiting = try #require(try await fixture.job(id))
            #expect((waiting.state, waiting.failureCount, waiting.message) == (.waiting, 1, "slow"))
            #expect(waiting.notBefore?.timeIntervalSince1970 == Double(fixture.time.milliseconds + 1500) / 1000)
            fixture.time.advance(by: .milliseconds(1499))
            let early = try await fixture.takeTurn(claiming: 1)
            #expect((early.claimed.isEmpty, early.isEmpty, early.nextDue) == (true, false, .milliseconds(1)))
            fixture.time.advance(by: .milliseconds(1))
            // The claim of another worker admits it, too.
            _ = try await fixture.claim(batch: "other")
            #expect(try await fixture.job(id)?.notBefore == nil)
            let claimed = try await fixture.claim()
            #expect(claimed.map(\.failures) == [1])
            #expect(claimed.map(\.mayBePublished) == [false])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim for zero jobs gets none and says whether the queue is empty`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            #expect(try await fixture.takeTurn(claiming: 0).isEmpty)
            try await fixture.add("a")
            #expect(try await fixture.claim(0).isEmpty)
            #expect(try await fixture.claim(-1).isEmpty)
            #expect(try await fixture.store.takeTurn([], claiming: nil) == JobTurn())
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim for a batch gets only the batch's jobs, in order`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a", priority: 9)
            try await fixture.add("b", batch: "list")
            try await fixture.add("c", priority: 1, batch: "list")
            try await fixture.enqueue(.named("d"))
            try await fixture.enqueue(.named("d"), batch: "list")
            #expect(try await fixture.claimNames(9, batch: "list") == ["c", "b", "d"])
            #expect(try await fixture.claimNames(9) == ["a"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `hosts are counted by name and port, and the default port can be omitted`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for host in ["a.example", "A.Example:443", "a.example:80", "a.example:8443", "b.example"] {
                try await fixture.add(host.replacing(":", with: "-"), host: host)
            }
            let names = try await fixture.claimNames(9, limits: .init(total: 9, perHost: 1))
            #expect(names == ["a.example", "a.example-80", "a.example-8443", "b.example"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `users are limited across hosts, and requests without a user aren't`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for (name, user) in [("1", "ann"), ("2", "ann"), ("3", "bob"), ("4", nil), ("5", nil), ("6", "")] {
                try await fixture.add(name, host: "h\(name).example", user: user)
            }
            let limits = DownloadCoordinator.Limits(total: 9, perHost: nil, perUser: 1)
            #expect(try await fixture.claimNames(9, limits: limits) == ["1", "3", "4", "5", "6"])
            #expect(try await fixture.claimNames(9, limits: limits) == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `lowering a limit below the running count blocks claims until there is room`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for index in 0..<6 { try await fixture.add("\(index)", user: "ann") }
            let running = try await fixture.claim(4)
            let tight: [DownloadCoordinator.Limits] = [
                .init(total: 2, perHost: nil), .init(total: 9, perHost: 2), .init(total: 9, perHost: nil, perUser: 2),
            ]
            for limits in tight { #expect(try await fixture.claim(9, limits: limits).isEmpty) }
            for job in running.prefix(2) { try await fixture.settle(job, .done(bytes: 1)) }
            for limits in tight { #expect(try await fixture.claim(9, limits: limits).isEmpty) }
            try await fixture.settle(running[2], .failed(message: "gone"))
            #expect(try await fixture.claimNames(9, limits: tight[1]) == ["4"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the limits count the jobs of all workers`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let other = try await fixture.store.attach()
            #expect(other != fixture.worker)
            for index in 0..<4 { try await fixture.add("\(index)", host: "h\(index).example") }
            let limits = DownloadCoordinator.Limits(total: 3, perHost: 1)
            #expect(try await fixture.claim(2, limits: limits).count == 2)
            #expect(try await fixture.claim(2, limits: limits, by: other).count == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `fifty concurrent tasks stay within the limits and claim every job once`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let requests = (0..<300).map {
                DownloadRequest.named("\($0)", host: "h\($0 % 3).example", user: "u\($0 % 7)")
            }
            _ = try await fixture.store.enqueue(requests, options: .init())
            let counter = RunningCounter(limits: .init(total: 4, perHost: 2, perUser: 1))
            try await counter.workOff(with: 50) { _ in (fixture.store, fixture.worker) }
            let state = counter.state
            #expect(state.most == 4)
            #expect(state.claimed.sorted() == requests.map(\.name).sorted())
            #expect(state.violations == [])
        }
    }
}

/// Counts running jobs independently of the store.
final class RunningCounter: Sendable {
    struct State {
        let limits: DownloadCoordinator.Limits
        var claimed: [String] = []
        var violations: [String] = []
        /// The maximum number of jobs that ran concurrently.
        private(set) var most = 0
        private var running: [DownloadRequest] = []

        /// The number of working tasks, and how many of them hold jobs or wait for room.
        fileprivate var workers = 0
        fileprivate var holding = 0
        fileprivate var waiting = 0
        fileprivate var settled = 0
        /// Whether every task has asked the store since the last change, so that as many jobs run as it hands out.
        fileprivate var isFull: Bool { holding + waiting == workers }

        fileprivate init(limits: DownloadCoordinator.Limits) { self.limits = limits }

        fileprivate mutating func begin(_ jobs: [ClaimedJob]) {
            for job in jobs {
                claimed.append(job.request.name)
                running.append(job.request)
                most = max(most, running.count)
                if running.count > limits.total { violations.append("\(running.count) run") }
                if running.count(where: { $0.host == job.request.host }) > limits.perHost ?? .max {
                    violations.append(job.request.host)
                }
                if running.count(where: { $0.user == job.request.user }) > limits.perUser ?? .max {
                    violations.append(job.request.user ?? "")
                }
            }
            if jobs.isEmpty { waiting += 1 } else { holding += 1 }
        }

        fileprivate mutating func end(_ jobs: [ClaimedJob]) {
            for job in jobs { running.remove(at: running.firstIndex(of: job.request)!) }
        }
    }

    private let monitor: Monitor<State>
    private let limits: DownloadCoordinator.Limits

    var state: State { monitor.state }

    init(limits: DownloadCoordinator.Limits) {
        self.limits = limits
        monitor = Monitor(State(limits: limits))
    }

    /// Claims jobs in this many tasks, and settles each when no task can claim another, until none is left.
    func workOff(with workers: Int, _ pick: (Int) -> (store: any QueueStore, worker: QueueWorker)) async throws {
        monitor.withState { $0.workers = workers }
        try await withThrowingTaskGroup { group in
            for number in 0..<workers {
                let (store, worker) = pick(number)
                group.addTask { try await self.workOff(store, as: worker) }
            }
            try await group.waitForAll()
        }
    }

    private func workOff(_ store: any QueueStore, as worker: QueueWorker) async throws {
        defer { monitor.withState { $0.workers -= 1 } }
        // A lease that can't expire during the test, because some stores use the system clock.
        let claim = JobClaim(worker: worker, count: 2, limits: limits, lease: .seconds(3600))
        while true {
            let settled = monitor.state.settled
            let turn = try await store.takeTurn([], claiming: claim)
            if turn.isEmpty { return }
            let jobs = turn.claimed
            monitor.withState { $0.begin(jobs) }
            guard !jobs.isEmpty else {
                try await monitor.waitUnlessCancelled(claiming: { state -> Void? in
                    guard state.settled > settled else { return nil }
                    state.waiting -= 1
                    return ()
                })
                continue
            }
            try await monitor.waitUnlessCancelled(where: { $0.isFull })
            // Before the store knows: from then on, it may hand out other jobs.
            monitor.withState { $0.end(jobs) }
            let settlements = jobs.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
            let answer = try await store.takeTurn(settlements, claiming: nil)
            monitor.withState { state in
                state.holding -= 1
                state.settled += 1
                if !answer.refused.isEmpty { state.violations.append("refused \(answer.refused)") }
            }
        }
    }
}

@Suite struct `Hosts in a store` {
    private static let unreachable = HostReport.unreachable(limit: 2, pause: .seconds(30))

    private static func settle(
        _ fixture: StoreFixture, _ job: ClaimedJob, _ outcome: JobSettlement.Outcome, _ report: HostReport
    ) async throws {
        _ = try await fixture.takeTurn([JobSettlement(lease: job.lease, outcome: outcome, host: report)])
    }

    @Test(arguments: StoreKind.allCases)
    func `a busy host's downloads wait until its delay ends, and other hosts' downloads start`(_ kind: StoreKind)
        async throws
    {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a1", "a2", "a3"] { try await fixture.add(name, host: "a.example") }
            try await fixture.add("b", host: "b.example")
            let first = try await fixture.claim()[0]
            try await Self.settle(fixture, first, .retry(after: .seconds(1), message: "busy"), .busy(for: .seconds(5)))
            let turn = try await fixture.takeTurn(claiming: 9)
            #expect(turn.claimed.map(\.request.name) == ["b"])
            let host = try await fixture.store.snapshot(listing: 0).hosts
            #expect(host.map(\.name) == ["a.example"] && host[0].isUnreachable == false)
            #expect(host[0].notBefore.timeIntervalSince1970 == Double(fixture.time.milliseconds + 5000) / 1000)
            try await fixture.settle(turn.claimed[0], .done(bytes: 1))
            // The job's own delay ends first, then its host's.
            #expect(try await fixture.takeTurn(claiming: 9).nextDue == .seconds(1))
            fixture.time.advance(by: .seconds(1))
            #expect(try await fixture.takeTurn(claiming: 9) == JobTurn(nextDue: .seconds(4)))
            fixture.time.advance(by: .seconds(4))
            #expect(try await fixture.claimNames(9) == ["a1", "a2", "a3"])
            #expect(try await fixture.store.snapshot(listing: 0).hosts == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `with two delays for a host, the later end applies`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["1", "2", "3"] { try await fixture.add(name) }
            let claimed = try await fixture.claim(2)
            try await Self.settle(fixture, claimed[0], .failed(message: "busy"), .busy(for: .seconds(9)))
            try await Self.settle(fixture, claimed[1], .failed(message: "busy"), .busy(for: .seconds(3)))
            fixture.time.advance(by: .seconds(8))
            #expect(try await fixture.claimNames() == [])
            fixture.time.advance(by: .seconds(1))
            #expect(try await fixture.claimNames() == ["3"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a circuit opens after consecutive failures, allows one probe, and closes on success`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            for index in 0..<8 { try await fixture.add("\(index)") }
            let claimed = try await fixture.claim(4)
            try await Self.settle(fixture, claimed[0], .failed(message: "refused"), Self.unreachable)
            try await Self.settle(fixture, claimed[1], .done(bytes: 1), .reached)
            try await Self.settle(fixture, claimed[2], .failed(message: "refused"), Self.unreachable)
            #expect(try await fixture.store.snapshot(listing: 0).hosts == [])
            try await Self.settle(fixture, claimed[3], .failed(message: "refused"), Self.unreachable)
            #expect(try await fixture.store.snapshot(listing: 0).hosts.map(\.isUnreachable) == [true])
            #expect(try await fixture.claimNames(9) == [])
            fixture.time.advance(by: .seconds(30))
            let probe = try await fixture.claim(9)
            #expect(probe.map(\.request.name) == ["4"])
            #expect(try await fixture.claimNames(9) == [])
            try await Self.settle(fixture, probe[0], .retry(after: .zero, message: "refused"), Self.unreachable)
            #expect(try await fixture.claimNames(9) == [])
            fixture.time.advance(by: .seconds(30))
            let second = try await fixture.claim(9)
            #expect(second.map(\.request.name) == ["4"])
            try await Self.settle(fixture, second[0], .done(bytes: 1), .reached)
            #expect(try await fixture.claimNames(9) == ["5", "6", "7"])
            #expect(try await fixture.store.snapshot(listing: 0).hosts == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a lost worker's report of a busy host counts`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["1", "2"] { try await fixture.add(name) }
            let lost = try await fixture.claim(lease: .seconds(1))[0]
            fixture.time.advance(by: .seconds(2))
            #expect(try await fixture.claimNames(1) == ["1"])
            let turn = try await fixture.takeTurn(
                [JobSettlement(lease: lost.lease, outcome: .done(bytes: 1), host: .busy(for: .seconds(5)))], claiming: 9
            )
            #expect(turn.refused == [lost.lease] && turn.claimed == [])
        }
    }
}
