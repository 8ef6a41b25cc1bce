import ArgumentParser
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct QueueWorkCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "work",
        abstract: "Downloads what is in a queue.",
        discussion: """
            Runs until it gets a signal, waiting for new downloads. With --until-empty, exits when no download is waiting or \
            running. Several workers can share a queue, each in its own process; with PostgreSQL, on several machines. Give them the \
            same -j, --per-host and --per-user: the limits apply to all workers together. If a worker is killed, another one \
            continues its downloads within 15 seconds; with a database file, a worker that starts does so immediately.

            The first signal stops the worker cleanly: its downloads keep their partial files and wait again, and any worker \
            continues them. Unlike with 'sluice get', you don't have to repeat a command. The status is 7, even without \
            --until-empty; a service manager should count it as success (systemd: SuccessExitStatus=7).

            If the disk is full, the worker says so and goes on when there is room; with --until-empty, the status is 3. \
            If a PostgreSQL server becomes unreachable, the worker reports it once, continues, and records its downloads later. If the \
            server is unreachable at startup, the status is 10.

            EXAMPLES:
              Download everything, then exit:
                sluice queue work --db songs.db --until-empty
              Run as a service, one song at a time for each user:
                sluice queue work --db songs.db -j 16 --per-host 4 --per-user 1 --progress lines
              Send a token to one server:
                sluice queue work --db songs.db --bearer-file token --for-origin https://example.com
              Share a queue with workers on other machines, each with a directory of its own:
                sluice queue work --db postgres://ann@db.example/sluice -d /srv/music

            HEADER FIELDS AND PASSWORDS aren't stored in the queue: each worker has its own. -H, --referer, --auth and --bearer-file \
            need --for-origin, because anyone who adds downloads chooses their servers. A netrc file names its hosts.

            With --until-empty, a missing database is an error. Otherwise it is created, so that a worker can start first.

            \(SignalHelp.text)

            \(ExitStatus.help)
            """)

    @OptionGroup
    var queue: QueueOption

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init(
            """
            The base directory for relative downloads, such as those of a PostgreSQL queue. It is created if it is missing. \
            (default: the current directory)
            """, valueName: "dir"))
    var directory: String?

    @Flag(help: "Exit when no download is waiting or running, including in other workers. Paused downloads stay.")
    var untilEmpty = false

    @Option(
        help: .init(
            "A server, such as https://example.com, that gets the header fields and the password. Repeatable.",
            valueName: "url"))
    var forOrigin: [String] = []

    @Option(help: CompletionProgram.help)
    var onComplete: String?

    @OptionGroup
    var requests: RequestOptions

    @OptionGroup
    var connections: ConnectionOptions

    @OptionGroup
    var transfers: TransferOptions

    func run(_ console: Console) async throws -> ExitStatus {
        var settings = try transfers.checked(for: "queue work")
        settings.connections = try connections.checked(for: "queue work", proxy: transfers.proxy)
        guard directory != "" else {
            throw CommandFailure(
                .usage, "-d: The directory name is empty. Name a directory. See 'sluice queue work --help'.")
        }
        let requests = try requests.checked(
            for: "queue work", origins: forOrigin, inputIsTaken: false, console)
        let database = QueueDatabase(name: queue.db, command: "work")
        _ = try database.store()
        return try await QueueWork(
            database: database, end: untilEmpty ? .whenEmpty : .whenCancelled,
            directory: directory.map { URL(filePath: $0, directoryHint: .isDirectory) },
            program: CompletionProgram.words(onComplete, for: "queue work"),
            requests: requests, settings: settings, console: console
        ).run()
    }
}

// MARK: - One run

/// One run of `sluice queue work`.
private struct QueueWork: Sendable {
    var database: QueueDatabase
    var end: DownloadCoordinator.RunEnd
    /// The base directory for relative downloads; `nil` for the current directory.
    var directory: URL?
    /// The program to run for each downloaded file.
    var program: ShellWords?
    var requests: RequestSettings
    var settings: TransferSettings
    var console: Console

