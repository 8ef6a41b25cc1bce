import Foundation
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceDownloads

/// Processes that are killed like with `kill -9`, at every step of a job and in the middle of its bytes, one after the
/// other on the same queue; then one more that finishes.
@Suite(.serialized) struct `Killing downloads` {
    /// The moment at which a process dies.
    enum Kill: Sendable {
        /// When a job reaches a step for the n-th time.
        case step(String, count: Int)
        /// When the server has sent this many bytes.
        case bytes(Int)
    }

    static let steps = ["claimed"] + TransferPhase.allCases.map { "\($0)" } + ["recorded"]

    /// The totals of all evenings.
    private struct Tally {
        var kills = 0
        /// Kills of a process with running jobs in the queue.
        var hits = 0
        var hitsByStep: [String: Int] = [:]
        /// Requests for the rest of a file.
        var resumed = 0
    }

    @Test(.timeLimit(.minutes(15)))
    func `at any moment loses no job, leaves no half file under a name, and downloads nothing twice that was done`()
        async throws
    {
        var tally = Tally()
        for seed in 0..<4 { try await evening(seed: UInt64(seed), &tally) }

        let text = Self.steps.map { "\($0) \(tally.hitsByStep[$0, default: 0])" }.joined(separator: ", ")
        print(
            "kill test: \(tally.kills) kills, \(tally.hits) with work in flight; by step: \(text), "
                + "bytes \(tally.hitsByStep["bytes", default: 0]); \(tally.resumed) requests for the rest of a file")
        #expect(tally.resumed > 0, "nothing was resumed")
        #expect(tally.kills >= 40)
        #expect(tally.hits * 10 >= tally.kills * 9, "kills that hit nothing prove nothing")
        for step in Self.steps + ["bytes"] {
            #expect(tally.hitsByStep[step, default: 0] > 0, "never killed at \(step)")
        }
    }

    private func evening(seed: UInt64, _ tally: inout Tally) async throws {
        var random = SeededRandom(seed: seed)
        var kills = Self.steps.map { Kill.step($0, count: .random(in: 1...3, using: &random)) }
        kills += (0..<5).map { _ in .bytes(.random(in: 1...1_200_000, using: &random)) }
        kills.shuffle(using: &random)
        let counted = tally
        tally = try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-crash") { [kills] directory in
            let evening = try Evening(in: directory, count: 64, seed: seed)
            return try await LoopbackOrigin.serve {
                evening.answer($0)
            } during: { origin in
                var tally = counted
                let lists = try evening.writeList(origin)
                for kill in kills {
                    let end = try await Self.run(evening, kill, lists, seed: seed)
                    guard end.wasKilled else {
                        Issue.record("\(kill) of evening \(seed): exit \(end.status), not killed. \(end.errors)")
                        continue
                    }
                    tally.kills += 1
                    if try await evening.jobsInFlight() > 0 {
                        tally.hits += 1
                        if case .step(let step, _) = kill { tally.hitsByStep[step, default: 0] += 1 }
                        if case .bytes = kill { tally.hitsByStep["bytes", default: 0] += 1 }
                    }
                    #expect(try await evening.checkDone(origin) == [], "after \(kill) of evening \(seed)")
                    #expect(try evening.checkFiles(isLast: false) == [], "after \(kill) of evening \(seed)")
                }
                // One more, which isn't killed.
                let last = try await Self.get(evening, lists.get).end()
                #expect(!last.wasKilled && last.status == 0, "evening \(seed): \(last.errors)")
                let wrong = try evening.checkFiles(isLast: true)
                #expect(wrong == [], "at the end of evening \(seed): \(wrong.joined(separator: ", "))")
                #expect(try await evening.checkDone(origin) == [], "at the end of evening \(seed)")
                let left = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter {
                    $0.contains("-worker-")
                }
                #expect(left == [], "locks of workers that are gone")
                tally.resumed += evening.resumed
                return tally
            }
        }
    }

    /// Runs a process until it is killed or all jobs have ended.
    private static func run(
        _ evening: Evening, _ kill: Kill, _ lists: (worker: URL, get: URL), seed: UInt64
    ) async throws -> Victim.End {
        switch kill {
        case .bytes(let bytes):
            let victim = try get(evening, lists.get) { evening.setBomb(for: $0, at: bytes) }
            defer { evening.removeBomb() }
            return await victim.end()
        case .step(let step, let count):
            let durability = seed % 2 == 0 ? "none" : "data"
            return try await Victim(
                builtProgram("CrashWorker"),
                [
                    "--db", evening.database.path, "--directory", evening.files.path, "--list", lists.worker.path,
                    "--durability", durability, "--step", step, "--count", "\(count)",
                ]
            ).end()
        }
    }

    /// Runs the command-line program.
    private static func get(
        _ evening: Evening, _ list: URL, begun: (pid_t) -> Void = { _ in }
    ) throws -> Victim {
        try Victim(
            builtProgram("sluice"),
            [
                "get", "--db", evening.database.path, "-d", evening.files.path, "-j", "3", "-q", "--durability", "none",
                "-i", list.path,
            ], begun: begun)
    }
}
