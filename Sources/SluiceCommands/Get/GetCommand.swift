import ArgumentParser
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

struct GetCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Downloads files over HTTP and HTTPS.",
        discussion: """
            A file appears under its name only when it is complete. Until then it is NAME.sluice.part, with a checkpoint \
            NAME.sluice.json beside it. Files of at most 256 KiB are written in one step. After an interruption, the same command \
            resumes a partial file if the server supports that and still has the same file. Downloads that fail for a temporary \
            reason are retried with growing delays.

            EXAMPLES:
              Download two files into a directory, which is created if it is missing:
                sluice get -d music https://example.com/a.mp3 https://example.com/b.mp3
              Download a list of URLs and skip the files that exist:
                sluice get -i list.txt -d music --no-clobber
              Keep the queue in a database, and repeat the command until it exits with 0:
                sluice get --db queue.db -i list.txt -d music
              Fetch what is new, and take the rest from the cache:
                sluice get --cache --overwrite -i list.txt -d music
              Read URLs from another program and report progress as JSON lines:
                generate-urls | sluice get -i - --progress json

            A LIST FILE has one URL per line. Indented lines below a URL are its options.
            Empty lines and lines that begin with # are skipped.
              https://example.com/download?id=7
                out=song.mp3
                dir=music
                user=ann
            All entries are checked before the first download starts, so the list is in memory: 100,000 URLs take about 250 MB. \
            'sluice queue add' and 'sluice queue work' take a list of any length in 50 MB.

            THE CACHE keeps responses as HTTP allows it to a browser. With --cache, a fresh stored response is written without a \
            request. A file that is larger than \(Format.bytes(CacheLocation.maximumDiskSize / 10)) isn't stored in the cache.

            PROGRESS never slows a download. If nothing reads the lines, all results wait in memory, but only the latest \
            \(LineBacklog.newsLimit) of the lines 'started', 'responded' and 'retrying'. A line 'dropped' counts the others. Output \
            that can't be written, for example to a full disk, is a failure.

            \(SignalHelp.text)

            \(ExitStatus.help)
            """)

    @Argument(help: "The http and https URLs to download.")
    var urls: [String] = []

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: .init("A file that lists URLs, or - for standard input. Repeatable.", valueName: "list"))
    var lists: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init("The directory to download into, created if missing.", valueName: "dir"))
    var directory = "."

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: .init("The file name of a single URL. (default: the last part of the URL)", valueName: "name"))
    var output: String?

    @Option(
        help: .init(
            """
            A database file for the queue, created if missing, which several processes can share. (default: in memory)
            """, valueName: "file"))
    var db: String?

    @Flag(
        help: """
            Use the responses in a cache that are fresh, validate stale ones, and store new ones. See 'sluice cache --help'.
            """)
    var cache = false

    @Option(
        help: .init(
            """
            The directory of the cache, created if missing, as with --cache. (default: \(CacheHelp.place))
            """, valueName: "dir"))
    var cacheDirectory: String?

    @OptionGroup
    var transfers: TransferOptions

    func run(_ console: Console) async throws -> ExitStatus {
        try await GetRun(options: checked(console), console: console).run()
    }

    private func checked(_ console: Console) throws(CommandFailure) -> GetOptions {
        let settings = try transfers.checked(for: "get")
        guard db != "" else {
            throw CommandFailure(.usage, "--db: The file name is empty. Name a file. See 'sluice get --help'.")
        }
        guard !urls.isEmpty || !lists.isEmpty else {
            throw CommandFailure(
                .usage, "There is nothing to download. Pass URLs, or a list with -i. See 'sluice get --help'.")
        }
        let isCached = cache || cacheDirectory != nil
        return GetOptions(
            urls: urls, lists: lists, directory: directory, output: output, database: db,
            cache: isCached ? try CacheLocation(cacheDirectory, option: "--cache-directory", console) : nil,
            transfers: settings)
    }
}

package struct GetOptions: Sendable {
    var urls: [String]
    var lists: [String]
    var directory: String
    var output: String?
    /// The database file of the queue; `nil` for a queue in memory.
    var database: String?
    /// The cache that the responses come from; `nil` for none.
    var cache: CacheLocation?
    var transfers: TransferSettings
}
