import Foundation
import GRDB
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceDatabase
@testable import SluiceDownloads

@Suite struct `Shared SQLite queues` {
    private let everything = DownloadCoordinator.Limits(total: 99, perHost: nil)

    private func claim(_ store: SQLiteQueueStore, _ worker: QueueWorker, _ count: Int = 1) async throws -> [ClaimedJob]
    {
        try await store.takeTurn(
            [], claiming: JobClaim(worker: worker, count: count, limits: everything, lease: .seconds(60))
        ).claimed
    }

    private func lockFiles(beside url: URL) throws -> [String] {
        try names(in: url.deletingLastPathComponent()).filter { $0.contains("-worker-") }
    }

    @Test func `jobs and leases survive closing and opening again`() async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let first = try await SQLiteQueueStore.open(at: url, time: time.queueTime)
            let worker = try await first.attach()
            _ = try await first.enqueue(
                [.named("a", user: "ann"), .named("b"), .named("c")], options: .init(batch: "x"))
            let claimed = try await claim(first, worker, 2)
            let retry = JobSettlement(lease: claimed[1].lease, outcome: .retry(after: .seconds(5), message: "slow"))
            _ = try await first.takeTurn([retry], claiming: nil)
            let before = try await first.snapshot(listing: 9)
            try await first.close()
            let second = try await SQLiteQueueStore.open(at: url, time: time.queueTime)
            #expect(try await second.snapshot(listing: 9) == before)
            let done = JobSettlement(lease: claimed[0].lease, outcome: .done(bytes: 1))
            #expect(try await second.takeTurn([done], claiming: nil).refused.isEmpty)
            #expect(try await second.cancel(.batch("x")).stopped.map(\.request.name) == ["b", "c"])
            try await second.close()
        }
    }

    @Test func `a change to many jobs uses one transaction per thousand jobs`() async throws {
        try await withQueueFile { url in
            let count = 2 * changedAtOnce + 1
            let all = (1...Int64(count)).map { JobID(rawValue: $0) }
            let other = try await SQLiteQueueStore.open(at: url, time: .system, synchronous: .normal)
            // Each transaction reads the clock.
            let moments = Monitor(0)
            let time = QueueTime {
                moments.withState { $0 += 1 }
                return 1000
            }
            let store = try await SQLiteQueueStore.open(at: url, time: time, synchronous: .normal)
            let requests = (0..<count).map { DownloadRequest.named("\($0)", user: $0 % 2 == 0 ? "ann" : "ben") }
            _ = try await store.enqueue(requests, options: .init(batch: "list"))
            func expectSteps<R>(_ expected: Int, _ change: () async throws -> R) async throws -> R {
                let before = moments.state
                let result = try await change()
                #expect(moments.state - before == expected)
                return result
            }
            #expect(try await expectSteps(3) { try await store.pause(.batch("list")).stopped.map(\.id) } == all)
            #expect(try await expectSteps(3) { try await store.resume(.all) } == all)
            let changed = try await expectSteps(2) { try await store.prioritize(.user("ann"), priority: 1) }
            #expect(changed == changedAtOnce + 1)
            #expect(try await expectSteps(3) { try await store.cancel(.state(.waiting)).stopped.map(\.id) } == all)
            #expect(try await expectSteps(3) { try await store.retry(.ids(all.reversed())) } == all)
            #expect(try await expectSteps(3) { try await store.cancel(.all).stopped.map(\.id) } == all)
            #expect(try await expectSteps(3) { try await store.remove(.all) } == count)
            #expect(try await other.snapshot(listing: 0).counts == [:])
            try await other.close()
            try await store.close()
        }
    }

    /// A program that knows only version 2 of the tables doesn't maintain the lines of batches, so a job that it has claimed still stands
    /// in one.
    @Test func `a batch's job that an older program left in line is claimed again`() async throws {
        try await withQueueFile { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            let fixture = StoreFixture(store: store, time: time, worker: try await store.attach())
            try await fixture.add("a", batch: "list")
            try await store.execute(
                """
                UPDATE job SET state = 1, worker = 'old', token = 1, lease_until = 0, charged = '';
                DELETE FROM line; DELETE FROM lane;
                """)
            #expect(try await fixture.claimNames(batch: "list") == ["a"])
            try await store.close()
        }
    }

    @Test func `a claim takes over a dead worker's jobs immediately, but not a live worker's`() async throws {
        try await withQueueFile { url in
            let dying = try await SQLiteQueueStore.open(at: url)
            let living = try await SQLiteQueueStore.open(at: url)
            _ = try await dying.enqueue([.named("a"), .named("b"), .named("c")], options: .init())
            let lost = try await claim(dying, dying.attach())
            let kept = try await claim(living, living.attach())
            // As after a kill, its lock is gone and its jobs stay.
            try await dying.close()
            let heir = try await SQLiteQueueStore.open(at: url)
            let worker = try await heir.attach()
            let claimed = try await claim(heir, worker, 9)
            #expect(claimed.map(\.request.name) == ["a", "c"])
            #expect(claimed.map(\.mayBePublished) == [true, false])
            let late = JobSettlement(lease: lost[0].lease, outcome: .done(bytes: 1))
            #expect(try await heir.takeTurn([late], claiming: nil).refused == [late.lease])
            let fine = JobSettlement(lease: kept[0].lease, outcome: .done(bytes: 1))
            #expect(try await living.takeTurn([fine], claiming: nil).refused.isEmpty)
            try await heir.detach(worker)
            try await heir.close()
            try await living.close()
            #expect(try lockFiles(beside: url) == [])
        }
    }

    @Test func `a dead worker's jobs are released without another worker, a live worker's aren't`() async throws {
        try await withQueueFile { url in
            let dying = try await SQLiteQueueStore.open(at: url)
            let living = try await SQLiteQueueStore.open(at: url)
            _ = try await dying.enqueue([.named("a"), .named("b")], options: .init())
            let lost = try await claim(dying, dying.attach())
            let kept = try await claim(living, living.attach())
            // As after a kill, its lock is gone and its jobs stay.
            try await dying.close()
            try await living.releaseJobsOfDeadWorkers()
            let ids = [lost, kept].map { $0[0].lease.job }
            #expect(try await living.jobs(ids).map(\.state) == [.waiting, .running])
            let done = JobSettlement(lease: kept[0].lease, outcome: .done(bytes: 1))
            #expect(try await living.takeTurn([done], claiming: nil).refused.isEmpty)
            try await living.close()
        }
    }

    @Test func `a worker that couldn't take its lock isn't considered dead`() async throws {
        try await withQueueFile { url in
            let store = try await SQLiteQueueStore.open(at: url)
            _ = try await store.enqueue([.named("a")], options: .init())
            // In a cancelled task, the lock file isn't created.
            let unlocked = try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await store.attach()
            }.value
            #expect(try lockFiles(beside: url) == [])
            #expect(try await claim(store, unlocked).count == 1)
            let other = try await SQLiteQueueStore.open(at: url)
            #expect(try await claim(other, other.attach()).isEmpty)
            try await other.close()
            try await store.close()
        }
    }

    @Test func `the next worker removes the file of a killed worker without jobs`() async throws {
        try await withQueueFile { url in
            let store = try await SQLiteQueueStore.open(at: url)
            let file = url.deletingLastPathComponent().appending(path: "queue.db-worker-dead")
            try await Data().asyncWrite(to: file)
            try await store.execute("INSERT INTO worker (name) VALUES ('dead')")
            let worker = try await store.attach()
            #expect(try lockFiles(beside: url) == ["queue.db-worker-\(worker.name)"])
            // Even in a cancelled task, which is how a worker ends.
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.detach(worker)
            }.value
            #expect(try lockFiles(beside: url) == [])
            try await store.close()
        }
    }

    @Test func `two stores on a file hand out five hundred jobs, each once, within the limits`() async throws {
        try await withQueueFile { url in
            let stores = [
                try await SQLiteQueueStore.open(at: url, time: .system, synchronous: .normal),
                try await SQLiteQueueStore.open(at: url, time: .system, synchronous: .normal),
            ]
            let requests = (0..<500).map { DownloadRequest.named("\($0)", user: "u\($0 % 5)") }
            _ = try await stores[0].enqueue(requests, options: .init())
            let counter = RunningCounter(limits: .init(total: 2, perHost: nil, perUser: 1))
            let workers = [try await stores[0].attach(), try await stores[1].attach()]
            try await counter.workOff(with: 16) { (stores[$0 % 2], workers[$0 % 2]) }
            let state = counter.state
            #expect(state.most == 2)
            #expect(state.claimed.sorted() == requests.map(\.name).sorted())
            #expect(state.violations == [])
            for store in stores { try await store.close() }
        }
    }

    @Test func `enqueue on a full store adds nothing, and succeeds once there is room`() async throws {
        try await withQueueFile { url in
            let store = try await SQLiteQueueStore.open(at: url)
            try await store.execute("PRAGMA max_page_count = 40")
            let many = (0..<2000).map { DownloadRequest.named("\($0)") }
            let error = await #expect(throws: QueueStoreError.self) {
                _ = try await store.enqueue(many, options: .init())
            }
            #expect(error?.code == .full)
            #expect(try await store.snapshot(listing: 0).counts.isEmpty)
            try await store.execute("PRAGMA max_page_count = 100000")
            #expect(try await store.enqueue(many, options: .init()).count == 2000)
            try await store.close()
        }
    }

    @Test(
        arguments: [
            (.SQLITE_BUSY, .busy), (.SQLITE_BUSY_SNAPSHOT, .busy), (.SQLITE_BUSY_RECOVERY, .busy),
            (.SQLITE_LOCKED, .busy),
            (.SQLITE_PROTOCOL, .busy), (.SQLITE_FULL, .full), (.SQLITE_IOERR, .notWritable),
            (.SQLITE_IOERR_FSYNC, .notWritable),
            (.SQLITE_READONLY, .notWritable), (.SQLITE_READONLY_DBMOVED, .notWritable),
            (.SQLITE_READONLY_CANTLOCK, .notWritable),
            (.SQLITE_READONLY_DIRECTORY, .notWritable), (.SQLITE_CANTOPEN, .notWritable), (.SQLITE_CORRUPT, .unusable),
            (.SQLITE_NOTADB, .unusable), (.SQLITE_MISUSE, .closed), (.SQLITE_NOMEM, .other), (.SQLITE_ERROR, .other),
        ] as [(ResultCode, QueueStoreError.Code)])
    func `only a busy database is an outage, and other SQLite errors end the run`(
        _ result: ResultCode, _ code: QueueStoreError.Code
    ) {
        let error = QueueStoreError(DatabaseFailure(DatabaseError(resultCode: result), path: "/queue.db"))
        #expect(error.code == code && error.isOutage == (code == .busy))
    }

    @Test func `enqueue with header fields or passwords fails, stores nothing and repeats no secret`()
        async throws
    {
        try await withQueueFile { url in
            let store = try await SQLiteQueueStore.open(at: url)
            var secret = DownloadRequest(
                URL(string: "https://me:hunter2@host.example/a?token=hunter3")!, to: URL(string: "file:///music/")!)
            secret.headerFields = [.authorization: "Bearer hunter4"]
            let error = await #expect(throws: QueueStoreError.self) {
                _ = try await store.enqueue([.named("fine"), secret], options: .init())
            }
            #expect(error?.code == .headerFieldsNotStored)
            #expect(error?.description.contains("hunter") == false)
            #expect(error?.description.contains("headerFields") == true)
            secret.headerFields = [:]
            let other = await #expect(throws: QueueStoreError.self) {
                _ = try await store.enqueue([.named("fine"), secret], options: .init())
            }
            #expect(other?.code == .passwordNotStored)
            #expect(other?.description.contains("hunter") == false)
            #expect(try await store.snapshot(listing: 0).counts.isEmpty)
            try await store.close()
        }
    }

    @Test func `only the owner can read the file and its companions`() async throws {
        try await withQueueFile { url in
            let store = try await SQLiteQueueStore.open(at: url)
            _ = try await store.enqueue([.named("a")], options: .init())
            for ending in ["", "-wal", "-shm"] {
                let status = try await FileIO.shared.status(of: URL(filePath: url.path + ending))
                #expect(status?.permissions.rawValue == 0o600, "\(ending)")
            }
            try await store.close()
        }
    }

    @Test func `damaged, newer and foreign files are refused`() async throws {
        try await withQueueFile { url in
            try await SQLiteQueueStore.open(at: url).close()
            for (version, code) in [(-1, QueueStoreError.Code.unusable), (99, .newerVersion)] {
                let queue = try DatabaseQueue(path: url.path(percentEncoded: false))
                try await queue.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
                try queue.close()
                let error = await #expect(throws: QueueStoreError.self) { _ = try await SQLiteQueueStore.open(at: url) }
                #expect(error?.code == code)
            }
        }
        try await withQueueFile { url in
            try await Data(repeating: 0x41, count: 9000).asyncWrite(to: url)
            let error = await #expect(throws: QueueStoreError.self) { _ = try await SQLiteQueueStore.open(at: url) }
            #expect(error?.code == .unusable)
            #expect(error?.description.contains("queue.db") == true)
        }
    }

    @Test func `directory names that aren't UTF-8 come back unchanged and stay distinct`() async throws {
        try await withQueueFile { url in
            let store = try await SQLiteQueueStore.open(at: url)
            let requests = ["file:///tmp/%FF/", "file:///tmp/%FE/", "file:///tmp/%25FF/"].map {
                DownloadRequest(URL(string: "https://host.example/a")!, to: URL(string: $0)!)
            }
            let enqueued = try await store.enqueue(requests, options: .init())
            #expect(enqueued.map(\.admission) == [.added, .added, .added])
            #expect(try await store.jobs(enqueued.map(\.id)).map(\.request) == requests)
            try await store.close()
        }
    }
}

