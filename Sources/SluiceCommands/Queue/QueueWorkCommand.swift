import ArgumentParser
import SluiceDownloads

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
            Runs until a signal, and waits for more downloads meanwhile; with --until-empty, until no download waits or runs. \
            Several workers can share a queue, each in its own process; with PostgreSQL, on several machines. Give them the same \
            -j, --per-host and --per-user: the limits hold for all of them together. If a worker is killed, another one \
            continues its downloads within 15 seconds; with a database file, a worker that starts does so immediately.

            The first signal stops the worker cleanly: its downloads keep their partial files and wait again, and any worker \
            continues them. So there is nothing to repeat, unlike with 'sluice get'. The status is 7, also without --until-empty; \
            a service manager should count it as success (systemd: SuccessExitStatus=7).

            While a PostgreSQL server is away, the worker says so once, goes on, and records later what it has downloaded. If the \
            server is away when the worker starts, the status is 10.

            EXAMPLES:
              Download everything, then exit:
                sluice queue work --db songs.db --until-empty
              Run as a service, one song at a time for each user:
                sluice queue work --db songs.db -j 16 --per-host 4 --per-user 1 --progress lines
              Share a queue with workers on other machines, each with a directory of its own:
                sluice queue work --db postgres://ann@db.example/sluice -d /srv/music

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
            The directory of downloads with a relative one, such as those of a PostgreSQL queue. It is created if it is missing. \
            (default: the current directory)
            """, valueName: "dir"))
    var directory: String?

    @Flag(help: "Exit when no download waits or runs, also in other workers. Paused downloads stay.")
    var untilEmpty = false

    @OptionGroup
    var transfers: TransferOptions

    func run(_ console: Console) async throws -> ExitStatus {
        let settings = try transfers.checked(for: "queue work")
        guard directory != "" else {
            throw CommandFailure(
                .usage, "-d: The directory name is empty. Name a directory. See 'sluice queue work --help'.")
        }
        let database = QueueDatabase(name: queue.db, command: "work")
        _ = try database.store()
        return try await QueueWork(
            database: database, end: untilEmpty ? .whenEmpty : .whenCancelled,
            directory: directory.map { URL(filePath: $0, directoryHint: .isDirectory) },
            settings: settings, console: console
        ).run()
    }
}
