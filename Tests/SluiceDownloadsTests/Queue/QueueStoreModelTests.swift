import Foundation
import TestSupport
import Testing

@testable import SluiceDownloads

/// Runs random operations on a store and on ``QueueModel``. All visible state must be the same.
@Suite struct `Queue stores against the model` {
    /// 2,000, or the value of `SLUICE_MODEL_STEPS`.
    private static let steps =
        ProcessInfo.processInfo.environment["SLUICE_MODEL_STEPS"].flatMap(Int.init) ?? 2000

    @Test(arguments: StoreKind.allCases, [1, 2] as [UInt64])
    func `random operations have the same results as the model`(_ kind: StoreKind, _ seed: UInt64) async throws {
        try await StoreFixture.with(kind) { fixture in
            let other = try await fixture.store.attach()
            var comparison = Comparison(fixture: fixture, workers: [fixture.worker, other], seed: seed)
            for step in 0..<Self.steps {
                do {
                    try await comparison.step()
                } catch let difference as Difference {
                    Issue.record("seed \(seed), step \(step): \(difference.description)")
                    return
                }
            }
        }
    }
}

private struct Difference: Error {
    var description: String
}

/// The visible state of a job.
private struct Seen: Equatable {
    var number: Int
    var state: QueuedDownload.State
    var url: URL
    var name: [UInt8]
    var user: String?
    var members: [QueueModel.Member]
    var priority: Int
    var failures: Int
    var bytes: Int64?
    var message: String?
    var notBefore: Date?
}

private struct Comparison {
    let fixture: StoreFixture
    let workers: [QueueWorker]
    var random: SeededRandom
    var model = QueueModel()
    /// The model's numbers for the store's jobs, and the reverse.
    private var numbers: [JobID: Int] = [:]
    private var ids: [Int: JobID] = [:]
    private var lastEvent: Int64 = 0
    /// All leases that were handed out, valid or not.
    private var leases: [(model: QueueModel.Lease, store: JobLease)] = []

    init(fixture: StoreFixture, workers: [QueueWorker], seed: UInt64) {
        self.fixture = fixture
        self.workers = workers
        random = SeededRandom(seed: seed)
    }

    private var store: any QueueStore { fixture.store }
    private var now: Int64 { fixture.time.milliseconds }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func pick<T>(of values: [T]) -> T { values[pick(values.count)] }

    private func expect<T: Equatable>(_ store: T, _ model: T, _ what: String) throws {
        if store != model { throw Difference(description: "\(what)\n  store: \(store)\n  model: \(model)") }
    }

    /// Reports only the first difference between two lists, because whole lists are long.
    private func expect(_ store: [Seen], _ model: [Seen], _ what: String) throws {
        for (one, other) in zip(store, model) { try expect(one, other, what) }
        try expect(store.count, model.count, "count of \(what)")
    }

    private func seen(_ download: QueuedDownload) -> Seen {
        Seen(
            number: numbers[download.id] ?? -1, state: download.state, url: download.request.url,
            name: Array(download.request.name.utf8), user: download.request.user,
            members: download.members.map {
                .init(user: $0.user ?? "", batch: $0.batch ?? "", priority: $0.priority, isPaused: $0.isPaused)
            }, priority: download.request.priority,
            failures: download.failureCount, bytes: download.fileSize, message: download.message,
            notBefore: download.notBefore)
    }

    private func seen(_ job: QueueModel.Job) -> Seen {
        Seen(
            number: job.number, state: job.state, url: job.request.url, name: Array(job.request.name.utf8),
            user: job.user.isEmpty ? nil : job.user, members: job.members, priority: job.priority,
            failures: job.failures, bytes: job.bytes, message: job.message,
            notBefore: job.notBefore.map { Date(queueTime: $0) })
    }

    mutating func step() async throws {
        model.now = now
        switch pick(100) {
        case 0..<25: try await enqueue()
        case 25..<65: try await takeTurn()
        case 65..<70: try await renew()
        case 70..<80: try await cancel()
        case 80..<82, 84..<90: try await control()
        case 82..<83: try await prune()
        case 83..<84: try await detach()
        default: fixture.time.advance(by: .seconds(pick(8)))
        }
        try await look()
        try await lookAtEvents()
    }

