import ArgumentParser
import SluiceCache
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct GetCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Downloads files over HTTP and HTTPS.",
        discussion: """
            A file appears under its name only when it is complete. Until then it is NAME.sluice.part, with a checkpoint \
            NAME.sluice.json beside it. Files of at most 256 KiB are written in one step. After an interruption, the same command \
            resumes a partial file if the server supports that and still has the same file. Downloads that fail for a temporary \
            reason are retried with growing delays.

            Repeating a command continues it, and does nothing for files that it has already downloaded. A file that another program \
            made or changed is an error; pass --overwrite or --no-clobber.

            EXAMPLES:
              Download two files into a directory, which is created if it is missing:
                sluice get -d music https://example.com/a.mp3 https://example.com/b.mp3
              Download a list of URLs. The same command again continues, and skips what is complete:
                sluice get -i list.txt -d music
              Also skip files that come from elsewhere:
                sluice get -i list.txt -d music --no-clobber
              Keep the queue in a database, and repeat the command until it exits with 0:
                sluice get --db queue.db -i list.txt -d music
              Fetch what is new, and take the rest from the cache:
                sluice get --cache --overwrite -i list.txt -d music
              Log in with a password that isn't in the arguments, and send a header field:
                sluice get --auth @password.txt -H 'Accept-Language: en' https://example.com/a.mp3
              Download files and verify them:
                sluice get -i list.txt --checksum-file SHA256SUMS
              Store checksums with the files, and verify them months later:
                sluice get --xattr -i list.txt -d music
                sluice verify music
              Pass a file on to another program, without storing it:
                sluice get -o - https://example.com/a.tar.gz | tar xz
              Run a program for each file that was downloaded:
                sluice get -i list.txt --on-complete 'mp3gain -r'
              Read URLs from another program and report progress as JSON lines:
                generate-urls | sluice get -i - --progress json

            A LIST FILE has one URL per line. Indented lines below a URL are its options.
            Empty lines and lines that begin with # are skipped.
              https://example.com/download?id=7
                out=song.mp3
                dir=music
                user=ann
                checksum=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                mirror=https://mirror.example/song-7.mp3
                header=Accept-Language: en
                referer=https://example.com/
            A line can also be a JSON object with the same options:
              {"url": "https://example.com/a.mp3", "out": "song.mp3", "header": ["Accept: audio/*"]}
            A Metalink file (RFC 5854, usually NAME.meta4) is recognized by its contents: it has names, checksums and mirrors.
            All entries are checked before the first download starts, so the list is in memory: 100,000 URLs take about 250 MB. \
            'sluice queue add' and 'sluice queue work' take a list of any length in 50 MB.

            HEADER FIELDS AND PASSWORDS go only to the servers of the URLs, not to others that they redirect to. They are stored \
            nowhere, and are in no message and no trace.

            CHECKSUMS are verified while the bytes arrive. A file with other bytes isn't kept, and the status is 9. An existing file \
            with the right checksum counts as done. If the server sends a Repr-Digest or Content-Digest field, it is verified, too.

            MIRRORS are other URLs of the same file. If a server can't be reached, fails or sends wrong bytes, the next URL is tried \
            at once. What has arrived is continued if its file is the same version. Name a checksum, too, because otherwise each of \
            these servers decides what the file contains.

            THE CACHE stores what HTTP allows a browser's cache to store. With --cache, a fresh response comes from the cache \
            without a request. A file that is larger than \(Format.bytes(CacheLocation.maximumDiskSize / 10)) isn't stored in the \
            cache.

            STANDARD OUTPUT (-o -) gets the bytes of one URL while they arrive. Progress goes to standard error. Nothing is resumed, \
            and a failure after the first byte isn't retried. If the program that reads the output ends early, so does the command, with \
            status 0. A wrong checksum is found only at the end, with status 9: don't use the output before that.

            PROGRESS never slows a download. If nothing reads the output, results are kept in memory, along with only the latest \
            \(LineBacklog.newsLimit) 'started', 'responded' and 'retrying' lines. A 'dropped' line counts the rest. Output that \
            can't be written, for example to a full disk, is a failure.

            \(SignalHelp.text)

            \(ExitStatus.help)
            """)

    @Argument(help: "The http and https URLs to download.")
    var urls: [String] = []

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: .init(
            "A file that lists URLs, or a Metalink file; - for standard input. Repeatable.", valueName: "list"))
    var lists: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init("The directory to download into, created if missing. (default: .)", valueName: "dir"))
    var directory: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: .init(
            "The file name of a single URL; - writes the file to standard output. (default: the last part of the URL)",
            valueName: "name"))
    var output: String?

    @Flag(
        help:
            "Give files the names that their servers send, if they do. An existing file is never replaced without --overwrite."
    )
    var contentDisposition = false

    @Option(
        help: .init(
            "The checksum of a single URL's file: sha256: or sha512: and hexadecimal digits.", valueName: "checksum"))
    var checksum: String?

    @Option(
        help: .init(
            "Another URL of a single URL's file, for when its server fails. Repeatable.", valueName: "url"))
    var mirror: [String] = []

    @Option(
        help: .init(
            "A file of checksums, such as SHA256SUMS, that must contain the name of each file. Repeatable.",
            valueName: "file"))
    var checksumFile: [String] = []

    @Option(
        help: .init(
            """
            A database file for the queue, created if missing, which several processes can share. (default: in memory)
            """, valueName: "file"))
    var db: String?

    @Flag(
        help: """
            Don't remember which files were downloaded. (default: names, sizes and times, for 30 days, in \(StateHelp.place))
            """)
    var noRecords = false

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

    @Option(help: CompletionProgram.help)
    var onComplete: String?

    @Flag(help: "Show what would be downloaded, and send no request.")
    var dryRun = false

    @OptionGroup
    var requests: RequestOptions

    @OptionGroup
    var connections: ConnectionOptions

    @OptionGroup
    var transfers: TransferOptions

    func run(_ console: Console) async throws -> ExitStatus {
        if dryRun { return try await GetPreview(options: checked(console), console: console).run() }
        if output == "-" { return try await GetStream(options: streamed(console), console: console).run() }
        return try await GetRun(options: checked(console), console: console).run()
    }

    /// The options of `-o -`. Throws if there are others that are about files.
    private func streamed(_ console: Console) throws -> GetOptions {
        let others: [(option: String, isSet: Bool)] = [
            ("-d", directory != nil), ("-i", !lists.isEmpty), ("--db", db != nil),
            ("--checksum-file", !checksumFile.isEmpty), ("--overwrite", transfers.overwrite),
            ("--no-clobber", transfers.noClobber), ("--newer", transfers.isNewer),
            ("--remote-time", transfers.remoteTime), ("--xattr", transfers.xattr),
            ("--compressed", transfers.compressed), ("--segments", transfers.segments > 1),
            ("--content-disposition", contentDisposition), ("--progress json", transfers.progress == .json),
            ("--on-complete", onComplete != nil), ("--dry-run", dryRun), ("--mirror", !mirror.isEmpty),
        ]
        if let other = others.first(where: \.isSet)?.option {
            throw CommandFailure(
                .usage,
                "-o - and \(other) can't be combined, because standard output gets the bytes of one URL. Leave out "
                    + "\(other), or name a file. See 'sluice get --help'.")
        }
        guard urls.count <= 1 else {
            throw CommandFailure(
                .usage,
                "-o -: Standard output gets one file, but there are \(urls.count) URLs. Pass one of them. See "
                    + "'sluice get --help'.")
        }
        return try checked(console)
    }

    private func checked(_ console: Console) throws(CommandFailure) -> GetOptions {
        var settings = try transfers.checked(for: "get")
        settings.connections = try connections.checked(for: "get", proxy: transfers.proxy)
        guard db != "" else {
            throw CommandFailure(.usage, "--db: The file name is empty. Name a file. See 'sluice get --help'.")
        }
        guard !urls.isEmpty || !lists.isEmpty else {
            throw CommandFailure(
                .usage, "There is nothing to download. Pass URLs, or a list with -i. See 'sluice get --help'.")
        }
        guard !dryRun || (output != "-" && db == nil && transfers.progress != .json) else {
            let other = output == "-" ? "-o -" : db == nil ? "--progress json" : "--db"
            throw CommandFailure(
                .usage, "--dry-run and \(other) can't be combined. Leave out \(other). See 'sluice get --help'.")
        }
        let completion = try CompletionProgram.words(onComplete, for: "get")
        let others = [
            ("-o", output != nil, "Use only one."), ("--newer", transfers.isNewer, "Use only one."),
            ("--db", db != nil, "The queue stores the names. Leave out one of them."),
        ]
        for (option, isThere, reason) in others where isThere && contentDisposition {
            throw CommandFailure(
                .usage, "--content-disposition and \(option) can't be combined. \(reason) See 'sluice get --help'.")
        }
        let requests = try requests.checked(
            for: "get", origins: nil, inputIsTaken: lists.contains("-"), console)
        guard !requests.hasPasswords || (!cache && cacheDirectory == nil) else {
            throw CommandFailure(
                .usage,
                "--auth and --netrc can't be combined with --cache, which can't tell users apart by them. Pass "
                    + "-H 'Authorization: …' or --bearer-file, or leave out --cache. See 'sluice get --help'.")
        }
        guard !settings.isCompressed || (!cache && cacheDirectory == nil) else {
            throw CommandFailure(
                .usage,
                "--compressed can't be combined with --cache, which stores the bytes as the server has them. Leave out one "
                    + "of them. See 'sluice get --help'.")
        }
        guard requests.cookieFile == nil || (!cache && cacheDirectory == nil) else {
            throw CommandFailure(
                .usage,
                "--cookie-jar can't be combined with --cache, which can't tell users apart by cookies. Leave out one of "
                    + "them. See 'sluice get --help'.")
        }
        var location: CacheLocation?
        if cache || cacheDirectory != nil {
            location = try CacheLocation(cacheDirectory, option: "--cache-directory", command: "get", console)
        }
        return GetOptions(
            urls: urls, lists: lists, directory: directory ?? ".", output: output, takesServerNames: contentDisposition,
            checksum: checksum, mirrors: mirror, checksumFiles: checksumFile, database: db, cache: location,
            // Records know files by the names in their requests.
            records: noRecords || contentDisposition ? nil : console.stateDirectory, completion: completion,
            requests: requests, transfers: settings)
    }
}

