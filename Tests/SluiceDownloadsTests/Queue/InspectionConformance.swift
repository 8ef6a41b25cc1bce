import Foundation
import SluiceDownloads
import SluiceFiles
import Testing

@Suite struct `Inspection of a store` {
    private static let states: [QueuedDownload.State?] = [nil] + QueuedDownload.State.allCases

    /// Jobs in every state, for two users, from two hosts.
    private static func fill(_ fixture: StoreFixture) async throws {
        for index in 0..<24 {
            try await fixture.add(
                index == 5 ? "Überblick.MP3" : "song-\(index).mp3", host: index % 2 == 0 ? "a.example" : "b.example",
                user: index % 3 == 0 ? "ann" : "ben", priority: index % 4, batch: index < 12 ? "list" : nil)
        }
        for (index, job) in try await fixture.claim(12).enumerated() {
            fixture.time.advance(by: .milliseconds(index % 2 * 10))
            switch index {
            case 0, 1, 2: try await fixture.settle(job, .done(bytes: 1000))
            case 3, 4: try await fixture.settle(job, .failed(message: "gone"))
            case 5: try await fixture.settle(job, .retry(after: .seconds(60), message: "slow"))
            case 6, 7:
                _ = try await fixture.store.cancel(.ids([job.lease.job]))
                try await fixture.settle(job, .cancelled)
            default: break
            }
        }
        let waiting = try await fixture.store.jobs(in: .waiting, after: nil, atMost: 3).map(\.id)
        _ = try await fixture.store.pause(.ids(waiting))
    }

