import ArgumentParser
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

/// `sluice get`: the arguments.
struct GetCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Downloads files.",
        discussion: """
            Each file is written beside its place as NAME.sluice.part and gets its name only when it is whole. Downloads that fail \
            for a passing reason are tried again, with growing delays. Ctrl-C stops cleanly; a second one stops immediately. \
            What has arrived stays, and the same command goes on there if the server can and has the same file still.

            EXAMPLES:
              sluice get https://example.com/song.mp3
              sluice get -d music -j 4 https://example.com/a.mp3 https://example.com/b.mp3
              sluice get -o today.html https://example.com/
              sluice get -i list.txt -d music --no-clobber
              sluice get --db queue.db -i list.txt -d music      (to be repeated until it exits with 0)
              generate-urls | sluice get -i - --progress json

            A LIST FILE has one URL a line. Indented lines below a URL are options of it:
              # comments and empty lines are skipped
              https://example.com/download?id=7
                out=song.mp3
                dir=music
                user=ann

            PROGRESS slows no download. While nothing reads it, each result waits in memory, and of the lines 'started', \
            'responded' and 'retrying' the latest \(LineBacklog.newsLimit); a line 'dropped' counts the others. Output that can't be \
            written, as on a full disk, is a failure.

            \(SignalHelp.text)

            \(ExitStatus.help)
            """)

    @Argument(help: "What to download: http or https URLs.")
    var urls: [String] = []

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: .init("A file that lists URLs, or - for standard input. May be given several times.", valueName: "list"))
    var lists: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init("The folder that the files go to. It is made if it is missing.", valueName: "dir"))
    var directory = "."

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: .init("The file's name, for a single URL. By default the URL's last part.", valueName: "name"))
    var output: String?

    @Option(
        name: [.customShort("j", allowingJoined: true), .customLong("jobs")],
        help: .init("How many downloads run at once.", valueName: "n"))
    var jobs = 8

    @Option(
        help: .init("How many downloads run at once from one host and port. By default as many as -j.", valueName: "n"))
    var perHost: Int?

    @Option(
        help: .init(
            "How many downloads run at once for one user; users are named by user= in a list. By default as many as -j.",
            valueName: "n"))
    var perUser: Int?

    @Option(
        help: .init(
            """
            Keep the queue in this database file, which is made if it is missing: after an interruption, a kill or a crash the \
            same command goes on where it was. Several processes may share it; then the limits hold for all together.
            """, valueName: "file"))
    var db: String?

    @Option(help: .init("How often a download is tried again.", valueName: "n"))
    var retries = 3

    @Flag(help: "Replace files that exist already, each once its new content is whole.")
    var overwrite = false

    @Flag(help: "Leave files that exist already, and count them as done. Without either flag they are errors.")
    var noClobber = false

    @Option(
        help: .init(
            """
            How to show progress on standard error: bar, lines (one for each file), none, or json (JSON lines on standard \
            output). auto is bar on a terminal and lines elsewhere.
            """, valueName: "style"))
    var progress = ProgressStyle.auto

    @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Show errors only; the same as --progress none.")
    var isQuiet = false

    @Option(help: .init("Seconds that a server may take to accept a connection.", valueName: "s"))
    var connectTimeout = 15.0

    @Option(
        help: .init("Seconds that a server may send nothing before the download counts as stalled.", valueName: "s"))
    var timeout = 60.0

    @Option(
        help: .init(
            """
            Ask this proxy: http://, https://, socks4://, socks4a://, socks5:// or socks5h:// (the proxy looks up names), host and \
            port; none asks none. By default those that http_proxy, https_proxy, all_proxy and no_proxy name.
            """, valueName: "url"))
    var proxy: String?

    @Option(
        help: .init("Trust the certificate authorities of this file (PEM) instead of the system's.", valueName: "file"))
    var caFile: String?

    @Option(help: .init("Show this certificate to servers that ask for one (PEM).", valueName: "file"))
    var cert: String?

    @Option(help: .init("The key of --cert, if it is in a file of its own (PEM).", valueName: "file"))
    var key: String?

    @Option(
        help: .init(
            """
            What is on disk when a file is done: none (the system writes when it likes), data (a file with its name has its \
            bytes, even after a loss of power), full (its name survives that, too).
            """, valueName: "level"))
    var durability = DurabilityOption.data

    @Option(
        help: .init(
            """
            Write each request, the head of each response and how long the steps took to this file, which is replaced; - for \
            standard error. Passwords, cookies and the queries of URLs are left out.
            """, valueName: "file"))
    var trace: String?

    func run(_ console: Console) async throws -> ExitStatus {
        try await GetRun(options: checked(), console: console).run()
    }

    /// The options, if they make sense together.
    private func checked() throws(CommandFailure) -> GetOptions {
        func refuse(_ line: String) -> CommandFailure { CommandFailure(.usage, "\(line); see 'sluice get --help'") }
        guard (1...1024).contains(jobs) else {
            throw refuse("-j \(jobs): the number of downloads at once must be between 1 and 1024")
        }
        // A download has a connection and a partial file; some descriptors belong to the process itself.
        if let files = ProcessTerminal.allowOpenFiles(), files < jobs * 2 + 64 {
            throw refuse(
                "-j \(jobs): this process may open \(files) files, which suffices for -j \(max(1, (files - 64) / 2)); "
                    + "allow more with ulimit -n")
        }
        for (option, limit) in [("--per-host", perHost), ("--per-user", perUser)] {
            guard limit.map((1...1024).contains) ?? true else {
                throw refuse("\(option) \(limit!): must be between 1 and 1024")
            }
        }
        guard db != "" else { throw refuse("--db: name a file") }
        guard (0...1000).contains(retries) else { throw refuse("--retries \(retries): must be between 0 and 1000") }
        guard connectTimeout > 0, connectTimeout <= 86_400 else {
            throw refuse("--connect-timeout \(connectTimeout): must be more than 0 seconds and at most a day")
        }
        guard timeout > 0, timeout <= 86_400 else {
            throw refuse("--timeout \(timeout): must be more than 0 seconds and at most a day")
        }
        if let proxy, let problem = Self.problem(ofProxy: proxy) { throw refuse("--proxy \(problem)") }
        guard key == nil || cert != nil else { throw refuse("--key: give the certificate too, with --cert") }
        guard trace != "" else { throw refuse("--trace: name a file, or - for standard error") }
        guard trace != "-" || progress != .bar || isQuiet else {
            throw refuse("--trace -: its lines would be drawn over; name a file, or add --progress lines")
        }
        guard !(overwrite && noClobber) else {
            throw refuse("--overwrite and --no-clobber contradict each other: give one of them")
        }
        guard !urls.isEmpty || !lists.isEmpty else {
            throw refuse("nothing to download: give URLs, or a list with -i")
        }
        return GetOptions(
            urls: urls, lists: lists, directory: directory, output: output,
            limits: DownloadCoordinator.Limits(total: jobs, perHost: perHost, perUser: perUser), database: db,
            retries: retries,
            existing: overwrite ? .replace : noClobber ? .skip : .fail,
            progress: isQuiet ? .none : trace == "-" && progress == .auto ? .lines : progress,
            connectTimeout: .seconds(connectTimeout), timeout: .seconds(timeout),
            durability: durability.level,
            proxy: proxy.map { $0 == "none" ? .none : ProxySettings($0) } ?? .environment,
            tls: .init(caFile: caFile, certificate: cert, key: key), trace: trace)
    }

    /// What is wrong with a proxy, without its password.
    private static func problem(ofProxy text: String) -> String? {
        let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts.count == 2 ? parts[0].lowercased() : "http"
        guard schemes.contains(scheme) else {
            return "\(scheme)://…: the scheme must be one of \(schemes.joined(separator: ", "))"
        }
        let authority = parts.last?.split(separator: "/", omittingEmptySubsequences: false).first ?? ""
        guard let host = authority.split(separator: "@", omittingEmptySubsequences: false).last, !host.isEmpty,
            !host.hasPrefix(":"), !host.contains(" ")
        else { return "\(scheme)://…: name a host and a port, such as \(scheme)://proxy.example:8080" }
        return nil
    }
}

/// What `sluice get` is to do, checked.
package struct GetOptions: Sendable {
    var urls: [String]
    var lists: [String]
    var directory: String
    var output: String?
    var limits: DownloadCoordinator.Limits
    /// The file of the queue that survives; nil keeps it in memory.
    var database: String?
    var retries: Int
    var existing: ExistingFile
    var progress: ProgressStyle
    var connectTimeout: Duration
    var timeout: Duration
    var durability: Durability
    var proxy: ProxySettings
    var tls: TLSFiles
    /// Where to write what goes over the wire; "-" for standard error.
    var trace: String?

    /// The files of `--ca-file`, `--cert` and `--key`.
    struct TLSFiles: Sendable {
        var caFile: String?
        var certificate: String?
        var key: String?
    }
}

/// `--durability`, by the names that users know.
enum DurabilityOption: String, ExpressibleByArgument, CaseIterable {
    case none, data, full

    var level: Durability {
        switch self {
        case .none: .none
        case .data: .data
        case .full: .fullAndDirectory
        }
    }
}