/// `version-1.sql` is the dump of a file that the program wrote with the first version of the tables.
@Suite struct `Migrations of an SQLite queue` {
    private static func withVersion1(_ test: (URL) async throws -> Void) async throws {
        try await withQueueFile { url in
            let dump = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "version-1.sql")
            let sql = try String(contentsOf: dump, encoding: .utf8)
            var configuration = Configuration()
            // A dump lists its tables in no particular order.
            configuration.foreignKeysEnabled = false
            let queue = try DatabaseQueue(path: url.path(percentEncoded: false), configuration: configuration)
            try await queue.write { database in
                let statements = sql.replacing("BEGIN TRANSACTION;", with: "").replacing("COMMIT;", with: "")
                try database.execute(sql: statements)
                try database.execute(sql: "PRAGMA application_id = \(0x534C_4451); PRAGMA user_version = 1")
            }
            try queue.close()
            try await test(url)
        }
    }

    @Test func `a file of version 1 keeps its jobs, and every batch becomes a member`() async throws {
        try await Self.withVersion1 { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime)
            let jobs = try await store.jobs((1...20).map { JobID(rawValue: $0) })
            let seen = jobs.map { job in
                let members = job.members.map { "\($0.user ?? "-")/\($0.batch ?? "-")/\($0.priority)" }
                return "\(job.id) \(job.request.name) \(job.state) \(members.joined(separator: " "))"
            }
            #expect(
                seen == [
                    "2 done done ann/list/0", "3 failed failed -/list/0", "4 cancelled running ben/-/0",
                    "6 running running ann/list/4 ann/second/4", "7 delayed waiting ben/list/0",
                    "8 cancelling running ben/-/0", "9 w1 waiting cleo/list/1",
                    "10 w2 waiting cleo/list/2 cleo/other/2",
                    "11 it's \"x\" \u{1F3B5} caf\u{e9} waiting cleo/list/1", "12 w3 waiting -/-/0 -/other/0",
                ])
            #expect(jobs[0].fileSize == 7 && jobs[1].message == "gone" && jobs[1].failureCount == 1)
            try await store.close()
        }
    }

    @Test func `in a migrated queue, leases expire, delays end and numbers aren't reused`() async throws {
        try await Self.withVersion1 { url in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(at: url, time: time.queueTime, synchronous: .normal)
            let fixture = StoreFixture(store: store, time: time, worker: QueueWorker(name: "new"))
            let limits = DownloadCoordinator.Limits(total: 100, perHost: nil, perUser: 1)
            // Ann still runs one job, and ben runs two.
            #expect(try await fixture.claimNames(9, limits: limits) == ["w2", "w3"])
            // All leases have expired.
            time.advance(by: .seconds(61))
            #expect(try await fixture.claimNames(9, limits: limits) == ["running", "w2", "delayed", "w3"])
            #expect(try await fixture.counts() == [.done: 1, .failed: 1, .cancelled: 2, .running: 4, .waiting: 2])
            #expect(try await fixture.add("new").rawValue == 13)
            try await store.close()
        }
    }

    @Test func `concurrent openers migrate a file once`() async throws {
        try await Self.withVersion1 { url in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let store = try await SQLiteQueueStore.open(at: url, time: .system)
                        let count = try await store.snapshot(listing: 0).counts.values.reduce(0, +)
                        try await store.close()
                        return count
                    }
                }
                for try await count in group { #expect(count == 10) }
            }
        }
    }

    @Test func `a migrated file has the tables of a new one`() async throws {
        func tables(_ url: URL) throws -> [String] {
            try DatabaseQueue(path: url.path(percentEncoded: false)).read { database in
                try String.fetchAll(
                    database, sql: "SELECT type || name || ifnull(sql, '') FROM sqlite_schema ORDER BY 1")
            }
        }
        try await withQueueFile { new in
            try await SQLiteQueueStore.open(at: new, time: .system).close()
            let expected = try tables(new)
            try await Self.withVersion1 { url in
                try await SQLiteQueueStore.open(at: url, time: .system).close()
                #expect(try tables(url) == expected)
            }
        }
    }
}