    func run() async throws -> ExitStatus {
        try await settings.checkFiles()
        try await CompletionProgram.check(program, console)
        let contents = try await requests.loaded()
        let cookies = requests.cookieFile.map { CookieFiles($0, separatesUsers: true) }
        // Reports an unusable file before the first download.
        _ = try await cookies?.jar(of: nil)
        if end == .whenEmpty { try await database.checkExistence() }
        let names = QueueNames()
        let reporter = settings.progress.makeReporter(console: console, names: .queue(names))
        let completion = program.map { line in
            CompletionProgram(line, environment: console.environment) { reporter.announce($0) }
        }
        let feed = WorkFeed(names: names, reporter: reporter, completion: completion, directory: directory)
        let outcome = try await Trace.recording(to: settings.trace, on: console) { trace in
            await console.interruption.responding(reporter.responses) {
                await work(feed, contents, cookies, trace)
            }
        }
        let saving = await Result { try await cookies?.save() }
        let tally = try outcome.get()
        try saving.get()
        if Task.isCancelled {
            let count = tally.summary.unfinished
            let rest =
                "\(Format.count(count, "download")) \(count == 1 ? "waits" : "wait") again, for any worker of this queue."
            await console.report(count == 0 ? "Interrupted. No download was running." : "Interrupted: \(rest)")
            return .interrupted
        }
        let status = ExitStatus.worst(of: tally.statuses)
        return status == .success && completion?.hasFailed == true ? .other : status
    }

    private func work(
        _ feed: WorkFeed, _ contents: RequestContents, _ cookies: CookieFiles?, _ trace: Trace?
    ) async -> Result<WorkTally, CommandFailure> {
        do {
            return .success(
                try await database.naming {
                    var configuration = settings.transport(trace)
                    contents.apply(to: &configuration, for: [])
                    return try await HTTPTransport.withTransport(configuration: configuration) { transport in
                        try await work(feed, contents, cookies, transport)
                    }
                })
        } catch let failure as CommandFailure {
            return .failure(failure)
        } catch let error as TransferError {
            // An unusable directory, or with --until-empty a full disk, ends the run, because every other download would fail, too.
            return .failure(
                CommandFailure(
                    ExitStatus(error), "\(error)",
                    error.stopMessage("the same command")))
        } catch is CancellationError {
            return .failure(CommandFailure(.interrupted, "Interrupted before anything was downloaded."))
        } catch {
            return .failure(CommandFailure(.other, "\(error)"))
        }
    }

    private func work(
        _ feed: WorkFeed, _ contents: RequestContents, _ cookies: CookieFiles?, _ transport: HTTPTransport
    ) async throws -> WorkTally {
        let store = try database.store()
        let reporter = feed.reporter
        var configuration = settings.coordinator
        configuration.directory = directory
        contents.apply(to: &configuration)
        if let cookies { configuration.cookies = { try await cookies.jar(of: $0.user) } }
        let downloads = DownloadCoordinator(
            store: store, transport: transport, limits: settings.limits, configuration: configuration)
        let result = await Result {
            try await downloads.open()
            return try await reporter.showing(summarizedBy: \WorkTally.summary) {
                try await CompletionProgram.with(feed.completion) {
                    // Not a child task: the remaining events are reported even if the work is cancelled.
                    let feeding = Task { await feed.run(downloads) }
                    let result = await Result {
                        try await withThrowingTaskGroup { group in
                            if reporter.showsCounts { group.addTask { await Self.count(downloads, for: reporter) } }
                            try await run(downloads, feed)
                            group.cancelAll()
                        }
                    }
                    feed.finish()
                    let tally = await feeding.value
                    try result.get()
                    return tally
                }
            }
        }
        try await downloads.close()
        return try result.get()
    }

