import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

#if PostgreSQL
import SluicePostgres
#endif

/// Queues and targets on small file systems, which Scripts/checks/full-disks.sh mounts.
@Suite(.serialized) struct `A full disk` {
    private static let limits = DownloadCoordinator.Limits(total: 100, perHost: nil)
    private static let environment = ProcessInfo.processInfo.environment

    /// The directory of a small file system that a variable names.
    private static func disk(_ variable: String) throws -> URL {
        URL(filePath: try #require(environment[variable]), directoryHint: .isDirectory)
    }

    /// A file that fills up a file system.
    private struct Balloon {
        let file: URL

        init(in directory: URL) { file = directory.appending(path: "balloon", directoryHint: .notDirectory) }

        /// Fills the file system to its last byte.
        func fill() throws {
            let descriptor = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            for size in [1 << 20, 4096, 1] {
                let bytes = [UInt8](repeating: 1, count: size)
                while write(descriptor, bytes, size) > 0 {}
                #expect(errno == ENOSPC)
            }
        }

        func release() { unlink(file.path) }
    }

    /// The jobs that a store has accepted, and its errors while the disk is full.
    private struct Progress {
        var accepted = 0
        var held: [ClaimedJob] = []
        var errors: [QueueStoreError] = []

        /// Enqueues until the store throws.
        mutating func enqueueUntilRefused(_ store: any QueueStore, count: Int = 50) async throws {
            while true {
                let requests = (accepted..<accepted + count).map {
                    DownloadRequest(
                        URL(string: "https://h\($0 % 7).example/\($0)")!, to: URL(string: "file:///music/")!,
                        name: "\($0)")
                }
                guard try await attempt({ _ = try await store.enqueue(requests, options: EnqueueOptions()) }) else {
                    return
                }
                accepted += count
            }
        }

        mutating func claim(_ store: any QueueStore, _ worker: QueueWorker) async throws {
            let claim = JobClaim(worker: worker, count: 4, limits: limits, lease: .seconds(3600))
            var claimed: [ClaimedJob] = []
            try await attempt { claimed = try await store.takeTurn([], claiming: claim).claimed }
            held += claimed
        }

        /// Settles the held jobs. They stay held if the store refuses because the disk is full.
        mutating func settle(_ store: any QueueStore) async throws {
            for job in held {
                let settlement = JobSettlement(lease: job.lease, outcome: .done(bytes: 1))
                var refused: [JobLease] = []
                if try await attempt({ refused = try await store.takeTurn([settlement], claiming: nil).refused }) {
                    #expect(refused == [])
                    held.removeAll { $0 == job }
                }
            }
        }

        @discardableResult
        private mutating func attempt(_ body: () async throws -> Void) async throws -> Bool {
            do {
                try await body()
                return true
            } catch let error as QueueStoreError {
                errors.append(error)
                return false
            }
        }
    }

    private static func expectState(_ progress: Progress, _ store: any QueueStore, done: Int) async throws {
        let counts = try await store.snapshot(listing: 0).counts
        #expect(counts[.done, default: 0] == done)
        #expect(counts[.running, default: 0] == progress.held.count)
        #expect(counts.values.reduce(0, +) == progress.accepted)
    }

    @Test(.enabled(if: environment["SLUICE_FULL_DISK"] != nil, "skipped: run Scripts/checks/full-disks.sh"))
    func `under an SQLite queue makes changes fail but loses nothing, and the queue recovers`() async throws {
        let disk = try Self.disk("SLUICE_FULL_DISK")
        let balloon = Balloon(in: disk)
        let store = try await SQLiteQueueStore.open(at: disk.appending(path: "queue.db"))
        let worker = try await store.attach()
        var progress = Progress()
        try balloon.fill()
        try await progress.enqueueUntilRefused(store)
        balloon.release()
        let first = progress.errors
        #expect(first.map(\.code) == [.full] && first[0].remedy != nil, "\(first)")
        try await Self.expectState(progress, store, done: 0)
        // Once there is room, everything works again.
        _ = try await store.enqueue(
            (0..<500).map {
                DownloadRequest(URL(string: "https://b.example/\($0)")!, to: URL(string: "file:///b/")!, name: "\($0)")
            }, options: EnqueueOptions())
        progress.accepted += 500
        for _ in 0..<5 { try await progress.claim(store, worker) }
        #expect(progress.held.count == 20)
        try balloon.fill()
        // Until the log has no room left, settlements and claims may succeed. Refused ones change nothing.
        progress.errors = []
        var settled = 0
        while progress.errors.isEmpty {
            let before = progress.held.count
            try await progress.settle(store)
            settled += before - progress.held.count
            if progress.errors.isEmpty { try await progress.claim(store, worker) }
        }
        #expect(progress.errors.allSatisfy { $0.code == .full }, "\(progress.errors)")
        try await Self.expectState(progress, store, done: settled)
        // Another queue can't be created here.
        let other = await #expect(throws: QueueStoreError.self) {
            _ = try await SQLiteQueueStore.open(at: disk.appending(path: "other.db"))
        }
        #expect(other?.code == .full, "\(String(describing: other))")
        balloon.release()
        progress.errors = []
        settled += progress.held.count
        try await progress.settle(store)
        #expect(progress.errors.isEmpty && progress.held.isEmpty)
        try await Self.expectState(progress, store, done: settled)
        try await store.close()
    }

