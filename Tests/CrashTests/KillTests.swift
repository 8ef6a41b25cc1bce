import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

/// Processes are killed with SIGKILL, at every step of a job and in the middle of its bytes, one after the other on the same queue. Then
/// one more process finishes the work.
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
        /// Files whose segments a process continued.
        var continued = 0
        /// Requests to mirrors.
        var fromMirrors = 0
    }

    /// Each has 13 kills. Scripts/check-thoroughly.sh asks for more.
    private static let evenings = max(
        4, (ProcessInfo.processInfo.environment["SLUICE_KILLS"].flatMap { Int($0) } ?? 0) / 13 + 1)

    @Test(.timeLimit(.minutes(60)))
    func `at any moment loses no job, leaves no incomplete file, and repeats no finished download`() async throws {
        var tally = Tally()
        for seed in 0..<Self.evenings { try await evening(seed: UInt64(seed), &tally) }

        let text = Self.steps.map { "\($0) \(tally.hitsByStep[$0, default: 0])" }.joined(separator: ", ")
        print(
            "kill test: \(tally.kills) kills, \(tally.hits) with work in flight; by step: \(text), "
                + "bytes \(tally.hitsByStep["bytes", default: 0]); \(tally.resumed) requests for the rest of a file, "
                + "\(tally.continued) files continued in segments, \(tally.fromMirrors) requests to mirrors")
        #expect(tally.resumed > 0 && tally.continued > 0, "nothing was resumed")
        #expect(tally.fromMirrors > 0, "no mirror was used")
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
            // In the later evenings, over several connections.
            let evening = try Evening(in: directory, count: 64, seed: seed, segments: seed < 2 ? 1 : 3)
            return try await Self.serve(evening) { origin, mirror in
                var tally = counted
                let lists = try evening.writeList(origin, mirror)
                for kill in kills {
                    let end = try await Self.run(evening, kill, lists, seed: seed)
                    guard end.wasKilled else {
                        Issue.record("\(kill) of evening \(seed): exit \(end.status), not killed. \(end.error)")
                        continue
                    }
                    tally.kills += 1
                    if try await evening.jobsInFlight() > 0 {
                        tally.hits += 1
                        if case .step(let step, _) = kill { tally.hitsByStep[step, default: 0] += 1 }
                        if case .bytes = kill { tally.hitsByStep["bytes", default: 0] += 1 }
                    }
                    #expect(try await evening.checkDone(origin, mirror) == [], "after \(kill) of evening \(seed)")
                    #expect(try evening.checkFiles(isLast: false) == [], "after \(kill) of evening \(seed)")
                }
                // One more, which isn't killed.
                let last = try await Self.get(evening, lists.get).end()
                #expect(!last.wasKilled && last.status == 0, "evening \(seed): \(last.error)")
                let wrong = try evening.checkFiles(isLast: true)
                #expect(wrong == [], "at the end of evening \(seed): \(wrong.joined(separator: ", "))")
                #expect(try await evening.checkDone(origin, mirror) == [], "at the end of evening \(seed)")
                let left = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter {
                    $0.contains("-worker-")
                }
                #expect(left == [], "locks of workers that are gone")
                tally.resumed += evening.resumed.requests
                tally.continued += evening.resumed.segmented
                tally.fromMirrors += mirror.metrics.requests
                return tally
            }
        }
    }

    private static func serve<Result: Sendable>(
        _ evening: Evening,
        during body: @escaping @Sendable (_ origin: LoopbackOrigin, _ mirror: LoopbackOrigin) async throws -> Result
    ) async throws -> Result {
        try await LoopbackOrigin.serve {
            evening.answer($0)
        } during: { origin in
            try await LoopbackOrigin.serve {
                evening.answer($0, asMirror: true)
            } during: { mirror in
                try await body(origin, mirror)
            }
        }
    }

    /// Runs a process until it is killed or all jobs have ended.
    private static func run(
        _ evening: Evening, _ kill: Kill, _ lists: (worker: URL, get: URL), seed: UInt64
    ) async throws -> ChildProcess.End {
        switch kill {
        case .bytes(let bytes):
            let process = try get(evening, lists.get) { evening.setBomb(for: $0, at: bytes) }
            defer { evening.removeBomb() }
            return await process.end()
        case .step(let step, let count):
            let durability = seed % 2 == 0 ? "none" : "data"
            return try await ChildProcess(
                builtProgram("CrashWorker"),
                [
                    "--db", evening.database.path, "--directory", evening.files.path, "--list", lists.worker.path,
                    "--durability", durability, "--step", step, "--count", "\(count)",
                    "--segments", "\(evening.segments)",
                ]
            ).end()
        }
    }

    /// Runs the command-line program.
    private static func get(
        _ evening: Evening, _ list: URL, begun: (pid_t) -> Void = { _ in }
    ) throws -> ChildProcess {
        try ChildProcess(
            builtProgram("sluice"),
            [
                "get", "--db", evening.database.path, "-d", evening.files.path, "-j", "3", "-q", "--durability", "none",
                "-i", list.path, "--segments", "\(evening.segments)", "--min-segment-size", "64k",
            ], begun: begun)
    }
}

