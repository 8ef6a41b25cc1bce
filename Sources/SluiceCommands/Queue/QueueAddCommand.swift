import ArgumentParser
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct QueueAddCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adds downloads to a queue.",
        discussion: """
            The queue is created if it is missing. Nothing is downloaded: 'sluice queue work' does that, at any time and in any \
            number of processes. All URLs and lists are checked first; if one has a mistake, nothing is added.

            A download is identified by its URL and its file. If it is already in the queue, the user and the batch join it, and \
            it is downloaded once for all of them. A download that is done is kept, unless its file is gone. So the same command \
            can be repeated. (If the directory is relative, sluice can't check whether the file still exists.)

            EXAMPLES:
              Add a list for a user, to be downloaded before everything else:
                sluice queue add --db songs.db -d music -i list.txt --user ann --priority 10
              Add URLs from another program:
                generate-urls | sluice queue add --db songs.db -d music -i -

            With a database file, the queue stores the absolute path of each directory. In a PostgreSQL queue, a relative directory \
            stays relative, and any worker downloads the file; a file with an absolute directory is downloaded only on this machine.

            A LIST FILE is the same as for 'sluice get': one URL per line, with indented options below it, or a Metalink file. The user of a line \
            (user=) takes precedence over --user. The queue stores checksums (checksum=), and workers verify them. It stores no \
            header fields (header=, referer=).

            If another unfinished download writes the same file, the URL is reported and not added, and the status is 1.
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
        help: .init(
            "A file that lists URLs, or a Metalink file; - for standard input. Repeatable.", valueName: "list"))
    var lists: [String] = []

    @Option(
        help: .init(
            "A file of checksums, such as SHA256SUMS, that must contain the name of each file. Repeatable.",
            valueName: "file"))
    var checksumFile: [String] = []

    @Option(help: .init("The user that the downloads are for.", valueName: "name"))
    var user: String?

    @Option(
        help: .init("A name for this group of downloads, for pausing or cancelling them together.", valueName: "name"))
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
        // More levels than anyone needs, and well within the 64 bits of the store.
        guard priority.magnitude <= 1_000_000_000 else {
            throw refuse("--priority \(priority): The number must be from -1000000000 to 1000000000.")
        }
        return try await QueueAdd(
            database: QueueDatabase(name: queue.db, command: "add"), urls: urls, lists: lists, directory: directory,
            checksumFiles: checksumFile, user: user, batch: batch, priority: priority, isJSON: json, console: console
        ).run()
    }
}

// MARK: - One run

/// One run of `sluice queue add`.
private struct QueueAdd: Sendable {
    /// What was done with the requests. Its JSON is the output of the command.
    struct Result: Sendable, Encodable {
        struct Conflict: Sendable, Encodable {
            var url: String
            var file: String
            /// The unfinished download that writes the file.
            var id: Int64
            var other: String
        }

        var added = 0
        var joined = 0
        var kept = 0
        /// The numbers of the added, joined and kept downloads, in the order of the requests.
        var ids: [Int64] = []
        var conflicts: [Conflict] = []
        var isInterrupted = false

        private enum CodingKeys: CodingKey { case added, joined, kept, ids, conflicts }
    }

    var database: QueueDatabase
    var urls: [String]
    var lists: [String]
    var directory: String
    var checksumFiles: [String]
    var user: String?
    var batch: String?
    var priority: Int
    var isJSON: Bool
    var console: Console

    /// The number of requests that are stored at a time.
    private static let chunk = 500
    /// The number of problems that are shown. Any others are only counted.
    private static let shownProblems = 20

    func run() async throws -> ExitStatus {
        // Checks the name before the lists are read, because standard input may take a long time.
        _ = try database.store()
        let maker = RequestMaker(
            directory: directory, relative: database.spansMachines ? .keep : .makeAbsolute, isStored: true,
            checksums: try await ChecksumFile.read(checksumFiles))
        let entries = try await QueueEntries(urls: urls, lists: lists)
        for note in entries.notes { await console.report(note) }
        try await check(entries, maker)
        let result = try await database.withQueue(creating: true) { downloads in
            let result = try await add(entries, maker, to: downloads)
            await report(result)
            return result
        }
        if result.isInterrupted {
            await console.report(
                "Interrupted: not all downloads were added. Run the same command again; those in the queue are joined.")
            return .interrupted
        }
        return result.conflicts.isEmpty ? .success : .other
    }

    /// Checks all entries. Throws a ``CommandFailure`` with the first problems and the number of the others.
    private func check(_ entries: QueueEntries, _ maker: RequestMaker) async throws {
        var maker = maker
        do throws(RequestMaker.Problem) { try maker.checkDirectory() } catch {
            throw CommandFailure(.usage, "\(error.line) See 'sluice queue add --help'.")
        }
        var count = 0
        let (problems, hidden) = try await entries.read(problemLimit: Self.shownProblems) { entry in
            count += 1
            // A list may be long.
            if count % Self.chunk == 0 { try Task.checkCancellation() }
            do throws(RequestMaker.Problem) {
                let request = try maker.request(for: entry)
                guard request.url.password(percentEncoded: false) != nil else { return nil }
                let place = entry.place.isEmpty ? "" : "\(entry.place): "
                return
                    "\(place)\(request.url.redactedForDisplay): The URL has a password, and a queue doesn't store "
                    + "passwords. Remove it."
            } catch {
                return error.line
            }
        }
        guard problems.isEmpty else {
            let rest = hidden > 0 ? ["… and \(hidden) more problems. Nothing was added."] : []
            throw CommandFailure(.usage, lines: problems + rest)
        }
        guard count > 0 else {
            let names = lists.map { $0 == "-" ? "standard input" : $0 }.joined(separator: ", ")
            throw CommandFailure(
                .usage, "There is nothing to add: \(names) contains no URL. Pass URLs, or another list with -i.")
        }
    }

    /// Adds the entries in chunks. Stops between two chunks if the task is cancelled.
    private func add(
        _ entries: QueueEntries, _ maker: RequestMaker, to downloads: DownloadCoordinator
    ) async throws -> Result {
        var result = Result()
        var maker = maker
        var requests: [DownloadRequest] = []
        // A list that changes between the passes may have new problems.
        do {
            let (problems, _) = try await entries.read(problemLimit: Self.shownProblems) { entry in
                do throws(RequestMaker.Problem) {
                    var request = try maker.request(for: entry)
                    request.user = request.user ?? user
                    request.priority = priority
                    requests.append(request)
                } catch {
                    return error.line
                }
                if requests.count == Self.chunk {
                    try await add(requests, to: downloads, &result)
                    requests.removeAll(keepingCapacity: true)
                    try Task.checkCancellation()
                }
                return nil
            }
            try Task.checkCancellation()
            if !requests.isEmpty { try await add(requests, to: downloads, &result) }
            for problem in problems { await console.report(problem) }
        } catch is CancellationError {
            // The chunks that were added stay in the queue.
            result.isInterrupted = true
        }
        return result
    }

    private func add(
        _ requests: [DownloadRequest], to downloads: DownloadCoordinator, _ result: inout Result
    ) async throws {
        for handle in try await downloads.enqueue(requests, batch: batch, keepsFinished: true) {
            switch handle.admission {
            case .added: result.added += 1
            case .joined: result.joined += 1
            case .kept: result.kept += 1
            case .conflict(let other):
                result.conflicts.append(
                    Result.Conflict(
                        url: handle.request.url.redactedForDisplay,
                        file: handle.request.target.path(percentEncoded: false),
                        id: handle.id.rawValue, other: other.redactedForDisplay))
                continue
            }
            if isJSON { result.ids.append(handle.id.rawValue) }
        }
    }

    private func report(_ result: Result) async {
        if isJSON {
            if let line = try? CommandJSON.line(result) { await console.writeWhole(line, to: .output) }
        } else {
            await console.writeWhole(Self.text(result) + "\n", to: .output)
        }
        for conflict in result.conflicts {
            await console.report(
                "\(conflict.url): The unfinished download \(conflict.id) of \(conflict.other) writes the same file, "
                    + "'\(conflict.file)'. Cancel it, or choose another name with out= in a list (-i) or another directory."
            )
        }
    }

    /// "Added 12 downloads. 3 were in the queue already, 1 is done."
    static func text(_ result: Result) -> String {
        var parts: [String] = []
        if result.joined > 0 {
            parts.append("\(result.joined) \(result.joined == 1 ? "was" : "were") in the queue already")
        }
        if result.kept > 0 { parts.append("\(result.kept) \(result.kept == 1 ? "is" : "are") done already") }
        let conflicts = result.conflicts.count
        if conflicts > 0 {
            parts.append(
                conflicts == 1 ? "1 conflicts with another download" : "\(conflicts) conflict with other downloads")
        }
        let rest = parts.isEmpty ? "" : " \(parts.joined(separator: ", "))."
        return "Added \(Format.count(result.added, "download")).\(rest)"
    }
}

// MARK: - Arguments and lists

/// The entries of arguments and lists. They can be read several times: first to check them, and then to use them.
///
/// Only one line of a regular file is in memory at a time. Other inputs, such as pipes, can be read only once, so they are kept in memory.
/// So are Metalink files.
private struct QueueEntries: Sendable {
    private enum Source: Sendable {
        case entries([GetList.Entry])
        case file(URL, name: String)
        case bytes(Data, name: String)
        case metalink(GetList)
    }

    private var sources: [Source]

    /// What the lists contain that is left out and matters, one line each.
    var notes: [String] {
        sources.flatMap { source -> [String] in
            if case .metalink(let list) = source { list.notes } else { [] }
        }
    }

    /// Reads pipes and other special files to their end. Doesn't open regular files.
    init(urls: [String], lists: [String], files: FileIO = .shared) async throws {
        sources = [.entries(urls.map { GetList.Entry(url: $0, place: "") })]
        for list in lists {
            sources.append(try await Self.source(list, files))
        }
    }

    private static func source(_ list: String, _ files: FileIO) async throws -> Source {
        do {
            let url = URL(filePath: list)
            let name = list == "-" ? "standard input" : list
            if list != "-", try await files.status(of: url)?.kind == .file, try await !isMetalink(url, files) {
                return .file(url, name: name)
            }
            let data = try await InputFile.read(list, limit: GetPlan.listLimit, using: files)
            return Metalink.isXML(data) ? .metalink(GetList(metalink: data, name: name)) : .bytes(data, name: name)
        } catch let error as FileError where error.code == .limitExceeded {
            throw CommandFailure(
                .localFile,
                "-i \(list): The list is larger than \(Format.bytes(Int64(GetPlan.listLimit))). Split it, or save it as a file."
            )
        } catch let error as FileError {
            throw CommandFailure(.localFile, "-i \(list): \(error)")
        }
    }

    private static func isMetalink(_ file: URL, _ files: FileIO) async throws -> Bool {
        for try await chunk in file.chunks(using: files) { return Metalink.isXML(chunk) }
        return false
    }

    /// Passes each entry to `body`, in order. Returns the first `limit` problems, one line each, and the number of the others. `body` can
    /// return a problem with its entry.
    ///
    /// - Throws: ``CommandFailure`` if a list can't be read; the error of `body`.
    func read(
        problemLimit limit: Int, _ body: (GetList.Entry) async throws -> String?
    ) async throws -> (problems: [String], hidden: Int) {
        var (problems, hidden) = ([String](), 0)
        func note(_ line: String) {
            if problems.count < limit { problems.append(line) } else { hidden += 1 }
        }
        for source in sources {
            switch source {
            case .entries(let entries):
                for entry in entries { if let problem = try await body(entry) { note(problem) } }
            case .file(let url, let name): try await read(url.chunks(), name, note, body)
            case .bytes(let data, let name): try await read(Once(data: data), name, note, body)
            case .metalink(let list):
                for problem in list.problems { note(problem) }
                for entry in list.entries { if let problem = try await body(entry) { note(problem) } }
            }
        }
        return (problems, hidden)
    }

    private func read(
        _ chunks: some AsyncSequence<Data, any Error>, _ name: String, _ note: (String) -> Void,
        _ body: (GetList.Entry) async throws -> String?
    ) async throws {
        var reader = GetList.Reader(name: name)
        do {
            for try await line in chunks.lines() {
                let entry = reader.read(Substring(line).utf8)
                for problem in reader.takeProblems() { note(problem) }
                if let entry, let problem = try await body(entry) { note(problem) }
            }
        } catch let error as LineError {
            let problem =
                error.code == .invalidUTF8 ? "isn't UTF-8 text. Save the list as UTF-8." : "is too long. Split it."
            throw CommandFailure(.usage, "\(name):\(error.line): The line \(problem)")
        } catch let error as FileError {
            throw CommandFailure(.localFile, "-i \(name): \(error)")
        }
        if let entry = reader.finish(), let problem = try await body(entry) { note(problem) }
    }

    /// A sequence of one chunk.
    private struct Once: AsyncSequence {
        typealias Failure = any Error

        var data: Data

        func makeAsyncIterator() -> Iterator { Iterator(data: data) }

        struct Iterator: AsyncIteratorProtocol {
            var data: Data?

            mutating func next() async throws -> Data? { data.take() }
        }
    }
}