    /// Runs the queue. While the disk is full, a worker without an end waits, with pauses that grow from a second to a minute.
    private func run(_ downloads: DownloadCoordinator, _ feed: WorkFeed) async throws {
        var pause = Duration.seconds(1)
        while true {
            let began = ContinuousClock.now
            do {
                return try await downloads.run(until: end) {
                    feed.note($0)
                } onWarning: {
                    feed.reporter.announce("\(database.option) \($0) The worker continues.")
                }
            } catch let error as TransferError where error.isFullDisk && end == .whenCancelled && !Task.isCancelled {
                if ContinuousClock.now - began > .seconds(60) { pause = .seconds(1) }
                // Once for each time that the disk gets full.
                if pause == .seconds(1) { feed.reporter.announce("\(error) The worker goes on when there is room.") }
                do { try await Task.sleep(for: pause) } catch { return }
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    /// Passes the counts of the queue to the reporter. Counting a long queue takes milliseconds, so this happens at most twice a second.
    /// While the queue can't be reached, the reporter keeps showing the last counts.
    private static func count(_ downloads: DownloadCoordinator, for reporter: any ProgressReporter) async {
        while !Task.isCancelled {
            do {
                for try await snapshot in downloads.snapshots(listing: 0) {
                    reporter.note(snapshot.counts)
                    try await Task.sleep(for: .milliseconds(400))
                }
            } catch {
                try? await Task.sleep(for: .seconds(2))
            }
        }
    }
}

// MARK: - Its events

/// What one worker has done.
private struct WorkTally: Sendable {
    var summary = ProgressSummary()
    /// The statuses of the failures.
    var statuses: Set<ExitStatus> = []
    /// The downloads that this worker has given back to the queue.
    private var released: Set<QueuedDownload.ID> = []

    mutating func note(_ event: DownloadEvent) {
        if let download = event.download { released.remove(download) }
        defer { summary.unfinished = released.count }
        switch event {
        case .retrying: summary.retries += 1
        case .released(let job): released.insert(job)
        case .finished(_, let outcome):
            switch outcome {
            case .done(let bytes):
                summary.done += 1
                summary.bytes = summary.bytes.addingClamped(bytes)
            case .skipped: summary.skipped += 1
            case .failed(let error):
                summary.failed += 1
                statuses.insert(ExitStatus(error))
            // Not a failure of the worker: a user has cancelled the download.
            case .cancelled: break
            }
        case .started, .responded, .received, .failedOver, .mirrorRejected, .paused, .named: break
        }
    }
}

/// Passes the events of a worker to its reporter, together with the names of the files, and finished files to the program of `--on-complete`.
///
/// An event has only the number of its download, so the first event of each download requires a query for the request. One task makes one
/// query for all events that have arrived in the meantime.
private final class WorkFeed: Sendable {
    private let names: QueueNames
    let reporter: any ProgressReporter
    let completion: CompletionProgram?
    /// The base directory for relative downloads.
    private let directory: URL
    private let events = AsyncQueue<DownloadEvent>()

    init(names: QueueNames, reporter: any ProgressReporter, completion: CompletionProgram?, directory: URL?) {
        self.names = names
        self.reporter = reporter
        self.completion = completion
        self.directory = (directory ?? .currentDirectory()).absoluteURL
    }

    func note(_ event: DownloadEvent) { events.enqueue(event) }

    func finish() { events.finish() }

    /// Runs until ``finish()``, and returns the tally of all events.
    func run(_ downloads: DownloadCoordinator) async -> WorkTally {
        var tally = WorkTally()
        // Of the running downloads, if there is a program for them.
        var requests: [Int: DownloadRequest] = [:]
        for await event in events.elements {
            var batch = [event]
            while let next = events.tryDequeue() { batch.append(next) }
            let unknown = Set(batch.compactMap(\.download)).filter { !names.contains(Int($0.rawValue)) }
            // If the query fails, the downloads are shown by their numbers.
            let found = try? await downloads.downloads(.ids(Array(unknown)), maximumCount: unknown.count)
            for download in found ?? [] {
                names[Int(download.id.rawValue)] = download.request.name
                if completion != nil { requests[Int(download.id.rawValue)] = download.request }
            }
            for event in batch {
                tally.note(event)
                guard let id = event.download.map({ Int($0.rawValue) }) else { continue }
                reporter.report(id, event.namingOptions)
                guard event.leavesWorker else { continue }
                let request = requests.removeValue(forKey: id)
                if let completion, case .finished(_, .done(let size)) = event {
                    if let request {
                        completion.note(request.resolved(in: directory), size: size)
                    } else {
                        completion.leaveOut(names[id], because: "the queue couldn't be read")
                    }
                }
                names.forget(id)
            }
        }
        return tally
    }
}

extension DownloadEvent {
    /// Whether the worker is done with the download.
    fileprivate var leavesWorker: Bool {
        switch self {
        case .finished, .paused, .released, .retrying, .failedOver: true
        case .started, .responded, .received, .named, .mirrorRejected: false
        }
    }
}
