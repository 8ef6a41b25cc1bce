import ArgumentParser
import SluiceDownloads
import SluiceHTTP

struct QueuePauseCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stops downloads until they are resumed. They keep their partial files.",
        discussion: """
            Pausing a user or a batch pauses only what that user or batch has requested: a download that others have requested, \
            too, goes on for them. The command waits until running downloads have stopped, usually less than 6 seconds.

            EXAMPLES:
              Pause everything, and continue later:
                sluice queue pause --db songs.db --all
                sluice queue resume --db songs.db --all
              Let the running downloads finish, and start no others:
                sluice queue pause --db songs.db --waiting

            \(QueueChangeHelp.status)
            """)

    @OptionGroup
    var queue: QueueOption

    @OptionGroup
    var selected: QueueSelectionOptions

    @Flag(help: "The downloads that wait, but not the running ones.")
    var waiting = false

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        let selection = try selected.selection(for: "pause", isWaiting: waiting)
        return try await QueueChange(
            kind: .pause, database: QueueDatabase(name: queue.db, command: "pause"), selection: selection, isJSON: json,
            console: console
        ).run()
    }
}

struct QueueResumeCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lets paused downloads wait for a worker again.",
        discussion: """
            They continue with the bytes of their partial files.

            EXAMPLES:
              Resume what one user has paused:
                sluice queue resume --db songs.db --user ann

            \(QueueChangeHelp.status)
            """)

    @OptionGroup
    var queue: QueueOption

    @OptionGroup
    var selected: QueueSelectionOptions

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        let selection = try selected.selection(for: "resume")
        return try await QueueChange(
            kind: .resume, database: QueueDatabase(name: queue.db, command: "resume"), selection: selection,
            isJSON: json, console: console
        ).run()
    }
}

struct QueueCancelCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancels downloads and removes their partial files.",
        discussion: """
            Cancelling a user or a batch withdraws only what that user or batch has requested: a download that others have \
            requested, too, goes on for them. Downloads that are done stay done, and their files aren't removed. The command waits \
            until running downloads have stopped, usually less than 6 seconds.

            EXAMPLES:
              Cancel the downloads 7 and 12:
                sluice queue cancel --db songs.db 7 12
              Cancel a playlist:
                sluice queue cancel --db songs.db --batch "top 500"
              Cancel what hasn't started:
                sluice queue cancel --db songs.db --waiting

            \(QueueChangeHelp.status)
            """)

    @OptionGroup
    var queue: QueueOption

    @OptionGroup
    var selected: QueueSelectionOptions

    @Flag(help: "The downloads that wait, but not the running ones.")
    var waiting = false

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        let selection = try selected.selection(for: "cancel", isWaiting: waiting)
        return try await QueueChange(
            kind: .cancel, database: QueueDatabase(name: queue.db, command: "cancel"), selection: selection,
            isJSON: json, console: console
        ).run()
    }
}

struct QueueRetryCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Lets failed and cancelled downloads wait for a worker again.",
        discussion: """
            They keep their numbers, users, batches and priorities, and lose their failed attempts. A download isn't tried again \
            if another unfinished download writes the same file.

            EXAMPLES:
              Try the download 7 again:
                sluice queue retry --db songs.db 7
              Try everything from a host again, after it was out of order:
                sluice queue retry --db songs.db --host example.com

            \(QueueChangeHelp.status)
            """)

    @OptionGroup
    var queue: QueueOption

    @OptionGroup
    var selected: QueueSelectionOptions

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        let selection = try selected.selection(for: "retry")
        return try await QueueChange(
            kind: .retry, database: QueueDatabase(name: queue.db, command: "retry"), selection: selection,
            isJSON: json, console: console
        ).run()
    }
}

struct QueueRemoveCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes downloads that have ended from a queue. Their files stay.",
        discussion: """
            Only downloads that are done, failed or cancelled are removed; cancel others first. Workers also remove downloads that \
            ended more than 30 days ago, and keep at most 10000.

            EXAMPLES:
              Forget everything that has ended:
                sluice queue remove --db songs.db --all

            \(QueueChangeHelp.status)
            """)

    @OptionGroup
    var queue: QueueOption

    @OptionGroup
    var selected: QueueSelectionOptions

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        let selection = try selected.selection(for: "remove")
        return try await QueueChange(
            kind: .remove, database: QueueDatabase(name: queue.db, command: "remove"), selection: selection,
            isJSON: json, console: console
        ).run()
    }
}

