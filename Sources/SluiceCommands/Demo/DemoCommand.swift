import ArgumentParser
import LoopbackOrigin
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

struct DemoCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Downloads 300 songs and images from a server on this machine and checks every byte.",
        discussion: """
            The server listens on the loopback address, on a port that the system chooses. Some of its files are slow, some fail \
            at first, and some are redirected. All are downloaded the way 'sluice get' does it and compared byte by byte. Then the \
            images are read through the cache: from the network, from memory and from disk. The exit status is 0 only if \
            everything is as expected.

            EXAMPLES:
              Watch two downloads at a time:
                sluice demo -j 2
              Keep the files, which are valid WAV songs and BMP images:
                sluice demo -d ~/tunes
            """)

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init(
            "The directory that keeps the files. Existing files are replaced. (default: a temporary directory)",
            valueName: "dir"))
    var directory: String?

    @Option(
        name: [.customShort("j"), .customLong("jobs")],
        help: .init("Concurrent downloads, 1 to 1024.", valueName: "n"))
    var jobs = 8

    @Option(help: .init("Progress, as in 'sluice get --help'.", valueName: "style"))
    var progress = ProgressStyle.auto

    @Option(help: .hidden)
    var corrupt: Int?

    func run(_ console: Console) async throws -> ExitStatus {
        guard (1...1024).contains(jobs) else {
            throw CommandFailure(
                .usage,
                "-j \(jobs): The number of concurrent downloads must be from 1 to 1024. See 'sluice demo --help'.")
        }
        return try await DemoRun(
            directory: directory, jobs: jobs, progress: progress, corrupted: corrupt, console: console
        ).run()
    }
}

// MARK: - One run

private struct DemoRun: Sendable {
    var directory: String?
    var jobs: Int
    var progress: ProgressStyle
    /// The number of an item that the server corrupts.
    var corrupted: Int?
    var console: Console

    private let catalog = DemoCatalog()
    private let files = FileIO.shared

    init(directory: String?, jobs: Int, progress: ProgressStyle, corrupted: Int?, console: Console) {
        self.directory = directory
        self.jobs = jobs
        self.progress = progress
        self.corrupted = corrupted
        self.console = console
    }

    func run() async throws -> ExitStatus {
        do {
            guard let directory else {
                return try await files.withTemporaryDirectory(prefix: "sluice-demo") { try await run(in: $0) }
            }
            return try await run(in: URL(filePath: directory, directoryHint: .isDirectory))
        } catch let error as FileError {
            throw CommandFailure(.localFile, "\(error) Choose another directory with -d.")
        }
    }

    private func run(in destination: URL) async throws -> ExitStatus {
        let server = DemoServer(catalog: catalog, corrupted: corrupted)
        return try await LoopbackOrigin.serve {
            server.answer($0)
        } during: { origin in
            let requests = try catalog.items.map { item in
                DownloadRequest(try URL(fetchable: origin.url("/files/\(item.name)")), to: destination, name: item.name)
            }
            let count = "\(catalog.items.count) files"
            await console.write("Downloading \(count) from \(origin.url("/")) …\n", to: .error)
            let start = ContinuousClock.now
            let reporter = progress.makeReporter(console: console, names: .list(requests.map(\.name)))
            let outcome = await console.interruption.responding(reporter.responses) {
                await Result {
                    let summary = try await download(requests, reporter)
                    let status = try await verify(summary, in: destination, after: .now - start)
                    return status == .success ? try await showGallery(of: origin) : status
                }
            }
            if Task.isCancelled {
                await console.report("Interrupted before all files were compared.")
                return .interrupted
            }
            return try outcome.get()
        }
    }

    private func download(
        _ requests: [DownloadRequest], _ reporter: any ProgressReporter
    ) async throws -> DownloadSummary {
        let configuration = HTTPTransport.Configuration(
            userAgent: "sluice/\(SluiceVersion.current) (demo)", proxy: .none)
        return try await HTTPTransport.withTransport(configuration: configuration) { transport in
            let downloads = DownloadCoordinator(
                transport: transport, limits: DownloadCoordinator.Limits(total: jobs, perHost: nil),
                configuration: .init(
                    retries: RetryPolicy(baseDelay: .milliseconds(200)), existing: .replace, durability: .none))
            try await downloads.prepareDirectories(of: requests)
            return try await reporter.showing {
                try await downloads.download(requests) { reporter.report($0, $1) }
            }
        }
    }

    /// Reads the images through the cache, and reports where they came from.
    private func showGallery(of origin: LoopbackOrigin) async throws -> ExitStatus {
        let report = try await DemoGallery(catalog: catalog, origin: origin, files: files).read()
        await console.write("\(report.line)\n", to: .output)
        for name in report.wrong.sorted().prefix(20) {
            await console.report("\(name) differs from the server's file when it is read through the cache.")
        }
        return report.isAsExpected && report.wrong.isEmpty ? .success : .content
    }