package struct GetOptions: Sendable {
    var urls: [String]
    var lists: [String]
    var directory: String
    var output: String?
    var takesServerNames = false
    var checksum: String?
    var mirrors: [String] = []
    var checksumFiles: [String]
    /// The database file of the queue; `nil` for a queue in memory.
    var database: String?
    /// The cache that the responses come from; `nil` for none.
    var cache: CacheLocation?
    /// The directory of the records of completed files; `nil` for none.
    var records: URL?
    /// The program to run for each downloaded file.
    var completion: ShellWords?
    var requests: RequestSettings
    var transfers: TransferSettings
}

// MARK: - One run

private struct GetRun: Sendable {
    let options: GetOptions
    let console: Console
    private let records: DownloadRecords?

    init(options: GetOptions, console: Console) {
        self.options = options
        self.console = console
        records = options.records.map { DownloadRecords(in: $0) }
    }

    func run() async throws -> ExitStatus {
        try await options.transfers.checkFiles()
        try await CompletionProgram.check(options.completion, console)
        let contents = try await options.requests.loaded()
        let cookies = options.requests.cookieFile.map { CookieFiles($0, separatesUsers: false) }
        let jar = try await cookies?.jar(of: nil)
        let plan = try await GetPlan(options)
        if options.transfers.progress != .none { for note in plan.notes { await console.report(note) } }
        let names = plan.requests.map(\.name)
        let served = options.takesServerNames ? QueueNames() : nil
        if let served { for (index, name) in names.enumerated() { served[index] = name } }
        let reporter = options.transfers.progress.makeReporter(
            console: console, names: served.map { .served($0, count: names.count) } ?? .list(names))
        let completion = options.completion.map { line in
            CompletionProgram(line, environment: console.environment) { reporter.announce($0) }
        }
        let tools = GetTools(
            contents: contents, cookies: jar, served: served, reporter: reporter, completion: completion)
        let outcome = try await Trace.recording(to: options.transfers.trace, on: console) { trace in
            await console.interruption.responding(reporter.responses) {
                await download(plan.requests, tools, trace)
            }
        }
        // Also after a failure or an interruption, because a later run needs the cookies of a login.
        let saving = await Result { try await cookies?.save() }
        let summary = try outcome.get()
        await reportRecords()
        try saving.get()
        if Task.isCancelled, summary.unfinishedCount > 0 {
            let done = summary.doneCount + summary.skippedCount
            await console.report(
                "Interrupted: \(done) of \(plan.requests.count) files are complete. Run \(sameCommand) to continue.")
            return .interrupted
        }
        let status = ExitStatus.worst(of: summary.failures.values.map { ExitStatus($0) })
        // A download that another process cancelled has no error, but isn't done.
        return status == .success && (!summary.isComplete || completion?.hasFailed == true) ? .other : status
    }

