import ArgumentParser
import SluiceDownloads
import SluiceHTTP

// MARK: - The commands

/// A command that changes selected downloads.
protocol QueueChangeCommand: ConsoleCommand {
    static var action: QueueAction { get }

    var queue: QueueOption { get }
    var selected: QueueSelectionOptions { get }
    /// Whether `--waiting` is given; `nil` for a command without this option.
    var selectsWaiting: Bool? { get }
    var json: Bool { get }
}

extension QueueChangeCommand {
    var selectsWaiting: Bool? { nil }

    func run(_ console: Console) async throws -> ExitStatus {
        let name = Self.action.rawValue
        let selection = try selected.selection(for: name, isWaiting: selectsWaiting)
        return try await QueueActionRun(
            action: Self.action, database: QueueDatabase(name: queue.db, command: name), selection: selection,
            isJSON: json, console: console
        ).run()
    }
}

struct QueuePauseCommand: QueueChangeCommand {
    static let action = QueueAction.pause

    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stops downloads until they are resumed. They keep their partial files.",
        discussion: """
            Pausing a user or a batch pauses only what that user or batch has requested: a download that others have also \
            requested continues for its other users. The command waits until running downloads have stopped, usually less than 6 seconds.

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

    @Flag(help: "The waiting downloads, but not the running ones.")
    var waiting = false

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false

    var selectsWaiting: Bool? { waiting }
}

struct QueueResumeCommand: QueueChangeCommand {
    static let action = QueueAction.resume

    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resumes paused downloads.",
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
}

struct QueueCancelCommand: QueueChangeCommand {
    static let action = QueueAction.cancel

    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancels downloads and removes their partial files.",
        discussion: """
            Cancelling a user or a batch withdraws only what that user or batch has requested: a download that others have \
            also requested continues for its other users. Downloads that are done stay done, and their files aren't removed. \
            The command waits until running downloads have stopped, usually less than 6 seconds.

            EXAMPLES:
              Cancel the downloads 7 and 12:
                sluice queue cancel --db songs.db 7 12
              Cancel the download 7 for one user. It continues if others have requested it too:
                sluice queue cancel --db songs.db --user ann 7
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

    @Flag(help: "The waiting downloads, but not the running ones.")
    var waiting = false

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false

    var selectsWaiting: Bool? { waiting }
}

struct QueueRetryCommand: QueueChangeCommand {
    static let action = QueueAction.retry

    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retries failed and cancelled downloads.",
        discussion: """
            They keep their numbers, users, batches and priorities, and lose their failed attempts. A download isn't retried if \
            another unfinished download writes the same file.

            EXAMPLES:
              Retry the download 7:
                sluice queue retry --db songs.db 7
              Retry everything from a host after an outage:
                sluice queue retry --db songs.db --host example.com

            \(QueueChangeHelp.status)
            """)

    @OptionGroup
    var queue: QueueOption

    @OptionGroup
    var selected: QueueSelectionOptions

    @Flag(help: .init(stringLiteral: QueueChangeHelp.json))
    var json = false
}

struct QueueRemoveCommand: QueueChangeCommand {
    static let action = QueueAction.remove

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
}

enum QueueChangeHelp {
    static let json = "Print the numbers of changed downloads as one JSON document."

    static let status = """
        Exactly one selection is required: an option, numbers, or numbers with --user. The command prints how many downloads it has \
        changed, and exits with 0 even if there were none. If no download has one of the numbers, the others are changed and the \
        status is 1.
        """
}

// MARK: - The selected downloads

/// The options that select downloads. Exactly one selection is required, so that forgetting an option doesn't select all downloads.
struct QueueSelectionOptions: ParsableArguments {
    @Flag(help: "All downloads.")
    var all = false

    @Option(
        help: .init(
            "The downloads for a user, or those of them with the given numbers. An empty name selects downloads without a user.",
            valueName: "name"))
    var user: String?

    @Option(
        help: .init("The downloads of a batch. An empty name selects downloads without a batch.", valueName: "name"))
    var batch: String?

    @Option(
        help: .init(
            "The downloads from a host. Add the port unless it is the default: 127.0.0.1:8000.", valueName: "host"))
    var host: String?

    @Argument(help: .init("The numbers of downloads, as 'sluice queue list' shows them.", valueName: "id"))
    var ids: [Int64] = []

