import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceHTTP
import TestSupport

@testable import SluiceDownloads

/// Files on a server, for the users of some lanes: each lane is a batch that a process works on. Two lanes share a user.
final class Songs: Sendable {
    struct Song: Sendable {
        var name: String
        var lane: Int
        var host: Int
        var user: Int
        var isResumable: Bool
        var content: [UInt8]
    }

    let songs: [Song]
    let ledger: Ledger
    private let byName: [String: Song]
    /// Called for each request before the response.
    private let hold: @Sendable (OriginRequest) async -> Void

    init(
        _ count: Int, lanes: Int, seed: UInt64, ledger: Ledger,
        hold: @escaping @Sendable (OriginRequest) async -> Void = { _ in }
    ) {
        var random = SeededRandom(seed: seed)
        songs = (0..<count).map { number in
            let (lane, place) = (number % lanes, number / lanes)
            // Small files are written in one step, large ones with a checkpoint.
            let size =
                place % 4 == 3
                ? Int.random(in: 1...60_000, using: &random) : .random(in: 270_000...500_000, using: &random)
            // Bytes that differ at every position and in every file.
            let numbers = (0..<size / 8 + 1).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number) }
            return Song(
                name: "song-\(number)", lane: lane, host: (place / 2 + lane) % 3, user: (lane + place % 2) % lanes,
                isResumable: place % 5 != 1, content: numbers.withUnsafeBytes { Array($0.prefix(size)) })
        }
        byName = Dictionary(uniqueKeysWithValues: songs.map { ($0.name, $0) })
        self.ledger = ledger
        self.hold = hold
    }

    func requests(lane: Int, _ origin: LoopbackOrigin, to directory: URL) throws -> [DownloadRequest] {
        try songs.filter { $0.lane == lane }.map { song in
            // libcurl knows that names below localhost are this machine.
            let url = try URL(fetchable: "http://h\(song.host).localhost:\(origin.port)/\(song.name)")
            return DownloadRequest(url, to: directory, name: song.name, user: "u\(song.user)")
        }
    }

    func answer(_ request: OriginRequest) async -> OriginResponse {
        guard let song = byName[String(request.target.dropFirst())] else { return OriginResponse(status: 404) }
        let running = ledger.begin(song, process: request.process)
        await hold(request)
        return OriginResponse.file(
            song.content, etag: song.isResumable ? "\"\(song.name)\"" : nil, date: nil, request: request
        ).inPieces(of: 60_000, pausing: .milliseconds(3)).noting(running)
    }

    /// Returns an error for each file that is missing, incomplete or left over.
    func wrongFiles(in directory: URL) throws -> [String] {
        let found = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        var wrong = Set(byName.keys).subtracting(found).map { "\($0) is missing" }
        for name in found {
            guard let song = byName[name] else {
                wrong.append("\(name) is left")
                continue
            }
            let data = try Data(contentsOf: directory.appending(path: name))
            if data != Data(song.content) { wrong.append("\(name) is not what the server holds") }
        }
        return wrong
    }
}

extension OriginRequest {
    /// The process that sent the request.
    var process: pid_t { headerFields[HTTPField.Name("X-Worker")!].flatMap { pid_t($0) } ?? 0 }
}

extension OriginResponse {
    /// Ends the request in the ledger before the last byte is sent. Once the client has that byte, its next request may arrive.
    func noting(_ running: Ledger.Running) -> OriginResponse {
        var response = self
        var last: [Step] = []
        if case .send(let bytes) = response.steps.last {
            response.steps.removeLast()
            response.steps.append(.send(Array(bytes.dropLast())))
            last = [.send(Array(bytes.suffix(1)))]
        }
        response.steps += [.perform { running.end() }] + last
        return response
    }
}

/// Counts the requests at the server, by host and by user, and compares them with the limits. The requests of dead processes don't count:
/// the server notices their end later than the store.
final class Ledger: Sendable {
    struct State {
        fileprivate var running: [Int: (song: Songs.Song, process: pid_t)] = [:]
        fileprivate var number = 0
        var peak = 0
        var violations: [String] = []
        var requests: [String: Int] = [:]
        var runningCount: Int { running.count }
    }

    private let limits: DownloadCoordinator.Limits
    private let monitor = Monitor(State())

    init(limits: DownloadCoordinator.Limits) { self.limits = limits }

    var state: State { monitor.state }

    func waitUnlessCancelled(where isReached: @escaping @Sendable (State) -> Bool) async throws {
        try await monitor.waitUnlessCancelled(where: isReached)
    }

    /// A running request, which ends when the response has been sent or is released with its connection.
    final class Running: Sendable {
        fileprivate let number: Int
        private let ledger: Ledger

        fileprivate init(_ number: Int, _ ledger: Ledger) {
            self.number = number
            self.ledger = ledger
        }

        func end() { ledger.monitor.withState { _ = $0.running.removeValue(forKey: number) } }

        deinit { end() }
    }

    fileprivate func begin(_ song: Songs.Song, process: pid_t) -> Running {
        let number = monitor.withState { state in
            state.number += 1
            state.running[state.number] = (song, process)
            state.requests[song.name, default: 0] += 1
            state.peak = max(state.peak, state.running.count)
            if !violations(in: state, song).isEmpty {
                state.running = state.running.filter { !isDead($0.value.process) }
                state.violations += violations(in: state, song)
            }
            return state.number
        }
        return Running(number, self)
    }

    private func violations(in state: State, _ song: Songs.Song) -> [String] {
        let running = state.running.values
        let counts = [
            (running.count, limits.total, "in total"),
            (running.count { $0.song.host == song.host }, limits.perHost ?? .max, "of host \(song.host)"),
            (running.count { $0.song.user == song.user }, limits.perUser ?? .max, "of user \(song.user)"),
            (running.count { $0.song.name == song.name }, 1, "of \(song.name)"),
        ]
        return counts.filter { $0.0 > $0.1 }.map { "\($0.0) requests \($0.2)" }
    }
}

/// Whether a process has ended, or is about to and has closed its files: proc_pid_stat(5).
private func isDead(_ process: pid_t) -> Bool {
    guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
    let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 6, let flags = UInt32(fields[6]) else { return true }
    let isExiting = flags & 4 != 0
    return isExiting || ["Z", "X"].contains(fields[0])
}
