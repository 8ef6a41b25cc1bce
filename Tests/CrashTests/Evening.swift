import Foundation
import HTTPTypes
import LoopbackOrigin
import TestSupport

@testable import SluiceDownloads

/// A list of files on a slow server. Processes download it, and are killed one after the other.
final class Evening: Sendable {
    /// A file on the server.
    struct Item: Sendable {
        var name: String
        /// Whether the server sends a validator, so that the download can be resumed.
        var isResumable: Bool
        var content: [UInt8]
    }

    let directory: URL
    let items: [Item]
    private let byName: [String: Item]
    /// The process to kill after this many more served bytes.
    private let bomb = Guarded<(pid: pid_t, bytes: Int)?>(nil)
    private let ranges = Guarded(0)
    /// The server's count when a job was first seen to be done.
    private let doneAt = Guarded<[String: Int]>([:])

    var database: URL { directory.appending(path: "queue.db") }
    var files: URL { directory.appending(path: "files", directoryHint: .isDirectory) }

    init(in directory: URL, count: Int, seed: UInt64) throws {
        self.directory = directory
        var random = SeededRandom(seed: seed)
        items = (0..<count).map { number in
            let isSmall = number % 4 == 0
            let size =
                isSmall ? Int.random(in: 1...60_000, using: &random) : .random(in: 270_000...700_000, using: &random)
            // Different bytes at every place, and in every file.
            let numbers = (0..<size / 8 + 1).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number) }
            return Item(
                name: "song-\(number)", isResumable: number % 5 != 1,
                content: numbers.withUnsafeBytes { Array($0.prefix(size)) })
        }
        byName = Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0) })
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    }

    /// Requests for the rest of a file so far.
    var resumed: Int { ranges.withLock { $0 } }

    /// Answers slowly, and kills the process at the chosen byte.
    func answer(_ request: OriginRequest) -> OriginResponse {
        guard let item = byName[String(request.target.dropFirst())] else { return OriginResponse(status: 404) }
        if request.headerFields[.range] != nil { ranges.withLock { $0 += 1 } }
        var response = OriginResponse.file(
            item.content, etag: item.isResumable ? "\"\(item.name)\"" : nil, date: nil, request: request
        ).inPieces(of: 60_000, pausing: .milliseconds(6))
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

    func writeList(_ origin: LoopbackOrigin) throws -> (worker: URL, get: URL) {
        let worker = directory.appending(path: "worker.txt")
        let get = directory.appending(path: "get.txt")
        try items.map { "\($0.name) \(origin.url("/\($0.name)"))\n" }.joined().write(
            to: worker, atomically: false, encoding: .utf8)
        try items.map { "\(origin.url("/\($0.name)"))\n" }.joined().write(to: get, atomically: false, encoding: .utf8)
        return (worker, get)
    }

    // MARK: Checks while no process works

    /// The number of running jobs in the queue: after a kill, the interrupted work of that process.
    func jobsInFlight() async throws -> Int {
        let store = try await SQLiteQueueStore.open(at: database)
        let snapshot = try await store.snapshot(listing: 10_000)
        try await store.close()
        return snapshot.count(.running)
    }

    /// Returns an error for each done job that a process has requested from the server again.
    func checkDone(_ origin: LoopbackOrigin) async throws -> [String] {
        let store = try await SQLiteQueueStore.open(at: database)
        let done = try await store.snapshot(listing: 10_000).ended.filter { $0.state == .done }
        try await store.close()
        let counts = origin.metrics.requestsByTarget
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