    private mutating func enqueue() async throws {
        let batch = pick(of: ["one", "two", "three", nil])
        let keepsFinished = pick(3) == 0
        var requests: [DownloadRequest] = []
        for _ in 0..<pick(5) {
            var request = DownloadRequest.named(
                pick(of: ["a", "b", "c", "d", "e", "f", "g", "h", "caf\u{e9}", "cafe\u{301}"]),
                host: pick(of: ["x.example", "X.example:443", "y.example", "y.example:81"]),
                user: pick(of: [nil, "ann", "bob"]), priority: pick(4) - 1)
            if pick(8) == 0 {
                request = DownloadRequest(
                    resolving: pick(of: ["song 1", "a/b?c#d%", "\u{1F3B5}"]),
                    host: pick(of: ["x.example", "y.example:81"]),
                    to: URL(string: "file:///music/")!, name: "a", user: request.user, priority: request.priority)
            }
            if pick(6) == 0 { request.directory = URL(string: pick(of: ["./", "music/", "a%20b/c/"]))! }
            if pick(3) > 0 { request.name = "one-\(pick(20))" }
            requests.append(request)
        }
        let options = EnqueueOptions(batch: batch, keepsFinished: keepsFinished)
        let enqueued = try await store.enqueue(requests, options: options)
        try expect(enqueued.count, requests.count, "enqueued")
        for (request, job) in zip(requests, enqueued) {
            let expected = model.enqueue(request, batch: batch, keepsFinished: keepsFinished)
            if case .added(let number) = expected {
                (numbers[job.id], ids[number]) = (number, job.id)
            }
            let number = numbers[job.id] ?? -1
            let found: QueueModel.Outcome =
                switch job.admission {
                case .added: .added(number)
                case .joined: .joined(number)
                case .kept: .kept(number)
                case .conflict: .conflict(number)
                }
            try expect(found, expected, "enqueue \(request)")
            if case .conflict(let other) = job.admission {
                try expect(other, model.jobs.first { $0.number == number }!.request.url, "the conflict")
            }
        }
    }

    private mutating func takeTurn() async throws {
        var settlements: [JobSettlement] = []
        var refused: [JobLease] = []
        for _ in 0..<min(pick(4), leases.count) {
            // Mostly recent ones, because they may still be valid.
            let lease = leases[leases.count - 1 - pick(min(leases.count, 6))]
            let outcome = pick(of: JobSettlement.Outcome.samples)
            var report: HostReport?
            if pick(3) == 0 {
                report = pick(of: [
                    .reached, .reached, .busy(for: .seconds(pick(9))), .unreachable(limit: 2, pause: .seconds(4)),
                ])
            }
            settlements.append(JobSettlement(lease: lease.store, outcome: outcome, host: report))
            if let report { model.note(report, ofJob: lease.model.job, now: now) }
            if !model.settle(lease.model, outcome, now: now) { refused.append(lease.store) }
        }
        guard pick(5) > 0 else {
            let turn = try await store.takeTurn(settlements, claiming: nil)
            try expect(turn.refused, refused, "refused")
            return try expect(turn.claimed, [], "claimed without a claim")
        }
        let limits = DownloadCoordinator.Limits(
            total: 1 + pick(6), perHost: pick(of: [nil, 1, 2]), perUser: pick(of: [nil, 1, 2]))
        let (worker, count, lease) = (pick(2), pick(5), 1 + pick(30))
        let batch = pick(4) == 0 ? pick(of: ["one", "two", ""]) : nil
        let resolves = pick(2) == 0
        let turn = try await store.takeTurn(
            settlements,
            claiming: JobClaim(
                worker: workers[worker], count: count, limits: limits, lease: .seconds(lease), batch: batch,
                resolves: resolves))
        let claimed = model.claim(
            count, worker: worker, limits: limits, lease: Int64(lease) * 1000, batch: batch, resolves: resolves,
            now: now)
        try expect(turn.refused, refused, "refused")
        try expect(turn.claimed.map { numbers[$0.lease.job] }, claimed.map(\.number), "claimed under \(limits)")
        for (found, expected) in zip(turn.claimed, claimed) {
            try expect(found.failures, expected.failures, "failures of a claim")
            try expect(found.host, expected.host, "host of a claim")
            try expect(found.mayBePublished, expected.mayBePublished, "mayBePublished of a claim")
            var request = expected.request
            (request.user, request.priority) = (expected.charged.isEmpty ? nil : expected.charged, expected.priority)
            try expect(found.request, request, "request of a claim")
            leases.append((expected.lease!, found.lease))
        }
        try expect(turn.nextDue, model.nextDue(now: now).map { .milliseconds($0 - now) }, "nextDue")
        try expect(turn.isEmpty, model.isEmpty(batch), "isEmpty of \(batch ?? "all")")
    }

    private mutating func renew() async throws {
        let worker = pick(2)
        let found = try await store.renew(workers[worker], lease: .seconds(9))
        let expected = model.renew(worker: worker, until: now + 9000)
        try expect(
            Set(found),
            Set(
                expected.map { one in
                    RenewedLease(
                        lease: leases.first { $0.model.claim == one.lease.claim }!.store, stop: one.stop)
                }), "renewed")
        try expect(found.count, expected.count, "renewed once each")
    }

    /// A selection, and what it means in the model.
    private mutating func someSelection() -> (QueuedDownload.Selection, QueueModel.Selection) {
        switch pick(16) {
        case 0: return (.all, .init())
        case 1: return (.waiting, .init(jobs: { $0.state == .waiting }))
        case 2:
            let state = pick(of: QueuedDownload.State.allCases)
            return (.state(state), .init(jobs: { $0.state == state }))
        case 3:
            let host = pick(of: ["x.example", "x.example:443", "y.example", "y.example:81"])
            return (.host(host), .init(jobs: { $0.host == host }))
        case 4..<8:
            let user = pick(of: ["ann", "bob", "stranger", ""])
            guard pick(2) == 0 else { return (.user(user), .init(members: { $0.user == user })) }
            let numbers = someNumbers()
            return (
                .user(user, ids: numbers.compactMap { ids[$0] }),
                .init(jobs: { numbers.contains($0.number) }, members: { $0.user == user })
            )
        case 8..<12:
            let batch = pick(of: ["one", "two", "three", ""])
            return (.batch(batch), .init(members: { $0.batch == batch }))
        default:
            let numbers = someNumbers()
            return (.ids(numbers.compactMap { ids[$0] }), .init(jobs: { numbers.contains($0.number) }))
        }
    }

