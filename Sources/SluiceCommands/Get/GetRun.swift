import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

/// One run of `sluice get`.
struct GetRun: Sendable {
    var options: GetOptions
    var console: Console

    func run() async throws -> ExitStatus {
        let plan = try await GetPlan(options)
        let names = plan.requests.map(\.name)
        let reporter = options.progress.makeReporter(console: console, names: names)
        let (outcome, wasInterrupted) = await Interruption(console: console, reporter: reporter).guarding {
            await download(plan.requests, reporter)
        }
        let summary = try outcome.get()
        if wasInterrupted, summary.unfinished > 0 {
            let done = summary.done + summary.skipped
            await console.report(
                "interrupted: \(done) of \(plan.requests.count) files are complete; run the same command with "
                    + "--no-clobber to fetch the others")
            return .interrupted
        }
        return .worst(of: summary.failures.values.map { ExitStatus($0) })
    }

    /// Downloads with progress shown; a failure is one of the whole run, such as a folder that cannot be made.
    private func download(
        _ requests: [DownloadRequest], _ reporter: any ProgressReporter
    ) async -> Result<DownloadSummary, CommandFailure> {
        let configuration = HTTPTransport.Configuration(
            connectTimeout: options.connectTimeout, stallTimeout: options.timeout,
            userAgent: "sluice/\(SluiceVersion.current)")
        do {
            let summary = try await HTTPTransport.withTransport(configuration: configuration) { transport in
                let downloader = Downloader(
                    transport: transport, limiter: ConcurrencyLimiter(concurrency: options.jobs),
                    configuration: .init(
                        retries: RetryPolicy(maximumRetries: options.retries), existing: options.existing,
                        durability: options.durability))
                try await downloader.prepareFolders(of: requests)
                return await reporter.showing {
                    await downloader.run(requests) { reporter.report($0) }
                }
            }
            return .success(summary)
        } catch let error as FileError {
            return .failure(CommandFailure(.localFile, "\(error)"))
        } catch is CancellationError {
            return .failure(CommandFailure(.interrupted, "interrupted before anything was downloaded"))
        } catch {
            return .failure(CommandFailure(.other, "\(error)"))
        }
    }
}

extension Interruption {
    /// Says that the signal was heard, and leaves the terminal in order when the second one comes.
    init(console: Console, reporter: any ProgressReporter) {
        self.init(
            onFirst: { await reporter.announce("stopping; Ctrl-C again stops at once") },
            onSecond: {
                if console.isTerminal { ProcessTerminal.restore(Console.Stream.error.rawValue) }
                ProcessTerminal.exitAtOnce(.interrupted)
            })
    }
}
