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

struct GetRun: Sendable {
    var options: GetOptions
    var console: Console

    func run() async throws -> ExitStatus {
        try await options.transfers.checkFiles()
        let plan = try await GetPlan(options)
        let names = plan.requests.map(\.name)
        let reporter = options.transfers.progress.makeReporter(console: console, names: .list(names))
        let outcome = try await Trace.recording(to: options.transfers.trace, on: console) { trace in
            await console.interruption.responding(reporter.responses) {
                await download(plan.requests, reporter, trace)
            }
        }
        let summary = try outcome.get()
        if Task.isCancelled, summary.unfinishedCount > 0 {
            let done = summary.doneCount + summary.skippedCount
            await console.report(
                "Interrupted: \(done) of \(plan.requests.count) files are complete. Run \(sameCommand) to continue.")
            return .interrupted
        }
        let status = ExitStatus.worst(of: summary.failures.values.map { ExitStatus($0) })
        // A download that another process cancelled has no error, but isn't done.
        return status == .success && !summary.isComplete ? .other : status
    }

    private var sameCommand: String {
        options.database == nil && options.transfers.existing != .replace
            ? "the same command with --no-clobber" : "the same command"
    }

    /// Fails only if the whole run does, for example if a directory can't be created.
    private func download(
        _ requests: [DownloadRequest], _ reporter: any ProgressReporter, _ trace: Trace?
    ) async -> Result<DownloadSummary, CommandFailure> {
        do {
            return .success(try await summary(of: requests, reporter, trace))
        } catch var error as QueueStoreError {
            if error.code == .passwordNotStored { error.remedy = "Leave out the password, or leave out --db." }
            return .failure(CommandFailure(.store, "--db: \(error)"))
        } catch let error as CommandFailure {
            return .failure(error)
        } catch let error as FileError {
            // Only the directories are prepared outside of downloads.
            return .failure(
                CommandFailure(.localFile, "\(error) Choose another directory with -d, or with dir= in a list."))
        } catch let failure as CommandFailure {
            return .failure(failure)
        } catch let error as TransferError {
            // A full disk ends the run, because each further download would fail, too.
            return .failure(
                CommandFailure(
                    ExitStatus(error), "\(error)",
                    "Stopped. Partial files that can be resumed are kept. Run \(sameCommand) to continue."))
        } catch is CancellationError {
            return .failure(CommandFailure(.interrupted, "Interrupted before anything was downloaded."))
        } catch {
            return .failure(CommandFailure(.other, "\(error)"))
        }
    }

    private func summary(
        of requests: [DownloadRequest], _ reporter: any ProgressReporter, _ trace: Trace?
    ) async throws -> DownloadSummary {
        let store = try options.database.map { try QueueDatabase(name: $0, command: "get").store() } ?? .memory
        return try await HTTPTransport.withTransport(configuration: options.transfers.transport(trace)) { transport in
            guard let location = options.cache else {
                return try await summary(of: requests, reporter, store, transport) { ProgressSummary($0) }
            }
            let limits = options.transfers.limits
            return try await location.withCache(
                concurrency: limits.total, concurrencyPerHost: limits.perHost ?? limits.total, transport: transport
            ) { cache in
                let result = await Result {
                    try await summary(of: requests, reporter, store, CachingTransport(cache)) {
                        ProgressSummary($0, cache.statistics)
                    }
                }
                await report(cache.statistics, of: location)
                return try result.get()
            }
        }
    }

    private func summary(
        of requests: [DownloadRequest], _ reporter: any ProgressReporter, _ store: DownloadStore,
        _ transport: any Transport, summarizedBy summarize: (DownloadSummary) -> ProgressSummary
    ) async throws -> DownloadSummary {
        var configuration = options.transfers.coordinator
        // The user waits for the end of the list, so a host that fails isn't left alone for minutes.
        configuration.circuitBreaker = nil
        let downloads = DownloadCoordinator(
            store: store, transport: transport, limits: options.transfers.limits, configuration: configuration)
        let result = await Result {
            // Problems with the database or the directories are reported before the first download starts.
            try await downloads.open()
            try await downloads.prepareDirectories(of: requests)
            return try await reporter.showing(summarizedBy: summarize) {
                // The plan has checked that there are no conflicts.
                try await downloads.download(requests, conflicts: [:]) { reporter.report($0, $1.namingOptions) }
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
