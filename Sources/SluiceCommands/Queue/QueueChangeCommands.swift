import ArgumentParser
import SluiceDownloads

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
