import LoopbackOrigin
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct DemoRun: Sendable {
    var directory: String?
    var jobs: Int
    var progress: ProgressStyle
    /// The number of an item that the server corrupts.
    var corrupted: Int?
    var console: Console

    private let catalogue = DemoCatalogue()
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
        let server = DemoServer(catalogue: catalogue, corrupted: corrupted)
        return try await LoopbackOrigin.serve {
            server.answer($0)
        } during: { origin in
            let requests = try catalogue.items.map { item in
                DownloadRequest(try URL(fetchable: origin.url("/files/\(item.name)")), to: destination, name: item.name)
            }
            let count = "\(catalogue.items.count) files"
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

    /// Reports where the images came from.
    private func showGallery(of origin: LoopbackOrigin) async throws -> ExitStatus {
        let report = try await DemoGallery(catalogue: catalogue, origin: origin, files: files).read()
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
        for item in catalogue.items {
            try Task.checkCancellation()
            let file = destination.appending(path: item.name, directoryHint: .notDirectory)
            let bytes = try? await Data(asyncContentsOf: file, using: files)
            if bytes.map({ $0.elementsEqual(catalogue.content(of: item)) }) != true { wrong.append(item.name) }
        }
        let right = catalogue.items.count - wrong.count
        let rate = Format.rate(Double(summary.bytes) / max(elapsed / .seconds(1), 0.001))
        await console.write(
            """
            Files    \(summary.doneCount) of \(catalogue.items.count) downloaded, \(right) compared equal byte for byte
            Bytes    \(Format.bytes(summary.bytes))
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