    private var sameCommand: String {
        let isRecorded = options.database != nil || (records != nil && records?.failure == nil)
        return isRecorded || options.transfers.existing != .fail
            ? "the same command" : "the same command with --no-clobber"
    }

    /// The files are complete, but the user should know why the same command won't recognize them.
    private func reportRecords() async {
        guard let failure = records?.failure, options.transfers.progress != .none else { return }
        await console.report(
            "Note: Completed files couldn't be recorded, so the same command needs --no-clobber to skip them. \(failure) "
                + "Pass --no-records to record nothing.")
    }

    /// Fails only if the whole run does, for example if a directory can't be created.
    private func download(
        _ requests: [DownloadRequest], _ tools: GetTools, _ trace: Trace?
    ) async -> Result<DownloadSummary, CommandFailure> {
        do {
            return .success(try await summary(of: requests, tools, trace))
        } catch var error as QueueStoreError {
            if error.code == .passwordNotStored { error.remedy = "Leave out the password, or leave out --db." }
            return .failure(CommandFailure(.store, "--db: \(error)"))
        } catch let error as CommandFailure {
            return .failure(error)
        } catch let error as FileError {
            // The error is about a directory: nothing else is prepared outside of the downloads.
            return .failure(
                CommandFailure(.localFile, "\(error) Choose another directory with -d, or with dir= in a list."))
        } catch let error as TransferError {
            // A full disk ends the run, because every other download would fail, too.
            return .failure(
                CommandFailure(
                    ExitStatus(error), "\(error)",
                    error.stopMessage(sameCommand)))
        } catch is CancellationError {
            return .failure(CommandFailure(.interrupted, "Interrupted before anything was downloaded."))
        } catch {
            return .failure(CommandFailure(.other, "\(error)"))
        }
    }

