import ArgumentParser

/// The commands for queues that outlive a process.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Fills, shows, controls and runs a queue of downloads in a database.",
        discussion: """
            A queue is a database file that several processes share: some add downloads, some show and control them, and workers \
            download them. The limits of the workers hold for all of them together. A worker that is killed loses no download.

            EXAMPLES:
              Add a list of URLs to a queue, which is created if it is missing:
                sluice queue add --db songs.db -d music -i top500.txt --batch "top 500"
              Download until nothing is left to do:
                sluice queue work --db songs.db --until-empty
              Look at the queue, once or on the full screen:
                sluice queue list --db songs.db
                sluice queue watch --db songs.db
              Cancel what one user has asked for:
                sluice queue cancel --db songs.db --user ann
            """,
        subcommands: [
            QueueAddCommand.self, QueueListCommand.self, QueueWatchCommand.self, QueueWorkCommand.self,
            QueuePauseCommand.self, QueueResumeCommand.self, QueueCancelCommand.self, QueueRetryCommand.self,
            QueueRemoveCommand.self, QueueCopyCommand.self,
        ])
}

/// The option `--db`.
struct QueueOption: ParsableArguments {
    @Option(help: .init("The database file of the queue.", valueName: "file"))
    var db: String
}
