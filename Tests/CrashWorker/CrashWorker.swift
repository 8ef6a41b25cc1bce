import ClockShift
import Foundation
import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import Synchronization

#if PostgreSQL
import SluicePostgres
#endif

/// Works on a queue, and kills or stops itself with a signal when a job reaches a given step for the n-th time.
///
///     CrashWorker --db DB --directory DIR --list LIST --durability none --step published --count 2
///     CrashWorker --db DB --queue NAME --batch BATCH --total 8 --per-user 2 --lease 5 --step receiving --signal STOP
///     CrashWorker --db DB --directory DIR --add LIST
///
/// With --list it downloads the URLs of a file, which has a name and a URL on each line, and perhaps a mirror and a checksum. With --add it
/// only enqueues them: the lines also have a user and a batch. Otherwise it works until the queue or the batch is empty. DB is a path, or the
/// URL of a PostgreSQL database.
///
/// --clock names the file that shifts its wall clock (`ClockShift.h`). A process that stops itself does so again whenever it is continued,
/// until the file exists that --until names.
///
/// It writes a line to standard error for each download that it has ended, `ended NUMBER`, and before the signal one for the downloads that
/// it holds, `holds NUMBER,NUMBER`. Requests have the process ID in the field `X-Worker`. Exits with 0 if no download of its list failed.
@main
struct CrashWorker {
    static func main() async throws {
        let options = try Options(CommandLine.arguments.dropFirst())
        if let clock = options["clock"], clock_shift_follow(clock) != 0 {
            throw Wrong(text: "The clock can't follow \(clock).")
        }
        let store = try makeStore(options)
        let trap = Trap(
            step: options["step"], count: options.number("count") ?? 1,
            signal: options["signal"] == "STOP" ? SIGSTOP : SIGKILL, barrier: options["until"])
        let process = "\(getpid())"
        let failures = try await HTTPTransport.withTransport(
            configuration: .init(connectTimeout: .seconds(600), stallTimeout: .seconds(600))
        ) { transport in
            var configuration = DownloadCoordinator.Configuration(
                retries: RetryPolicy(baseDelay: .zero), durability: options["durability"] == "data" ? .data : .none,
                lease: .seconds(options.number("lease") ?? 15),
                headerFields: { _ in [HTTPField.Name("X-Worker")!: process] })
            configuration.segments = options.number("segments").map { .init(count: $0, minimumSize: 65_536) }
            let downloads = DownloadCoordinator(
                store: store, transport: transport,
                limits: DownloadCoordinator.Limits(
                    total: options.number("total") ?? 3, perHost: options.number("per-host"),
                    perUser: options.number("per-user")),
                configuration: configuration
            ) { job, phase in
                trap.reach(name(of: phase), job)
            }
            return try await work(downloads, options)
        }
        try await store.close()
        for failure in failures { say("\(failure)") }
        exit(failures.isEmpty ? 0 : 1)
    }

    private static func makeStore(_ options: Options) throws -> any QueueStore {
        guard let database = options["db"] else { throw Wrong(text: "--db is missing.") }
        #if PostgreSQL
        if database.hasPrefix("postgres") {
            return PostgresQueueStore(
                database, queue: options["queue"] ?? "default", namespace: options["namespace"] ?? "sluice",
                configuration: .init(concurrency: 2, connectTimeout: .seconds(60)))
        }
        #endif
        return SQLiteQueueStore(at: URL(filePath: database))
    }

    /// Returns the errors of the list's downloads.
    private static func work(_ downloads: DownloadCoordinator, _ options: Options) async throws -> [any Error] {
        let directory = URL(filePath: options["directory"] ?? ".", directoryHint: .isDirectory)
        if let list = options["add"] {
            for line in try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n") {
                let parts = line.split(separator: " ").map { String($0) }
                let request = DownloadRequest(
                    try URL(fetchable: parts[1]), to: directory, name: parts[0], user: parts[2])
                _ = try await downloads.enqueue([request], batch: parts[3])
            }
            return []
        }
        if let list = options["list"] {
            let requests = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").map { line in
                let parts = line.split(separator: " ").map { String($0) }
                var request = DownloadRequest(try URL(fetchable: parts[1]), to: directory, name: parts[0])
                if parts.count > 3 {
                    (request.mirrors, request.checksum) = ([try URL(fetchable: parts[2])], Checksum(parts[3]))
                }
                return request
            }
            let summary = try await downloads.download(requests)
            return summary.isComplete ? [] : Array(summary.failures.values) + [Wrong(text: "The list is incomplete.")]
        }
        try await downloads.run(until: options["batch"].map { .whenBatchIsEmpty($0) } ?? .whenEmpty) { event in
            guard case .finished(let download?, let outcome) = event else { return }
            say("ended \(download)")
            if case .failed(let error) = outcome { say("\(error)") }
        }
        return []
    }

    /// The name of the step is the name of the case.
    static func name(of phase: JobPhase) -> String {
        switch phase {
        case .claimed: "claimed"
        case .transfer(let phase): "\(phase)"
        case .recorded: "recorded"
        }
    }
}

/// Sends the signal, and knows which downloads the process holds.
final class Trap: Sendable {
    private struct State {
        var left: Int
        var held: Set<JobID> = []
    }

    private let step: String?
    private let signal: CInt
    /// The process keeps stopping itself until this file exists.
    private let barrier: String?
    private let state: Mutex<State>

    init(step: String?, count: Int, signal: CInt, barrier: String?) {
        self.step = step
        self.signal = signal
        self.barrier = barrier
        state = Mutex(State(left: count))
    }

    func reach(_ step: String, _ job: JobID) {
        let held = state.withLock { state -> [JobID]? in
            if step == "claimed" { state.held.insert(job) }
            if step == "recorded" { state.held.remove(job) }
            guard step == self.step else { return nil }
            state.left -= 1
            return state.left == 0 ? state.held.sorted() : nil
        }
        guard let held else { return }
        say("holds \(held.map { "\($0)" }.joined(separator: ","))")
        repeat {
            // To this thread, because another one might take the signal later, while this one continues.
            pthread_kill(pthread_self(), signal)
            // The test has continued the process. Its other threads get time to end a transaction: see `ChildProcess.stopped(outside:)`.
            usleep(20_000)
        } while barrier.map { access($0, F_OK) != 0 } ?? false
    }
}

/// Writes a line to standard error in one step.
func say(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

/// The arguments: names with two hyphens, each with a value.
struct Options {
    private var values: [String: String] = [:]

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else {
                throw Wrong(text: "\(name) has no value, or isn't an option.")
            }
            values[String(name.dropFirst(2))] = value
        }
    }

    subscript(_ name: String) -> String? { values[name] }

    func number(_ name: String) -> Int? { values[name].flatMap { Int($0) } }
}

struct Wrong: Error, CustomStringConvertible {
    var text: String
    var description: String { text }
}