    /// Returns the selection, and throws unless there is exactly one. `isWaiting` is the option `--waiting`, or `nil` for a command without
    /// it.
    func selection(for command: String, isWaiting: Bool? = nil) throws(CommandFailure) -> QueuedDownload.Selection {
        func refuse(_ line: String) -> CommandFailure {
            CommandFailure(.usage, "\(line) See 'sluice queue \(command) --help'.")
        }
        var found: [(option: String, selection: QueuedDownload.Selection)] = []
        if all { found.append(("--all", .all)) }
        if isWaiting == true { found.append(("--waiting", .waiting)) }
        let numbers = ids.map { QueuedDownload.ID(rawValue: $0) }
        if let user { found.append(("--user", .user(user, ids: numbers.isEmpty ? nil : numbers))) }
        if let batch { found.append(("--batch", .batch(batch))) }
        if let host {
            guard !host.isEmpty, !host.contains("/") else {
                throw refuse(
                    "--host \(host): This isn't a host. Name one without scheme and path, such as example.com.")
            }
            found.append(("--host", .host(HostName.canonical(typed: host))))
        }
        if !numbers.isEmpty, user == nil { found.append(("a number", .ids(numbers))) }
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

/// What a command does with the selected downloads, and the words for it.
enum QueueAction: String, Sendable {
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

    func perform(
        on selection: QueuedDownload.Selection, in downloads: DownloadCoordinator
    ) async throws -> DownloadCoordinator.ChangeReport {
        switch self {
        case .pause: try await downloads.pause(selection, waits: false)
        case .resume: try await downloads.resume(selection)
        case .cancel: try await downloads.cancel(selection, waits: false)
        case .retry: try await downloads.retry(selection)
        case .remove: try await downloads.remove(selection)
        }
    }
}

/// One run of a command that changes selected downloads.
private struct QueueActionRun: Sendable {
    /// The JSON of the command.
    struct Result: Sendable, Equatable, Encodable {
        /// The number of changed downloads.
        var changed = 0
        /// How many of them continue for other users or batches.
        var continuing = 0
        /// How many of them haven't stopped yet, because the command was interrupted.
        var running = 0
        /// The numbers from the command line that no download has.
        var unknown: [Int64] = []
    }

    var action: QueueAction
    var database: QueueDatabase
    var selection: QueuedDownload.Selection
    var isJSON: Bool
    var console: Console

    func run() async throws -> ExitStatus {
        let result = try await database.withQueue { downloads in
            let report = try await action.perform(on: selection, in: downloads)
            if !report.stopping.isEmpty, console.isTerminal {
                let verb = report.stopping.count == 1 ? "has" : "have"
                await console.report(
                    "Waiting until \(Format.count(report.stopping.count, "download")) \(verb) stopped.")
            }
            return Result(
                changed: report.changedCount, continuing: report.continuingCount,
                running: try await runningAfterWait(report.stopping, downloads),
                unknown: report.unknown.map(\.rawValue))
        }
        if isJSON {
            await console.writeWhole(try CommandJSON.line(result), to: .output)
        } else {
            await console.writeWhole(text(result) + "\n", to: .output)
        }
        let owner = isForUser ? "user" : "queue"
        for id in result.unknown {
            await console.report(
                "\(id): The \(owner) has no download with this number. Look it up with 'sluice queue list'.")
        }
        if result.running > 0 {
            await console.report(
                "Interrupted: \(Format.count(result.running, "download")) will stop as soon as the worker notices.")
            return .interrupted
        }
        return result.unknown.isEmpty ? .success : .other
    }

    private var isForUser: Bool {
        if case .user = selection { true } else { false }
    }

    /// Waits until workers have stopped these downloads. If the task is cancelled, returns how many are still running.
    private func runningAfterWait(_ ids: [QueuedDownload.ID], _ downloads: DownloadCoordinator) async throws -> Int {
        do {
            try await downloads.waitUntilStopped(ids)
            return 0
        } catch is CancellationError {
            return try await downloads.downloads(.ids(ids), maximumCount: ids.count).count(where: \.isStopping)
        }
    }

    private func text(_ result: Result) -> String {
        guard result.changed > 0 else {
            return "\(action.pastTense) 0 downloads: no selected download is \(action.subjects)."
        }
        var text = "\(action.pastTense) \(Format.count(result.changed, "download"))"
        if result.continuing > 0 {
            let subject = result.continuing == result.changed ? "which" : "of which \(result.continuing)"
            text += ", \(subject) \(result.continuing == 1 ? "continues" : "continue") for other users or batches"
        }
        return text + "."
    }
}