    @Test(.enabled(if: environment["SLUICE_FULL_DISK"] != nil, "skipped: run Scripts/checks/full-disks.sh"))
    func `under the target ends the run, and the next run continues`() async throws {
        let disk = try Self.disk("SLUICE_FULL_DISK")
        let balloon = Balloon(in: disk)
        try await SharedQueue.with(.sqlite) { queue in
            let target = disk.appending(path: "target", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
            let songs = Songs(12, lanes: 1, seed: 6, ledger: Ledger(limits: .init(total: .max, perHost: nil)))
            try await LoopbackOrigin.serve {
                await songs.answer($0)
            } during: { origin in
                try balloon.fill()
                try await HTTPTransport.withTransport { transport in
                    let downloads = DownloadCoordinator(
                        store: queue.store, transport: transport, limits: .init(total: 3),
                        configuration: .init(retries: RetryPolicy(baseDelay: .zero))
                    ) { _, _ in }
                    _ = try await downloads.enqueue(songs.requests(lane: 0, origin, to: target))
                    let error = await #expect(throws: TransferError.self) { try await downloads.run(until: .whenEmpty) }
                    #expect(error?.fileError?.code == .noSpace, "\(String(describing: error))")
                    #expect(try await queue.store.snapshot(listing: 0).counts == [.waiting: 12])
                    balloon.release()
                    try await downloads.run(until: .whenEmpty)
                }
            }
            let wrong = try songs.wrongFiles(in: target)
            #expect(wrong == [])
            let lost = try await queue.history().lossesAndRepeats()
            #expect(lost == [])
            try FileManager.default.removeItem(at: target)
        }
    }

    @Test(.enabled(if: environment["SLUICE_FULL_DISK"] != nil, "skipped: run Scripts/checks/full-disks.sh"))
    func `under the target of a worker makes it wait for room`() async throws {
        let disk = try Self.disk("SLUICE_FULL_DISK")
        let balloon = Balloon(in: disk)
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let target = disk.appending(path: "worker", directoryHint: .isDirectory)
            let database = directory.appending(path: "queue.db").path
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: [UInt8](repeating: 1, count: 100_000))
            } during: { origin in
                let adding = try ChildProcess(
                    builtProgram("sluice"),
                    ["queue", "add", "--db", database, "-d", target.path] + (0..<5).map { origin.url("/\($0)") })
                #expect(await adding.end().status == 0)
                try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
                try balloon.fill()
                let worker = try ChildProcess(
                    builtProgram("sluice"), ["queue", "work", "--db", database, "--durability", "none"])
                // It tries again, while there is no room yet.
                _ = try await origin.metrics { $0.requests > 5 }
                balloon.release()
                let downloads = DownloadCoordinator(store: .sqlite(at: URL(filePath: database)))
                for try await snapshot in downloads.snapshots(listing: 0) where snapshot.counts == [.done: 5] { break }
                try await downloads.close()
                worker.signal(SIGINT)
                let end = await worker.end()
                #expect(end.status == 7)
                #expect(end.error.components(separatedBy: "goes on when there is room").count == 2, "\(end.error)")
            }
            for index in 0..<5 {
                let data = try Data(contentsOf: target.appending(path: "\(index)"))
                #expect(data == Data(repeating: 1, count: 100_000))
            }
            try FileManager.default.removeItem(at: target)
        }
    }

    #if PostgreSQL
    @Test(.enabled(if: environment["SLUICE_MORTAL_DATA"] != nil, "skipped: run Scripts/checks/full-disks.sh"))
    func `under a server's tables makes changes fail but loses nothing, and the queue recovers`() async throws {
        let balloon = Balloon(in: try Self.disk("SLUICE_MORTAL_DATA"))
        let store = PostgresQueueStore(
            try PostgresServers.mortal, queue: "full tables", namespace: "full")
        let worker = try await store.attach()
        try balloon.fill()
        var progress = Progress()
        try await progress.enqueueUntilRefused(store)
        #expect(progress.errors.map(\.code) == [.full] && progress.errors[0].remedy != nil, "\(progress.errors)")
        try await Self.expectState(progress, store, done: 0)
        balloon.release()
        try await progress.claim(store, worker)
        #expect(progress.held.count == min(4, progress.accepted))
        let held = progress.held.count
        progress.errors = []
        try await progress.settle(store)
        #expect(progress.errors.isEmpty)
        try await Self.expectState(progress, store, done: held)
        try await store.close()
    }

    /// Depending on where the server needs space for its log, it refuses the operation or shuts down.
    @Test(.enabled(if: environment["SLUICE_MORTAL_WAL"] != nil, "skipped: run Scripts/checks/full-disks.sh"))
    func `under a server's log makes changes fail, and confirmed ones survive a crash and restart`() async throws {
        let balloon = Balloon(in: try Self.disk("SLUICE_MORTAL_WAL"))
        let store = PostgresQueueStore(
            try PostgresServers.mortal, queue: "full log", namespace: "full",
            configuration: .init(concurrency: 2, retryTimeout: .seconds(2)))
        let worker = try await store.attach()
        var progress = Progress()
        try balloon.fill()
        try await progress.enqueueUntilRefused(store, count: 200)
        #expect(progress.errors.allSatisfy { [.unavailable, .full].contains($0.code) }, "\(progress.errors)")
        balloon.release()
        // It may already have shut down.
        _ = try? await PostgresServers.control("kill")
        try #require(try await PostgresServers.control("start").status == 0)
        let counts = try await store.snapshot(listing: 0).counts
        // The last request may have been committed before its response was lost.
        #expect([progress.accepted, progress.accepted + 200].contains(counts[.waiting, default: 0]), "\(counts)")
        progress.errors = []
        progress.accepted = counts[.waiting, default: 0]
        try await progress.claim(store, worker)
        #expect(progress.held.count == 4)
        try await progress.settle(store)
        #expect(progress.errors.isEmpty)
        try await Self.expectState(progress, store, done: 4)
        try await store.close()
    }
    #endif
}
