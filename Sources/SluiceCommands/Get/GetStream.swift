import SluiceCache
import SluiceConcurrency
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One run of `sluice get -o -`: one file, to standard output.
struct GetStream: Sendable {
    private let options: GetOptions
    private let console: Console
    private let request: DownloadRequest

    /// Nobody reads the output anymore, or it can't be written. The console knows which, and settles the status.
    private struct OutputLost: Error {}

    init(options: GetOptions, console: Console) throws(CommandFailure) {
        self.options = options
        self.console = console
        var maker = RequestMaker(directory: ".")
        var entry = GetList.Entry(url: options.urls[0], place: "")
        entry.checksum = options.checksum
        do throws(RequestMaker.Problem) {
            request = try maker.request(for: entry)
        } catch {
            throw CommandFailure(.usage, error.line)
        }
    }

    func run() async throws -> ExitStatus {
        try await options.transfers.checkFiles()
        let contents = try await options.requests.loaded()
        let cookies = options.requests.cookieFile.map { CookieFiles($0, separatesUsers: false) }
        let jar = try await cookies?.jar(of: nil)
        // Bars would overwrite the file if both go to the terminal.
        let isShown = options.transfers.progress == .auto && console.outputSize() != nil
        let style = isShown ? ProgressStyle.none : options.transfers.progress
        let reporter = style.makeReporter(console: console, names: .list([request.name]))
        let outcome = try await Trace.recording(to: options.transfers.trace, on: console) { trace in
            await console.interruption.responding(reporter.responses) {
                await Result { try await stream(contents, jar, reporter, trace) }
            }
        }
        try await cookies?.save()
        do {
            return try outcome.get()
        } catch is OutputLost {
            return .success
        } catch let error as TransferError {
            return ExitStatus(error)
        } catch is CancellationError {
            await console.report("Interrupted: the output is incomplete.")
            return .interrupted
        }
    }

    private func stream(
        _ contents: RequestContents, _ jar: CookieJar?, _ reporter: any ProgressReporter, _ trace: Trace?
    ) async throws -> ExitStatus {
        var configuration = options.transfers.transport(trace)
        contents.apply(to: &configuration, for: CollectionOfOne(request.url))
        configuration.cookies = jar
        return try await HTTPTransport.withTransport(configuration: configuration) { transport in
            guard let location = options.cache else { return try await stream(contents, reporter, transport) }
            return try await location.withCache(concurrency: 1, concurrencyPerHost: 1, transport: transport) { cache in
                try await stream(contents, reporter, CachingTransport(cache))
            }
        }
    }

    private func stream(
        _ contents: RequestContents, _ reporter: any ProgressReporter, _ transport: any Transport
    ) async throws -> ExitStatus {
        var configuration = options.transfers.coordinator
        contents.apply(to: &configuration)
        let downloads = DownloadCoordinator(transport: transport, configuration: configuration)
        _ = try await reporter.showing(summarizedBy: { ProgressSummary(done: 1, bytes: $0) }) {
            try await downloads.stream(request.url, checksum: request.checksum) {
                reporter.report(0, $0.namingOptions)
            } to: { bytes in
                await console.write(bytes)
                if console.losses.isLost(.output) { throw OutputLost() }
            }
        }
        return .success
    }
}
