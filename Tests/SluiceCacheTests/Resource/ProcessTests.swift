import Foundation
import GRDB
import SluiceConcurrency
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// Processes that use one directory concurrently, and are killed. `SLUICE_CACHE_ROUNDS` repeats the tests with other seeds.
@Suite(.serialized) struct `Eight processes on one cache` {
    private static let rounds =
        ProcessInfo.processInfo.environment["SLUICE_CACHE_ROUNDS"].flatMap { Int($0) } ?? 1
    private static let limit = 60_000

    /// A running `CacheWorker`.
    private struct Worker: Sendable {
        private let process = Process()
        private let ended: Condition
        private let output = Pipe()
        private let errors = Pipe()

        init(in directory: URL, requests: Int, seed: Int) throws {
            let (ended, end) = Condition.makeCondition()
            self.ended = ended
            process.executableURL = try builtProgram("CacheWorker")
            process.arguments = [
                "--directory", directory.path, "--limit", "\(limit)", "--urls", "60", "--requests", "\(requests)",
                "--seed", "\(seed)",
            ]
            process.standardOutput = output
            process.standardError = errors
            process.terminationHandler = { _ in end.signal() }
            try process.run()
        }

        /// Waits until the worker has made this many requests, and kills it like `kill -9`.
        func kill(after requests: Int) async throws {
            var left = requests
            while left > 0 {
                let descriptor = output.fileHandleForReading.fileDescriptor
                let dots = try await FileIO.shared.read(upToCount: left, descriptor: descriptor, name: "worker")
                if dots.isEmpty { break }
                left -= dots.count
            }
            _ = Foundation.kill(process.processIdentifier, SIGKILL)
        }

        /// Waits for the end. Returns whether the worker was killed, or what it has reported.
        func end() async throws -> (wasKilled: Bool, status: Int32, errors: String) {
            await withTaskCancellationHandler {
                _ = await ended.wait()
            } onCancel: {
                _ = Foundation.kill(process.processIdentifier, SIGKILL)
            }
            let text = try await FileIO.shared.readToEnd(
                descriptor: errors.fileHandleForReading.fileDescriptor, name: "worker", maximumSize: 1 << 20)
            withExtendedLifetime(errors) {}
            return (
                process.terminationReason == .uncaughtSignal, process.terminationStatus,
                String(decoding: text, as: UTF8.self)
            )
        }
    }

    /// Opens the directory as the next process does, and expects that files and rows agree and that nothing is damaged.
    private func check(_ directory: URL, _ comment: Comment) async throws {
        try await withCache(in: directory, ScriptedTransport([:])) { cache in
            try await expectConsistent(cache)
            let used = try await cache.disk.database.read { try DiskIndex.usedBytes(in: $0) }
            #expect(used <= Self.limit && used > 0, comment)
            let hidden = try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter {
                $0.hasSuffix(".part")
            }
            #expect(hidden.isEmpty, comment)
        }
        let problems = Recorder<String>()
        try await CacheDirectory.withDirectory(at: directory) {
            _ = try await $0.verify(isRepairing: false) {
                problems.note("\($0.kind.rawValue): \($0.url ?? $0.file.lastPathComponent)")
            }
        }
        #expect(problems.values == [], comment)
    }

    @Test(.timeLimit(.minutes(60)))
    func `get the right bytes, keep the limit together, and leave a file for each row`() async throws {
        for round in 0..<Self.rounds {
            try await withDirectory { directory in
                let workers = try (0..<8).map { try Worker(in: directory, requests: 60, seed: round &* 8 &+ $0) }
                for worker in workers {
                    let end = try await worker.end()
                    #expect(!end.wasKilled && end.status == 0, "round \(round): \(end.errors)")
                }
                try await check(directory, "round \(round)")
            }
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `leave nothing behind when they are killed at any moment`() async throws {
        var random = SeededRandom(seed: 7)
        var kills = 0
        for round in 0..<Self.rounds {
            try await withDirectory { directory in
                for generation in 0..<3 {
                    // Each ends in the middle of four requests. The last one isn't killed, and works with the directory meanwhile.
                    let workers = try (0..<4).map {
                        try Worker(
                            in: directory, requests: $0 == 3 ? 40 : 10_000, seed: (round &* 3 &+ generation) &* 4 &+ $0)
                    }
                    for worker in workers.dropLast() {
                        try await worker.kill(after: .random(in: 0...30, using: &random))
                    }
                    for worker in workers.dropLast() {
                        let end = try await worker.end()
                        #expect(end.wasKilled, "\(end.errors)")
                        kills += 1
                    }
                    let end = try await workers[3].end()
                    #expect(!end.wasKilled && end.status == 0, "round \(round): \(end.errors)")
                    try await check(directory, "round \(round), generation \(generation)")
                }
            }
        }
        #expect(kills == Self.rounds * 9)
    }
}
