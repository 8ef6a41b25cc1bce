import Foundation
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceDownloads

/// Eight processes that work on one queue concurrently, each on its own batch. The limits hold for all of them together.
@Suite struct `Eight processes on one queue` {
    private static let limits = DownloadCoordinator.Limits(total: 10, perHost: 4, perUser: 2)
    private static let lanes = 8
    private static let steps = ["claimed"] + TransferPhase.allCases.map { "\($0)" } + ["recorded"]

    /// The number of kills. Scripts/check-thoroughly.sh raises it.
    private static let kills = ProcessInfo.processInfo.environment["SLUICE_KILLS"].flatMap { Int($0) } ?? 24

    /// What happened to the processes of some lanes.
    private struct Tally {
        var kills = 0
        /// Kills of a process that held jobs.
        var hits = 0
        var hitsByStep: [String: Int] = [:]
        var problems: [String] = []

        mutating func add(_ other: Tally) {
            kills += other.kills
            hits += other.hits
            hitsByStep.merge(other.hitsByStep) { $0 + $1 }
            problems += other.problems
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: QueueKind.allCases)
    func `download every file once and never exceed a limit, as counted by the server`(_ kind: QueueKind) async throws {
        try await SharedQueue.with(kind) { queue in
            let ledger = Ledger(limits: Self.limits)
            // The first responses wait until as many requests run as the limits allow.
            let songs = Songs(160, lanes: Self.lanes, seed: 1, ledger: ledger) { _ in
                try? await ledger.waitUnlessCancelled { $0.peak >= Self.limits.total }
            }
            let tally = try await Self.work(queue, songs, kills: [])
            #expect(tally.problems == [])
            #expect(ledger.state.peak == Self.limits.total)
            #expect(ledger.state.requests.filter { $0.value != 1 } == [:], "requested more than once")
            try await Self.check(queue, songs, kills: 0)
        }
    }

    @Test(.timeLimit(.minutes(60)), arguments: QueueKind.allCases)
    func `lose no job and repeat no finished download, however they are killed`(_ kind: QueueKind) async throws {
        try await SharedQueue.with(kind) { queue in
            var random = SeededRandom(seed: 2)
            var steps: [String] = []
            // The last step gets half as many kills, because a process often holds no job by then.
            while steps.count < Self.kills {
                steps += Self.steps.shuffled(using: &random) + Self.steps.dropLast().shuffled(using: &random)
            }
            let kills = steps.prefix(Self.kills).map { (step: $0, count: Int.random(in: 1...2, using: &random)) }
            // Enough songs for each process to reach its step, and a few more.
            let songs = Songs(
                5 * Self.kills + 6 * Self.lanes, lanes: Self.lanes, seed: 3, ledger: Ledger(limits: Self.limits))
            let tally = try await Self.work(queue, songs, kills: kills)

            let text = Self.steps.map { "\($0) \(tally.hitsByStep[$0, default: 0])" }.joined(separator: ", ")
            let peak = songs.ledger.state.peak
            print(
                "eight processes, \(kind): \(tally.kills) kills, \(tally.hits) of workers with jobs: \(text); peak \(peak)"
            )
            #expect(tally.problems == [])
            #expect(tally.kills == Self.kills)
            #expect(tally.hits * 10 >= tally.kills * 9, "kills that hit nothing prove nothing")
            try await Self.check(queue, songs, kills: tally.kills)
        }
    }

    /// Completes a queue with one process per lane. Killed processes are replaced.
    private static func work(
        _ queue: SharedQueue, _ songs: Songs, kills: [(step: String, count: Int)]
    ) async throws -> Tally {
        try await LoopbackOrigin.serve {
            await songs.answer($0)
        } during: { origin in
            for lane in 0..<lanes {
                _ = try await queue.store.enqueue(
                    songs.requests(lane: lane, origin, to: queue.files), options: EnqueueOptions(batch: "lane \(lane)"))
            }
            return try await withThrowingTaskGroup { group in
                for lane in 0..<lanes {
                    let mine = kills.indices.filter { $0 % lanes == lane }.map { kills[$0] }
                    group.addTask { try await Self.work(queue, lane: lane, mine) }
                }
                return try await group.reduce(into: Tally()) { $0.add($1) }
            }
        }
    }

    private static func work(
        _ queue: SharedQueue, lane: Int, _ kills: [(step: String, count: Int)]
    ) async throws -> Tally {
        // Only a worker that attaches notices immediately that another one is dead, and only with SQLite.
        var options = ["batch": "lane \(lane)", "lease": queue.kind == .postgres ? "5" : "15"]
        options["durability"] = lane % 2 == 0 ? "none" : "data"
        var tally = Tally()
        for kill in kills {
            options["step"] = kill.step
            options["count"] = "\(kill.count)"
            let end = try await queue.worker(limits, options).end()
            guard end.wasKilled else {
                tally.problems.append("\(kill) of lane \(lane): exit \(end.status), not killed. \(end.error)")
                continue
            }
            tally.kills += 1
            guard !end.held.isEmpty else { continue }
            tally.hits += 1
            tally.hitsByStep[kill.step, default: 0] += 1
        }
        options["step"] = nil
        let last = try await queue.worker(limits, options).end()
        if last.wasKilled || last.status != 0 { tally.problems.append("lane \(lane): \(last.error)") }
        return tally
    }

    private static func check(_ queue: SharedQueue, _ songs: Songs, kills: Int) async throws {
        let state = songs.ledger.state
        #expect(state.violations == [], "limits, as the server counts")
        // A worker that dies after the store has recorded a job leaves its checkpoint.
        let (left, wrong) = try songs.wrongFiles(in: queue.files).divided { $0.hasSuffix(".sluice.json is left") }
        #expect(wrong == [] && left.count <= kills, "\(left)")
        let history = try await queue.history()
        #expect(history.violations(of: limits) == [], "limits, as the store counts")
        #expect(history.lossesAndRepeats() == [])
        #expect(history.jobs.count == songs.songs.count)
        // Each claim sends at most one request, and only a kill releases a job.
        let (starts, returns) = (history.counts(.started), history.counts(.released))
        for job in history.jobs.values {
            let requests = state.requests[job.request.name, default: 0]
            #expect(requests <= starts[job.id, default: 0], "\(job.request.name)")
            #expect(starts[job.id] == 1 + returns[job.id, default: 0], "\(job.request.name)")
        }
        let locks = try FileManager.default.contentsOfDirectory(atPath: queue.directory.path).filter {
            $0.contains("-worker-")
        }
        #expect(locks == [], "locks of workers that are gone")
    }
}

extension Array {
    /// The elements for which the condition holds, and the others.
    func divided(_ isFirst: (Element) -> Bool) -> ([Element], [Element]) {
        (filter(isFirst), filter { !isFirst($0) })
    }
}