    /// All pages of a list.
    private static func pages(
        of filter: DownloadFilter, _ store: any QueueStore, size: Int
    ) async throws -> [ListedDownload] {
        var all: [ListedDownload] = []
        while true {
            let page = try await store.list(filter, after: all.last?.position, atMost: size)
            all += page
            if page.count < size { return all }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a list has what its filter lets through, in order, and pages don't overlap`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await Self.fill(fixture)
            let everything = try await fixture.store.jobs(in: .all, after: nil, atMost: 100)
            let conditions: [DownloadFilter] = [
                DownloadFilter(), DownloadFilter(user: "ann"), DownloadFilter(batch: "list"),
                DownloadFilter(host: "b.example"), DownloadFilter(name: "SONG-1"), DownloadFilter(name: "mp3"),
                DownloadFilter(name: "überblick"), DownloadFilter(name: "%"), DownloadFilter(user: "a\0"),
                DownloadFilter(user: "ben", batch: "list", host: "a.example", name: "s"),
            ]
            for state in Self.states {
                for condition in conditions {
                    var filter = condition
                    filter.state = state
                    let all = try await fixture.store.list(filter, after: nil, atMost: 100)
                    let expected = everything.filter { download in
                        state.map { download.state == $0 } ?? true
                            && filter.user.map { user in download.members.contains { $0.user == user } } ?? true
                            && filter.batch.map { batch in download.members.contains { $0.batch == batch } } ?? true
                            && filter.host.map { download.request.host == $0 } ?? true
                            && filter.name.map {
                                download.request.name.asciiLowercased.contains($0.asciiLowercased)
                            } ?? true
                    }
                    #expect(Set(all.map(\.download)) == Set(expected), "\(filter)")
                    #expect(try await fixture.store.count(filter) == expected.count, "\(filter)")
                    for size in [1, 4] {
                        #expect(try await Self.pages(of: filter, fixture.store, size: size) == all, "\(filter)")
                    }
                }
            }
            #expect(try await fixture.store.list(DownloadFilter(name: "überblick"), after: nil, atMost: 9).isEmpty)
            #expect(
                try await fixture.store.list(DownloadFilter(name: "Überblick.mp"), after: nil, atMost: 9).count == 1)
            for count in [0, -1] {
                #expect(try await fixture.store.list(DownloadFilter(), after: nil, atMost: count).isEmpty)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a list has the order of the snapshot`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await Self.fill(fixture)
            let snapshot = try await fixture.store.snapshot(listing: 100)
            func listed(_ state: QueuedDownload.State) async throws -> [QueuedDownload] {
                try await fixture.store.list(DownloadFilter(state: state), after: nil, atMost: 100).map(\.download)
            }
            #expect(try await listed(.waiting) == snapshot.waiting)
            #expect(try await listed(.paused) == snapshot.paused)
            #expect(try await listed(.running) == snapshot.running.map(\.download))
            for state in [QueuedDownload.State.done, .failed, .cancelled] {
                #expect(try await listed(state) == snapshot.ended.filter { $0.state == state })
            }
            let all = try await fixture.store.list(DownloadFilter(), after: nil, atMost: 100)
            #expect(all.map(\.download.id) == all.map(\.download.id).sorted(by: >))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a running download has its worker, its lease and the progress that the worker reported`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("a")
            try await fixture.add("b")
            let claimed = try await fixture.claim(2, lease: .seconds(60))
            let presence = WorkerPresence(
                machine: "studio-1", process: 4711, began: Date(queueTime: 1_700_000_000_000),
                limits: .init(total: 8, perHost: nil, perUser: 2), resolves: true)
            try await fixture.store.report(
                presence, of: fixture.worker,
                [
                    ReportedProgress(job: claimed[0].lease.job, receivedBytes: 10, totalBytes: 40),
                    ReportedProgress(job: claimed[1].lease.job, receivedBytes: 7),
                    // It isn't this worker's job.
                    ReportedProgress(job: JobID(rawValue: 77), receivedBytes: 1),
                ])
            let running = try await fixture.store.list(DownloadFilter(state: .running), after: nil, atMost: 9)
            #expect(running.map(\.receivedBytes) == [10, 7])
            #expect(running.map(\.totalBytes) == [40, nil])
            #expect(running.map(\.worker) == [fixture.worker.name, fixture.worker.name])
            let end = Date(queueTime: fixture.time.queueTime.now() + 60_000)
            #expect(running.map(\.leaseEnd) == [end, end])
            #expect(running.map(\.host) == ["host.example", "host.example"])

            let worker = try #require(try await fixture.store.workers().first)
            #expect(worker.presence == presence)
            #expect(worker.seen == Date(queueTime: fixture.time.queueTime.now()))
            #expect(worker.runningCount == 2)
            #expect(worker.leaseEnd == end)

            try await fixture.settle(claimed[0], .released)
            fixture.time.advance(by: .seconds(1))
            try await fixture.store.report(presence, of: fixture.worker, [])
            let waiting = try await fixture.store.list(DownloadFilter(state: .waiting), after: nil, atMost: 9)
            #expect(waiting.map(\.receivedBytes) == [nil])
            #expect(waiting.map(\.worker) == [nil])
            let again = try await fixture.store.workers()
            #expect(again.map(\.runningCount) == [1])
            #expect(again.map(\.seen) == [Date(queueTime: fixture.time.queueTime.now())])

            try await fixture.store.detach(fixture.worker)
            #expect(try await fixture.store.workers().isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a worker that has failed is shown until a later one begins on its machine`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            func presence(_ machine: String, failure: String? = nil) -> WorkerPresence {
                WorkerPresence(
                    machine: machine, process: 4711, began: Date(queueTime: fixture.time.queueTime.now()),
                    limits: .init(total: 8), resolves: false, failure: failure)
            }
            func failures() async throws -> [String?] { try await fixture.store.workers().map(\.presence.failure) }
            let (failed, neighbor) = (presence("studio-1", failure: "The disk is full."), presence("studio-1"))
            fixture.time.advance(by: .seconds(1))
            try await fixture.store.report(failed, of: fixture.worker, [])
            #expect(try await failures() == ["The disk is full."])
            fixture.time.advance(by: .seconds(1))
            // It was already running.
            try await fixture.store.report(neighbor, of: QueueWorker(name: "neighbor"), [])
            try await fixture.store.report(presence("studio-2"), of: QueueWorker(name: "remote"), [])
            #expect(try await failures().compactMap(\.self) == ["The disk is full."])
            #expect(try await failures().count == 3)
            try await fixture.store.report(presence("studio-1"), of: QueueWorker(name: "later"), [])
            #expect(try await failures() == [nil, nil, nil])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the running jobs are counted as the limits count them`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            #expect(try await fixture.store.runningCounts() == RunningCounts())
            try await fixture.add("a", host: "a.example", user: "ann")
            try await fixture.add("b", host: "b.example", user: "ann")
            try await fixture.add("c", host: "a.example")
            let claimed = try await fixture.claim(3)
            let all = RunningCounts(total: 3, ofHost: ["a.example": 2, "b.example": 1], ofUser: ["ann": 2])
            #expect(try await fixture.store.runningCounts() == all)
            try await fixture.settle(claimed[1], .done(bytes: 1))
            let rest = RunningCounts(total: 2, ofHost: ["a.example": 2], ofUser: ["ann": 1])
            #expect(try await fixture.store.runningCounts() == rest)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what ended is counted for each minute`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let start = Date(queueTime: fixture.time.queueTime.now())
            for index in 0..<4 { try await fixture.add("\(index)") }
            let claimed = try await fixture.claim(4)
            try await fixture.settle(claimed[0], .done(bytes: 5))
            try await fixture.settle(claimed[1], .done(bytes: 7))
            fixture.time.advance(by: .seconds(120))
            try await fixture.settle(claimed[2], .failed(message: "gone"))
            try await fixture.settle(claimed[3], .retry(after: .seconds(1), message: "slow"))
            let minutes = try await fixture.store.minutes(since: start)
            #expect(minutes.map(\.doneCount) == [2, 0])
            #expect(minutes.map(\.failedCount) == [0, 1])
            #expect(minutes.map(\.doneBytes) == [12, 0])
            #expect(minutes.count == 2 && minutes[1].time.timeIntervalSince(minutes[0].time) == 120)
            let later = Date(queueTime: fixture.time.queueTime.now())
            #expect(try await fixture.store.minutes(since: later).map(\.doneCount) == [0])
            #expect(try await fixture.store.minutes(since: .distantFuture).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the events of one download come latest first`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let id = try await fixture.add("a", user: "ann")
            try await fixture.add("b")
            let claimed = try await fixture.claim(2)
            try await fixture.settle(claimed[0], .retry(after: .zero, message: "slow"))
            try await fixture.settle(claimed[1], .done(bytes: 1))
            let events = try await fixture.store.events(of: id, atMost: 9)
            #expect(events.map(\.kind) == [.retrying, .started, .added])
            #expect(events.allSatisfy { $0.download == id })
            #expect(try await fixture.store.events(of: id, atMost: 1) == Array(events.prefix(1)))
            #expect(try await fixture.store.events(of: JobID(rawValue: 77), atMost: 9).isEmpty)
        }
    }
}
