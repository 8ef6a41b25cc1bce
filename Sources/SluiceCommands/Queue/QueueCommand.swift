import ArgumentParser

/// The commands for queues that outlive a process.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Fills, shows, controls and runs a queue of downloads in a database.",
        discussion: """
            A queue is a database file that several processes share: some add downloads, some show and control them, and workers \
            download them. All workers together observe the limits. A worker that is killed loses no download.

            Processes on several machines share a queue in a PostgreSQL database: --db postgres://ann@db.example/sluice. A database \
            can have several queues: the name of one follows the URL, as in postgres://ann@db.example/sluice#songs. What the URL \
            leaves out comes from the variables PGHOST, PGUSER, PGDATABASE and so on: with them, postgres:///#songs is enough. Put \
            the password into the variable PGPASSWORD or the file ~/.pgpass, because all users of a machine can see the arguments \
            of its processes. This needs a build with --traits PostgreSQL.

            EXAMPLES:
              Add a list of URLs to a queue, which is created if it is missing:
                sluice queue add --db songs.db -d music -i top500.txt --batch "top 500"
              Download until nothing is left to do:
                sluice queue work --db songs.db --until-empty
              Look at the queue, once or on the full screen:
                sluice queue list --db songs.db
                sluice queue watch --db songs.db
              Look at it in a browser, and change it there:
                sluice queue serve --db songs.db
              Cancel what one user has asked for:
                sluice queue cancel --db songs.db --user ann
            """,
        subcommands: [
            QueueAddCommand.self, QueueListCommand.self, QueueWatchCommand.self, QueueServeCommand.self,
            QueueWorkCommand.self, QueuePauseCommand.self, QueueResumeCommand.self, QueueCancelCommand.self,
            QueueRetryCommand.self, QueueRemoveCommand.self, QueueLimitCommand.self, QueueCopyCommand.self,
        ])
}

/// The option `--db`.
struct QueueOption: ParsableArguments {
    @Option(help: .init("The queue: a database file, or the URL of a PostgreSQL database.", valueName: "db"))
    var db: String
}