    private mutating func control() async throws {
        let (selection, meant) = someSelection()
        switch pick(5) {
        case 0:
            let retried = try await store.retry(selection)
            try expect(retried.map { numbers[$0]! }, model.retry(meant), "retried by \(selection)")
        case 1:
            let priority = pick(4) - 1
            let found = try await store.prioritize(selection, priority: priority)
            try expect(found, model.prioritize(priority, meant), "given a priority by \(selection)")
        case 2:
            let found = try await store.pause(selection)
            try expect(change(found), model.pause(meant), "paused by \(selection)")
            try expect(found.stopped.allSatisfy { $0.state == .paused }, true, "stopped ones are paused")
        case 3:
            let resumed = try await store.resume(selection)
            try expect(resumed.map { numbers[$0]! }, model.resume(meant), "resumed by \(selection)")
        default:
            let found = try await store.remove(selection)
            try expect(found, model.remove(meant), "removed by \(selection)")
        }
    }

    private mutating func cancel() async throws {
        let (selection, meant) = someSelection()
        let found = try await store.cancel(selection)
        try expect(change(found), model.cancel(now: now, meant), "cancelled by \(selection)")
        try expect(found.stopped.allSatisfy { $0.state == .cancelled }, true, "stopped ones are cancelled")
    }

    private func change(_ change: JobChange) -> QueueModel.Change {
        QueueModel.Change(
            stopped: change.stopped.map { numbers[$0.id]! }, cancelling: change.cancelling.map { numbers[$0]! },
            pausing: change.pausing.map { numbers[$0]! }, continuing: change.continuing.map { numbers[$0]! })
    }

    /// Existing and unknown numbers, some of them twice.
    private mutating func someNumbers() -> [Int] {
        guard let last = model.jobs.last?.number else { return [] }
        var numbers: [Int] = []
        for _ in 0..<pick(4) { numbers.append(max(1, last - pick(30))) }
        return numbers
    }

    private mutating func prune() async throws {
        let (age, count) = (pick(200), pick(20))
        try await store.prune(olderThan: .seconds(age), keeping: count)
        model.prune(before: now - Int64(age) * 1000, keeping: count)
    }

    private mutating func detach() async throws {
        let worker = pick(2)
        try await store.detach(workers[worker])
        model.takeBack(now: now) { $0.worker == worker }
    }

    private mutating func lookAtEvents() async throws {
        let found = try await store.events(after: lastEvent, atMost: 100_000)
        try expect(
            found.map(\.id.rawValue), Array(lastEvent + 1..<lastEvent + 1 + Int64(found.count)), "numbers of events")
        lastEvent += Int64(found.count)
        let seen = found.map { event in
            QueueModel.Event(
                time: Int64((event.time.timeIntervalSince1970 * 1000).rounded()), job: numbers[event.download] ?? -1,
                kind: "\(event.kind)", user: event.user ?? "", batch: event.batch ?? "", bytes: event.fileSize,
                message: event.message)
        }
        try expect(seen, model.events, "events")
        model.events = []
    }

    private mutating func look() async throws {
        let count = pick(of: [0, 1, 3, 1000])
        let snapshot = try await store.snapshot(listing: count)
        for state in QueuedDownload.State.allCases {
            try expect(snapshot.count(in: state), model.jobs.count { $0.state == state }, "count of \(state)")
        }
        try expect(
            snapshot.running.map { seen($0.download) },
            model.jobs.filter { $0.state == .running }.prefix(count).map(seen), "running")
        try expect(snapshot.waiting.map(seen), model.inOrder.prefix(count).map(seen), "waiting")
        try expect(snapshot.paused.map(seen), model.inOrder(.paused).prefix(count).map(seen), "paused")
        try expect(snapshot.ended.map(seen), model.endedLatestFirst.prefix(count).map(seen), "ended")
        try expect(
            snapshot.hosts,
            model.hosts.filter { $1.until > now || $1.isOpen }.sorted { $0.key < $1.key }.map {
                .init(name: $0, notBefore: Date(queueTime: max($1.until, 0)), isUnreachable: $1.isOpen)
            }, "hosts")
        try expect(snapshot.cursor.rawValue, lastEvent + Int64(model.events.count), "cursor")
        let numbers = someNumbers()
        try expect(
            try await store.jobs(numbers.compactMap { ids[$0] }).map(seen),
            numbers.compactMap { number in model.jobs.first { $0.number == number }.map(seen) }, "jobs \(numbers)")
    }
}
