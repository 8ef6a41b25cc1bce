import ArgumentParser
import SluiceDownloads

struct QueueAddCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adds downloads to a queue.",
        discussion: """
            The queue is created if it is missing. Nothing is downloaded: 'sluice queue work' does that, at any time and in any \
            number of processes. All URLs and lists are checked first; if one has a mistake, nothing is added.

            A download is identified by its URL and its file. If it is already in the queue, the user and the batch join it, and \
            it is downloaded once for all of them. A download that is done is kept, unless its file is gone. So the same command \
            can be repeated. (Whether the file is gone can't be seen if its directory is relative.)

            EXAMPLES:
              Add a list for a user, to be downloaded before everything else:
                sluice queue add --db songs.db -d music -i list.txt --user ann --priority 10
              Add URLs from another program:
                generate-urls | sluice queue add --db songs.db -d music -i -

            With a database file, the queue stores the absolute path of each directory. In a PostgreSQL queue, a relative directory \
            stays relative, and any worker downloads the file; what has an absolute directory is downloaded only on this machine.

            A LIST FILE is the same as for 'sluice get': one URL per line, with indented options below it. The user of a line \
            (user=) takes precedence over --user.

            If other unfinished downloads write the same files, these URLs are named and not added, and the status is 1.
            """)

    @OptionGroup
    var queue: QueueOption

    @Argument(help: "The http and https URLs to add.")
    var urls: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init(
            """
            The directory to download into, which workers create. In a PostgreSQL queue, a relative one is below the directory of \
            the worker ('work --directory').
            """, valueName: "dir"))
    var directory: String

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: .init("A file that lists URLs, or - for standard input. Repeatable.", valueName: "list"))
    var lists: [String] = []

    @Option(help: .init("The user that the downloads are for.", valueName: "name"))
    var user: String?

    @Option(help: .init("A name for these downloads together, to pause or cancel them.", valueName: "name"))
    var batch: String?

    @Option(help: .init("The priority. Downloads of a higher priority start first.", valueName: "n"))
    var priority = 0

    @Flag(help: "Print the numbers of the downloads, and what was done, as one JSON document.")
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        func refuse(_ line: String) -> CommandFailure {
            CommandFailure(.usage, "\(line) See 'sluice queue add --help'.")
        }
        guard !urls.isEmpty || !lists.isEmpty else {
            throw refuse("There is nothing to add. Pass URLs, or a list with -i.")
        }
        guard !directory.isEmpty else { throw refuse("-d: The directory name is empty. Name a directory.") }
        guard lists.count(where: { $0 == "-" }) <= 1 else {
            throw refuse("-i -: Standard input can be read only once. Pass it once.")
        }
        // The store keeps priorities in 64 bits, with room for their order.
        guard priority.magnitude <= 1_000_000_000 else {
            throw refuse("--priority \(priority): The number must be from -1000000000 to 1000000000.")
        }
        return try await QueueAdd(
            database: QueueDatabase(name: queue.db, command: "add"), urls: urls, lists: lists, directory: directory,
            user: user, batch: batch, priority: priority, isJSON: json, console: console
        ).run()
    }
}