enum QueueChangeHelp {
    static let json = "Print the numbers of changed downloads as one JSON document."

    static let status = """
        Exactly one selection is required: an option, or numbers. The command prints how many downloads it has changed, and \
        exits with 0 even if there were none. If no download has one of the numbers, the others are changed and the status is 1.
        """
}

// MARK: - The selected downloads

/// The options that select downloads. Exactly one selection is required, so that a forgotten option doesn't mean all downloads.
struct QueueSelectionOptions: ParsableArguments {
    @Flag(help: "All downloads.")
    var all = false

    @Option(help: .init("The downloads for a user. An empty name means those without a user.", valueName: "name"))
    var user: String?

    @Option(help: .init("The downloads of a batch. An empty name means those without a batch.", valueName: "name"))
    var batch: String?

    @Option(
        help: .init(
            "The downloads from a host, with its port unless that is the usual one: 127.0.0.1:8000.", valueName: "host")
    )
    var host: String?

    @Argument(help: .init("The numbers of downloads, as 'sluice queue list' shows them.", valueName: "id"))
    var ids: [Int64] = []

    /// Returns the only selection; `isWaiting` is the option `--waiting`, which some commands have.
    func selection(for command: String, isWaiting: Bool? = nil) throws(CommandFailure) -> QueuedDownload.Selection {
        func refuse(_ line: String) -> CommandFailure {
            CommandFailure(.usage, "\(line) See 'sluice queue \(command) --help'.")
        }
        var found: [(option: String, selection: QueuedDownload.Selection)] = []
        if all { found.append(("--all", .all)) }
        if isWaiting == true { found.append(("--waiting", .waiting)) }
        if let user { found.append(("--user", .user(user))) }
        if let batch { found.append(("--batch", .batch(batch))) }
        if let host {
            guard !host.isEmpty, !host.contains("/") else {
                throw refuse(
                    "--host \(host): This isn't a host. Name one without scheme and path, such as example.com.")
            }
            found.append(("--host", .host(HostName.canonical(typed: host))))
        }
        if !ids.isEmpty { found.append(("a number", .ids(ids.map { QueuedDownload.ID(rawValue: $0) }))) }
        guard let first = found.first else {
            let waiting = isWaiting == nil ? "" : "--waiting, "
            throw refuse("No downloads are selected. Pass --all, \(waiting)--user, --batch, --host or numbers.")
        }
        guard found.count == 1 else {
            let names = found.map(\.option)
            throw refuse(
                "\(names.dropLast().joined(separator: ", ")) and \(names.last!) can't be combined. Use only one.")
        }
        return first.selection
    }
}

// MARK: - One run

/// A command that changes selected downloads, and its messages.
private struct QueueChange: Sendable {
    enum Kind: String, Sendable {
        case pause, resume, cancel, retry, remove

        var pastTense: String {
            switch self {
            case .pause: "Paused"
            case .resume: "Resumed"
            case .cancel: "Cancelled"
            case .retry: "Retrying"
            case .remove: "Removed"
            }
        }

        /// The downloads that the command changes, for a message when there are none.
        var subjects: String {
            switch self {
            case .pause: "waiting or running"
            case .resume: "paused"
            case .cancel: "waiting, running or paused"
            case .retry: "failed or cancelled"
            case .remove: "done, failed or cancelled"
            }
        }
    }

    /// The JSON of the command.
    struct Result: Sendable, Equatable, Encodable {
        /// The number of changed downloads.
        var changed = 0
        /// How many of them go on for other users or batches.
        var continuing = 0
        /// How many of them haven't stopped yet, because the command was interrupted.
        var running = 0
        /// The numbers that no download has.
        var unknown: [Int64] = []
    }