    private func verify(
        _ summary: DownloadSummary, in destination: URL, after elapsed: Duration
    ) async throws -> ExitStatus {
        var wrong: [String] = []
        for item in catalog.items {
            try Task.checkCancellation()
            let file = destination.appending(path: item.name, directoryHint: .notDirectory)
            let bytes = try? await Data(asyncContentsOf: file, using: files)
            if bytes.map({ $0.elementsEqual(catalog.content(of: item)) }) != true { wrong.append(item.name) }
        }
        let right = catalog.items.count - wrong.count
        let rate = Format.rate(Double(summary.totalFileSize) / max(elapsed / .seconds(1), 0.001))
        await console.write(
            """
            Files    \(summary.doneCount) of \(catalog.items.count) downloaded, \(right) identical byte for byte
            Bytes    \(Format.bytes(summary.totalFileSize))
            Time     \(Format.elapsed(elapsed)) (\(rate))
            Retries  \(summary.retryCount) (the server makes some requests fail on purpose)

            """, to: .output)
        if directory != nil {
            await console.write("Kept in  \(destination.path(percentEncoded: false))\n", to: .output)
        }
        for name in wrong.prefix(20) {
            await console.report("\(name) differs from the server's file.")
        }
        if !summary.failures.isEmpty { return .worst(of: summary.failures.values.map { ExitStatus($0) }) }
        return wrong.isEmpty ? .success : .content
    }
}

// MARK: - The images, read through the cache

/// Reads the demo's images through a ``ResourceCache`` three times: from the network, from memory and from disk.
private struct DemoGallery: Sendable {
    let catalog: DemoCatalog
    let origin: LoopbackOrigin
    let files: FileIO

    struct Report: Sendable {
        /// One line with the counts of the cache.
        var line: String
        /// Whether the expected stage of the cache answered each pass.
        var isAsExpected: Bool
        /// The names of images that had wrong bytes in any pass.
        var wrong: Set<String>
    }

    // The policy `immutable` never revalidates. The images don't change while the server runs.
    private static let configuration = ResourceCache.Configuration(concurrency: 8, policy: .immutable)

    func read() async throws -> Report {
        try await files.withTemporaryDirectory(prefix: "sluice-demo-cache") { directory in
            let images = catalog.items.filter(\.isImage)
            let (first, firstWrong, secondWrong) = try await ResourceCache.withCache(
                directory: directory, configuration: Self.configuration, using: files
            ) { cache in
                // Two tasks ask for each image concurrently and wait for the same download.
                let firstWrong = try await read(images + images, through: cache)
                let early = cache.statistics.memoryHits
                let secondWrong = try await read(images, through: cache)
                var statistics = Counts(cache.statistics)
                statistics.memoryHits -= early
                return (statistics, firstWrong, secondWrong)
            }
            let (later, thirdWrong) = try await ResourceCache.withCache(
                directory: directory, configuration: Self.configuration, using: files
            ) { cache in
                let wrong = try await read(images, through: cache)
                return (Counts(cache.statistics), wrong)
            }
            let count = images.count
            return Report(
                line: """
                    Images   \(count) for \(count * 2) callers: \(first.fetched) from the network, \
                    \(first.memoryHits) from memory, \(later.diskHits) from disk
                    """,
                isAsExpected: first == Counts(fetched: count, memoryHits: count, diskHits: 0)
                    && later == Counts(fetched: 0, memoryHits: 0, diskHits: count),
                wrong: firstWrong.union(secondWrong).union(thirdWrong))
        }
    }

    private struct Counts: Equatable, Sendable {
        var fetched: Int
        var memoryHits: Int
        var diskHits: Int

        init(fetched: Int, memoryHits: Int, diskHits: Int) {
            self.fetched = fetched
            self.memoryHits = memoryHits
            self.diskHits = diskHits
        }

        init(_ statistics: ResourceCache.Statistics) {
            self.init(
                fetched: statistics.fetched, memoryHits: statistics.memoryHits, diskHits: statistics.diskHits)
        }
    }

    /// Returns the names of images with wrong bytes.
    private func read(_ images: [DemoCatalog.Item], through cache: ResourceCache) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String?.self) { group in
            for image in images {
                group.addTask {
                    let data = try await cache.data(for: try URL(fetchable: origin.url("/files/\(image.name)")))
                    return data.elementsEqual(catalog.content(of: image)) ? nil : image.name
                }
            }
            var wrong: Set<String> = []
            for try await name in group { if let name { wrong.insert(name) } }
            return wrong
        }
    }
}
