import Foundation
import GRDB
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceDownloads

#if PostgreSQL
import SluicePostgres
#endif

/// The stores that several processes can share.
enum QueueKind: CaseIterable, Sendable {
    case sqlite
    case postgres

    /// Without the package trait or a server, the PostgreSQL store isn't tested. CI always tests it, and fails without a server.
    static let allCases: [QueueKind] = {
        #if PostgreSQL
        if PostgresServers.areThere { return [.sqlite, .postgres] }
        #endif
        return [.sqlite]
    }()
}

/// A queue that the test and its processes share, and the directory of their files.
struct SharedQueue: Sendable {
    let kind: QueueKind
    let directory: URL
    let store: any QueueStore
    /// The arguments of `CrashWorker` that name the queue.
    let arguments: [String]

    var files: URL { directory.appending(path: "files", directoryHint: .isDirectory) }

    /// Runs a test with an empty queue, and closes it.
    static func with(_ kind: QueueKind, _ test: @Sendable (SharedQueue) async throws -> Void) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-crash") { directory in
            let queue: SharedQueue
            switch kind {
            case .sqlite:
                let file = directory.appending(path: "queue.db", directoryHint: .notDirectory)
                queue = SharedQueue(
                    kind: kind, directory: directory, store: try await SQLiteQueueStore.open(at: file),
                    arguments: ["--db", file.path])
            case .postgres:
                #if PostgreSQL
                let (url, name) = (try PostgresServers.url, PostgresServers.newName())
                queue = SharedQueue(
                    kind: kind, directory: directory,
                    store: PostgresQueueStore(
                        url, queue: name, namespace: "crash_tests", configuration: .init(connectTimeout: .seconds(60))),
                    arguments: ["--db", url, "--queue", name, "--namespace", "crash_tests"])
                #else
                return
                #endif
            }
            try FileManager.default.createDirectory(at: queue.files, withIntermediateDirectories: true)
            try await test(queue)
            try await queue.store.close()
        }
    }

    /// Whether a process is in a transaction that changes the queue. On PostgreSQL, a process that stops in one doesn't block the others.
    func isLocked() throws -> Bool {
        guard kind == .sqlite else { return false }
        do {
            try DatabaseQueue(path: directory.appending(path: "queue.db").path).write { _ in }
            return false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return true
        }
    }

    /// Starts a worker with these options, and `limits`.
    func worker(
        _ limits: DownloadCoordinator.Limits, _ options: [String: String], begun: (pid_t) -> Void = { _ in }
    ) throws -> ChildProcess {
        var all = options
        all["total"] = "\(limits.total)"
        all["per-host"] = limits.perHost.map { "\($0)" }
        all["per-user"] = limits.perUser.map { "\($0)" }
        let pairs = all.sorted { $0.key < $1.key }.flatMap { ["--\($0.key)", $0.value] }
        return try ChildProcess(builtProgram("CrashWorker"), arguments + pairs, begun: begun)
    }

    func history() async throws -> History {
        let events = try await store.events(after: nil, atMost: 1_000_000)
        return History(events: events, jobs: try await store.jobs(Array(Set(events.map(\.download)))))
    }

    /// Waits until the events of the queue satisfy a condition, and returns them.
    func history(where isReached: (History) -> Bool) async throws -> History {
        while true {
            let history = try await history()
            if isReached(history) { return history }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The events of a queue, which its store has numbered under its lock.
struct History: Sendable {
    var events: [QueueEvent]
    var jobs: [JobID: QueuedDownload]

    init(events: [QueueEvent], jobs: [QueuedDownload]) {
        self.events = events
        self.jobs = Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, $0) })
    }

    /// The number of events of a kind, for each job.
    func counts(_ kind: QueueEvent.Kind) -> [JobID: Int] {
        events.reduce(into: [:]) { if $1.kind == kind { $0[$1.download, default: 0] += 1 } }
    }

    /// Returns an error for each claim that exceeded a limit, as the store counted the running jobs.
    func violations(of limits: DownloadCoordinator.Limits) -> [String] {
        var violations: [String] = []
        var running: [JobID: (host: String, user: String?)] = [:]
        for (index, event) in events.enumerated() {
            if event.id.rawValue != Int64(index + 1) { violations.append("event \(event.id) is at \(index + 1)") }
            switch event.kind {
            case .started:
                let host = jobs[event.download]?.request.host ?? ""
                if running.updateValue((host, event.user), forKey: event.download) != nil {
                    violations.append("\(event.download) was claimed twice")
                }
                let ofHost = running.values.count { $0.host == host }
                let ofUser = running.values.count { $0.user == event.user }
                if running.count > limits.total { violations.append("\(running.count) run") }
                if ofHost > limits.perHost ?? .max { violations.append("\(ofHost) run for \(host)") }
                if let user = event.user, ofUser > limits.perUser ?? .max {
                    violations.append("\(ofUser) run for \(user)")
                }
            case .done, .failed, .cancelled, .released, .retrying, .paused: running[event.download] = nil
            default: break
            }
        }
        return violations
    }

    /// Returns an error for each job that isn't done, or that more than one worker has recorded as done.
    func lossesAndRepeats() -> [String] {
        let done = counts(.done)
        return jobs.values.filter { $0.state != .done || done[$0.id] != 1 }.map {
            "\($0.request.name) is \($0.state), was done \(done[$0.id] ?? 0) times: \($0.error.map { "\($0)" } ?? "")"
        }
    }
}

// MARK: - Processes that are killed or stopped

extension ChildProcess {
    /// Waits until the process has stopped itself with SIGSTOP, or has ended. A process that stops in a transaction blocks the others, so
    /// it is continued for a moment and stops itself again, until it stops outside of one.
    func stopped(outside isInTransaction: () throws -> Bool) async throws {
        while isRunning {
            let line = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
            if line.split(separator: ")").last?.hasPrefix(" T") == true {
                guard try isInTransaction() else { return }
                signal(SIGCONT)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

extension ChildProcess.End {
    /// The jobs that a `CrashWorker` held when it sent itself a signal.
    var held: [Substring] { lines(after: "holds ").last?.split(separator: ",") ?? [] }

    /// The jobs whose ends a `CrashWorker` has recorded.
    var finished: [Substring] { lines(after: "ended ") }

    private func lines(after start: String) -> [Substring] {
        error.split(separator: "\n").filter { $0.hasPrefix(start) }.map { $0.dropFirst(start.count) }
    }
}