    var kind: Kind
    var database: QueueDatabase
    var selection: QueuedDownload.Selection
    var isJSON: Bool
    var console: Console

    func run() async throws -> ExitStatus {
        let result = try await database.withQueue { downloads, queue in
            var unknown: Set<QueuedDownload.ID> = []
            // Before the change: removed downloads have no numbers.
            if case .ids(let ids) = selection { unknown = Set(ids).subtracting(try await queue.jobs(ids).map(\.id)) }
            // A new worker takes back the jobs of dead ones, which nothing would stop until their leases expire.
            if kind == .pause || kind == .cancel { try await queue.detach(queue.attach()) }
            var (result, running) = try await change(downloads, queue)
            result.unknown = unknown.map(\.rawValue).sorted()
            if !running.isEmpty, console.isTerminal {
                let verb = running.count == 1 ? "has" : "have"
                await console.report("Waiting until \(Format.count(running.count, "download")) \(verb) stopped.")
            }
            result.running = try await stillRunning(running, queue)
            return result
        }
        if isJSON {
            await console.writeWhole(try CommandJSON.line(result), to: .output)
        } else {
            await console.writeWhole(Self.text(kind, result) + "\n", to: .output)
        }
        for id in result.unknown {
            await console.report(
                "\(id): The queue has no download with this number. Look it up with 'sluice queue list'.")
        }
        if result.running > 0 {
            await console.report(
                "Interrupted: \(Format.count(result.running, "download")) will stop as soon as the worker notices.")
            return .interrupted
        }
        return result.unknown.isEmpty ? .success : .other
    }

    /// Returns what has changed, and the running downloads that their workers are going to stop.
    private func change(
        _ downloads: DownloadCoordinator, _ queue: any QueueStore
    ) async throws -> (Result, running: [QueuedDownload.ID]) {
        switch kind {
        case .pause: return Self.counted(try await queue.pause(selection), running: \.pausing)
        case .cancel:
            let change = try await queue.cancel(selection)
            await downloads.discardPartialFiles(of: change.stopped)
            return Self.counted(change, running: \.cancelling)
        case .resume: return (Result(changed: try await downloads.resume(selection)), [])
        case .retry: return (Result(changed: try await downloads.retry(selection)), [])
        case .remove: return (Result(changed: try await downloads.remove(selection)), [])
        }
    }

    private static func counted(
        _ change: JobChange, running: KeyPath<JobChange, [QueuedDownload.ID]>
    ) -> (Result, running: [QueuedDownload.ID]) {
        let changed = Set(change.stopped.map(\.id) + change.cancelling + change.pausing + change.continuing).count
        // A job that continues for paused members only is in both lists.
        let continuing = Set(change.continuing).subtracting(change.pausing).count
        return (Result(changed: changed, continuing: continuing), change[keyPath: running])
    }

    /// Waits until workers have stopped these downloads. Returns how many still run if the task is cancelled.
    private func stillRunning(_ ids: [QueuedDownload.ID], _ queue: any QueueStore) async throws -> Int {
        guard !ids.isEmpty else { return 0 }
        // A claim of zero jobs takes back those of dead workers. It leases nothing, so the length of the lease doesn't matter.
        let nothing = JobClaim(
            worker: QueueWorker(name: ""), count: 0, limits: DownloadCoordinator.Limits(), lease: .zero)
        while true {
            _ = try await queue.exchange([], claiming: nothing)
            // A download that was resumed, or enqueued again, meanwhile runs on.
            let running = try await queue.jobs(ids).count(where: \.isStopping)
            if running == 0 || Task.isCancelled { return running }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    static func text(_ kind: Kind, _ result: Result) -> String {
        guard result.changed > 0 else {
            return "\(kind.pastTense) 0 downloads: none of the selected ones is \(kind.subjects)."
        }
        var text = "\(kind.pastTense) \(Format.count(result.changed, "download"))"
        if result.continuing > 0 {
            let subject = result.continuing == result.changed ? "which" : "of which \(result.continuing)"
            text += ", \(subject) \(result.continuing == 1 ? "goes" : "go") on for other users or batches"
        }
        return text + "."
    }
}
