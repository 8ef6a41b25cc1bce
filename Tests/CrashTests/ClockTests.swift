import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

/// The wall clock of the processes jumps by an hour while they work. Nothing may wait that long: the time limit of the tests is shorter.
@Suite struct `Workers whose clock jumps` {
    private static let limits = DownloadCoordinator.Limits(total: 4, perHost: 3, perUser: 2)
    private static let lanes = 2
    private static let jumps: [Int64] = [3600, -3600]

    /// A file that sets the clock of a process.
    private struct Clock {
        let file: URL

        init(in directory: URL, _ name: String) throws {
            file = directory.appending(path: "clock \(name)", directoryHint: .notDirectory)
            try set(0)
        }

        /// In place, because the process has mapped the file.
        func set(_ seconds: Int64) throws {
            let handle = FileHandle(forWritingAtPath: file.path) ?? FileHandle.nullDevice
            guard FileManager.default.fileExists(atPath: file.path) else {
                try withUnsafeBytes(of: seconds) { try Data($0).write(to: file) }
                return
            }
            try withUnsafeBytes(of: seconds) { try handle.write(contentsOf: Data($0)) }
            try handle.close()
        }
    }

    /// A queue in a file with a clock that the test sets, and two workers with leases of a minute.
    private func withClock(
        _ test: @Sendable (Guarded<Int64>, _ store: SQLiteQueueStore, _ workers: [QueueWorker]) async throws -> Void
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-crash") { directory in
            let now = Guarded<Int64>(10_000_000)
            let store = try await SQLiteQueueStore.open(
                at: directory.appending(path: "queue.db"), time: QueueTime { now.withLock { $0 } })
            _ = try await store.enqueue(
                (0..<2).map {
                    DownloadRequest(URL(string: "https://host.example/\($0)")!, to: URL(string: "file:///a/")!)
                }, options: EnqueueOptions())
            try await test(now, store, [try await store.attach(), try await store.attach()])
            try await store.close()
        }
    }

    private func claim(_ store: SQLiteQueueStore, _ worker: QueueWorker, count: Int = 1) async throws -> JobTurn {
        try await store.takeTurn(
            [],
            claiming: JobClaim(
                worker: worker, count: count, limits: .init(total: 9, perHost: nil), lease: .seconds(60)))
    }

    @Test func `after the clock is set back, a dead worker's job is claimed after one lease duration`() async throws {
        try await withClock { now, store, workers in
            let lost = try await claim(store, workers[0]).claimed
            now.withLock { $0 -= 3_600_000 }
            #expect(try await claim(store, workers[1]).claimed.count == 1)
            let turn = try await claim(store, workers[1])
            #expect(turn.claimed == [] && turn.nextDue == .seconds(60))
            now.withLock { $0 += 60_000 }
            #expect(try await claim(store, workers[1], count: 2).claimed.map(\.lease.job).contains(lost[0].lease.job))
        }
    }

    @Test func `after the clock is set forward, all leases expire and their tokens record nothing`() async throws {
        try await withClock { now, store, workers in
            let lost = try await claim(store, workers[0]).claimed[0]
            now.withLock { $0 += 3_600_000 }
            let claimed = try await claim(store, workers[1], count: 2).claimed
            #expect(claimed.count == 2)
            let late = JobSettlement(lease: lost.lease, outcome: .done(bytes: 1))
            #expect(try await store.takeTurn([late], claiming: nil).refused == [lost.lease])
            #expect(try await store.renew(workers[0], lease: .seconds(60)) == [])
        }
    }

    @Test func `after the clock is set back, a delay lasts until the clock reaches its end again`() async throws {
        try await withClock { now, store, workers in
            let claimed = try await claim(store, workers[0]).claimed[0]
            let retry = JobSettlement(
                lease: claimed.lease,
                outcome: .retry(after: .seconds(5), TransferError(.stalled, url: claimed.request.url)))
            _ = try await store.takeTurn([retry], claiming: nil)
            now.withLock { $0 -= 3_600_000 }
            #expect(try await claim(store, workers[1], count: 2).claimed.count == 1)
            #expect(try await claim(store, workers[1], count: 2).nextDue == .seconds(60))
            // The store can't tell this from a long delay. Somebody can end it with a retry.
            now.withLock { $0 += 3_605_000 }
            #expect(try await claim(store, workers[1], count: 2).claimed.map(\.lease.job).contains(claimed.lease.job))
        }
    }

    /// With SQLite, all workers share a machine and its clock. With PostgreSQL, the clock of one machine jumps.
    @Test(.timeLimit(.minutes(15)), arguments: QueueKind.allCases, Self.jumps)
    func `lose no job and don't wait for the clock`(_ kind: QueueKind, _ seconds: Int64) async throws {
        try await SharedQueue.with(kind) { queue in
            let clocks = try (0..<Self.lanes).map { try Clock(in: queue.directory, "\($0)") }
            let ledger = Ledger(limits: Self.limits)
            let songs = Songs(48, lanes: Self.lanes, seed: 5, ledger: ledger) { _ in
                // Wait until a third of the files has been requested and the limits are reached.
                guard ledger.state.requests.count >= 16 else { return }
                for clock in kind == .sqlite ? clocks : [clocks[0]] { try? clock.set(seconds) }
            }
            // After the jump, these downloads take as long as two leases.
            let long = Set(songs.songs.suffix(Self.lanes).map { "/\($0.name)" })
            try await LoopbackOrigin.serve {
                let answer = await songs.answer($0)
                return long.contains($0.target) ? answer.pausing(.seconds(8)) : answer
            } during: { origin in
                for lane in 0..<Self.lanes {
                    _ = try await queue.store.enqueue(
                        songs.requests(lane: lane, origin, to: queue.files),
                        options: EnqueueOptions(batch: "lane \(lane)"))
                }
                let workers = try (0..<Self.lanes).map { lane in
                    try queue.worker(
                        Self.limits, ["batch": "lane \(lane)", "clock": clocks[lane].file.path, "lease": "4"])
                }
                defer { for worker in workers { worker.signal(SIGKILL) } }
                for worker in workers {
                    let end = await worker.end()
                    #expect(!end.wasKilled && end.status == 0, "\(end.error)")
                }
            }
            let history = try await queue.history()
            #expect(history.violations(of: Self.limits) == [], "limits, as the store counts")
            #expect(history.lossesAndRepeats() == [])
            let wrong = try songs.wrongFiles(in: queue.files)
            #expect(wrong == [])
            let times = history.events.filter { $0.kind == .done }.map { abs($0.time.timeIntervalSinceNow) }
            switch kind {
            case .sqlite:
                #expect(times.contains { $0 > 1800 }, "the clock didn't jump")
                // A jump forward expires all leases once, so a running download may start twice.
                let starts = history.counts(.started)
                for job in history.jobs.values {
                    #expect(ledger.state.requests[job.request.name, default: 0] <= starts[job.id, default: 0])
                }
            case .postgres:
                #expect(!times.contains { $0 > 1800 }, "the server's clock counts")
                #expect(ledger.state.violations == [], "limits, as the server counts")
                #expect(ledger.state.requests.filter { $0.value != 1 } == [:], "requested more than once")
            }
        }
    }
}

extension OriginResponse {
    /// Pauses before the last bytes.
    fileprivate func pausing(_ pause: Duration) -> OriginResponse {
        var response = self
        response.steps.insert(.pause(pause), at: max(0, steps.count - 3))
        return response
    }
}