    private func summary(
        of requests: [DownloadRequest], _ tools: GetTools, _ trace: Trace?
    ) async throws -> DownloadSummary {
        let store = try options.database.map { try QueueDatabase(name: $0, command: "get").store() } ?? .memory
        var configuration = options.transfers.transport(trace)
        tools.contents.apply(to: &configuration, for: requests.lazy.map(\.url))
        configuration.cookies = tools.cookies
        return try await HTTPTransport.withTransport(configuration: configuration) { transport in
            guard let location = options.cache else {
                return try await summary(of: requests, tools, store, transport) {
                    ProgressSummary($0)
                }
            }
            let limits = options.transfers.limits
            return try await location.withCache(
                concurrency: limits.total, concurrencyPerHost: limits.perHost ?? limits.total, transport: transport
            ) { cache in
                let result = await Result {
                    try await summary(of: requests, tools, store, CachingTransport(cache)) {
                        ProgressSummary($0, cache.statistics)
                    }
                }
                await report(cache.statistics, of: location)
                return try result.get()
            }
        }
    }

    private func summary(
        of requests: [DownloadRequest], _ tools: GetTools, _ store: DownloadStore, _ transport: any Transport,
        summarizedBy summarize: (DownloadSummary) -> ProgressSummary
    ) async throws -> DownloadSummary {
        var configuration = options.transfers.coordinator
        configuration.takesServerNames = options.takesServerNames
        // No circuit breaker: the user is waiting for the list, and shouldn't wait for minutes because one host is failing.
        configuration.circuitBreaker = nil
        configuration.records = records
        tools.contents.apply(to: &configuration)
        let downloads = DownloadCoordinator(
            store: store, transport: transport, limits: options.transfers.limits, configuration: configuration)
        let result = await Result {
            // Problems with the database or the directories are reported before the first download starts.
            try await downloads.open()
            try await downloads.prepareDirectories(of: requests)
            return try await tools.reporter.showing(summarizedBy: summarize) {
                // The plan has already checked that there are no conflicts.
                try await CompletionProgram.with(tools.completion) {
                    try await downloads.download(requests, conflicts: [:]) { index, event in
                        tools.note(event, of: index, requests[index])
                    }
                }
            }
        }
        try await downloads.close()
        return try result.get()
    }

    /// The files are complete even if the cache can't be written, but the user should know why the next run fetches them again.
    private func report(_ statistics: ResourceCache.Statistics, of location: CacheLocation) async {
        guard statistics.diskFailures > 0 else { return }
        let cause = statistics.lastDiskFailure.map { ": \($0)" } ?? "."
        await console.report(
            "--cache: The cache in '\(location.path)' couldn't be used \(Format.count(statistics.diskFailures, "time"))\(cause)"
        )
    }
}

/// What the functions of a run have in common.
private struct GetTools: Sendable {
    let contents: RequestContents
    let cookies: CookieJar?
    /// The names that servers have sent, by the position of the request; `nil` unless they are used.
    let served: QueueNames?
    let reporter: any ProgressReporter
    /// The program that runs for each file.
    let completion: CompletionProgram?

    func note(_ event: DownloadEvent, of index: Int, _ request: DownloadRequest) {
        if case .named(_, let file) = event { served?[index] = file.lastPathComponent }
        reporter.report(index, event.namingOptions)
        guard let completion, case .finished(_, .done(let size)) = event else { return }
        var request = request
        if let served { request.name = served[index] }
        completion.note(request, size: size)
    }
}