/// A list of files on a slow server. Processes download it, and are killed one after the other.
final class Evening: Sendable {
    /// A file on the server.
    struct Item: Sendable {
        var name: String
        /// Whether the server sends a validator, so that the download can be resumed.
        var isResumable: Bool
        var content: [UInt8]
        /// What the mirror has instead; `nil` for a file without a mirror. Other bytes are found because the list has the checksum.
        var mirrored: [UInt8]?
    }

    let directory: URL
    let items: [Item]
    /// The most connections for a file.
    let segments: Int
    private let byName: [String: Item]
    /// The process to kill after this many more served bytes.
    private let bomb = Guarded<(pid: pid_t, bytes: Int)?>(nil)
    private let ranges = Guarded((requests: 0, segmented: 0))
    /// The files that each process has requested.
    private let requested = Guarded<Set<[String]>>([])
    /// The server's request count when a job was first seen to be done.
    private let doneAt = Guarded<[String: Int]>([:])

    var database: URL { directory.appending(path: "queue.db") }
    var files: URL { directory.appending(path: "files", directoryHint: .isDirectory) }

    init(in directory: URL, count: Int, seed: UInt64, segments: Int = 1) throws {
        (self.directory, self.segments) = (directory, segments)
        var random = SeededRandom(seed: seed)
        items = (0..<count).map { number in
            let isSmall = number % 4 == 0
            let size =
                isSmall ? Int.random(in: 1...60_000, using: &random) : .random(in: 270_000...700_000, using: &random)
            // Bytes that differ at every position and in every file.
            let numbers = (0..<size / 8 + 1).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number) }
            let content = numbers.withUnsafeBytes { Array($0.prefix(size)) }
            // With several connections, some files have a mirror, and some mirrors have wrong bytes.
            let mirrored = segments > 1 && number % 3 == 0 ? number % 2 == 0 ? content : content.map { ~$0 } : nil
            return Item(
                name: "song-\(number)", isResumable: number % 5 != 1, content: content, mirrored: mirrored)
        }
        byName = Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0) })
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    }

    /// The number of requests for the rest of a file so far, and of files that a process continued in segments.
    var resumed: (requests: Int, segmented: Int) { ranges.withLock { $0 } }

    /// Answers slowly, and kills the process at the chosen byte.
    func answer(_ request: OriginRequest, asMirror: Bool = false) -> OriginResponse {
        guard let item = byName[String(request.target.dropFirst())] else { return OriginResponse(status: 404) }
        let isFirst = request.headerFields[.worker].map { worker in
            requested.withLock { $0.insert([worker, item.name]).inserted }
        }
        if request.headerFields[.range] != nil {
            ranges.withLock {
                if segments == 1 { $0.requests += 1 } else if isFirst == true { $0.segmented += 1 }
            }
        }
        var response = OriginResponse.file(
            asMirror ? item.mirrored ?? [] : item.content, etag: item.isResumable ? "\"\(item.name)\"" : nil, date: nil,
            request: request
        ).inPieces(of: 60_000, pausing: segments == 1 ? .milliseconds(6) : .milliseconds(100))
        response.steps = response.steps.flatMap { step -> [OriginResponse.Step] in
            guard case .send(let bytes) = step else { return [step] }
            return [step, .perform { [self] in served(bytes.count) }]
        }
        return response
    }

    private func served(_ count: Int) {
        let victim = bomb.withLock { bomb -> pid_t? in
            guard let (pid, bytes) = bomb else { return nil }
            bomb = bytes > count ? (pid, bytes - count) : nil
            return bytes > count ? nil : pid
        }
        if let victim { kill(victim, SIGKILL) }
    }

    /// Kills the process when the server has sent this many more bytes.
    func setBomb(for pid: pid_t, at bytes: Int) { bomb.withLock { $0 = (pid, bytes) } }

    func removeBomb() { bomb.withLock { $0 = nil } }

    func writeList(_ origin: LoopbackOrigin, _ mirror: LoopbackOrigin) throws -> (worker: URL, get: URL) {
        let worker = directory.appending(path: "worker.txt")
        let get = directory.appending(path: "get.txt")
        var (workerList, getList) = ("", "")
        for item in items {
            let url = origin.url("/\(item.name)")
            workerList += "\(item.name) \(url)"
            getList += "\(url)\n"
            if item.mirrored != nil {
                let running = RunningChecksum(.sha256)
                running.update(Data(item.content))
                let (checksum, other) = (running.finish(), mirror.url("/\(item.name)"))
                workerList += " \(other) \(checksum)"
                getList += "  mirror=\(other)\n  checksum=\(checksum)\n"
            }
            workerList += "\n"
        }
        try workerList.write(to: worker, atomically: false, encoding: .utf8)
        try getList.write(to: get, atomically: false, encoding: .utf8)
        return (worker, get)
    }

    // MARK: Checks while no process works

    /// The number of running jobs in the queue: after a kill, the interrupted work of that process.
    func jobsInFlight() async throws -> Int {
        let store = try await SQLiteQueueStore.open(at: database)
        let snapshot = try await store.snapshot(listing: 10_000)
        try await store.close()
        return snapshot.count(in: .running)
    }

    /// Returns an error for each finished job that was requested from the server again.
    func checkDone(_ origin: LoopbackOrigin, _ mirror: LoopbackOrigin) async throws -> [String] {
        let store = try await SQLiteQueueStore.open(at: database)
        let done = try await store.snapshot(listing: 10_000).ended.filter { $0.state == .done }
        try await store.close()
        let counts = origin.metrics.requestsByTarget.merging(mirror.metrics.requestsByTarget, uniquingKeysWith: +)
        return doneAt.withLock { doneAt in
            for job in done where doneAt[job.request.name] == nil {
                doneAt[job.request.name] = counts["/\(job.request.name)", default: 0]
            }
            return doneAt.compactMap { name, count in
                counts["/\(name)", default: 0] == count ? nil : "\(name) was done and was asked for again"
            }
        }
    }

    /// Returns an error for each file with its final name that is incomplete.
    func checkFiles(isLast: Bool) throws -> [String] {
        let found = try FileManager.default.contentsOfDirectory(atPath: files.path)
        var wrong: [String] = []
        for name in found where !name.contains(".sluice") {
            guard let item = byName[name] else {
                wrong.append("\(name) is none of the files")
                continue
            }
            let data = try Data(contentsOf: files.appending(path: name))
            if data != Data(item.content) { wrong.append("\(name) is not what the server holds") }
        }
        guard isLast else { return wrong }
        wrong += found.filter { $0.contains(".sluice") }.map { "\($0) is left" }
        if found.count != items.count { wrong.append("\(found.count) files instead of \(items.count)") }
        return wrong
    }
}

extension HTTPField.Name {
    fileprivate static let worker = Self("X-Worker")!
}
