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
        try await checkFiles(of: options.tls)
        let plan = try await GetPlan(options)
        let names = plan.requests.map(\.name)
        let reporter = options.progress.makeReporter(console: console, names: names)
        let outcome = try await Trace.recording(to: options.trace, on: console) { trace in
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
        options.database == nil && options.existing != .replace
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
        } catch let error as FileError {
            // Only the directories are prepared outside of downloads.
            return .failure(
                CommandFailure(.localFile, "\(error) Choose another directory with -d, or with dir= in a list."))
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

    private var store: DownloadStore {
        options.database.map { .sqlite(at: URL(filePath: $0, directoryHint: .notDirectory)) } ?? .memory
    }

    private func summary(
        of requests: [DownloadRequest], _ reporter: any ProgressReporter, _ trace: Trace?
    ) async throws -> DownloadSummary {
        var configuration = HTTPTransport.Configuration(
            connectTimeout: options.connectTimeout, stallTimeout: options.timeout,
            userAgent: "sluice/\(SluiceVersion.current)", proxy: options.proxy,
            certificateAuthorities: options.tls.caFile.map { URL(filePath: $0) },
            clientCertificate: options.tls.certificate.map { URL(filePath: $0) },
            clientKey: options.tls.key.map { URL(filePath: $0) })
        configuration.trace = trace?.note
        return try await HTTPTransport.withTransport(configuration: configuration) { transport in
            let downloads = DownloadCoordinator(
                store: store, transport: transport, limits: options.limits,
                configuration: .init(
                    // A list is for a person who waits: its end matters more than the end of an outage.
                    retries: RetryPolicy(maximumRetries: options.retries), circuitBreaker: nil,
                    existing: options.existing, durability: options.durability))
            let result = await Result {
                // Problems with the database or the directories are reported before the first download starts.
                try await downloads.open()
                try await downloads.prepareDirectories(of: requests)
                return try await reporter.showing {
                    // The plan has checked that there are no conflicts.
                    try await downloads.download(requests, conflicts: [:]) { reporter.report($0, $1.namingOptions) }
                }
            }
            try await downloads.close()
            return try result.get()
        }
    }

    /// Without this check, each download would fail with a message of the TLS library.
    private func checkFiles(of tls: GetOptions.TLSFiles) async throws {
        for (option, path) in [("--ca-file", tls.caFile), ("--cert", tls.certificate), ("--key", tls.key)] {
            guard let path else { continue }
            do {
                _ = try await Data(asyncContentsOf: URL(filePath: path), maximumSize: 64 << 20)
            } catch let error as FileError {
                throw CommandFailure(.localFile, "\(option): \(error)")
            }
        }
    }
}

extension DownloadEvent {
    /// The event with the command's options in the remedy of its error.
    fileprivate var namingOptions: DownloadEvent {
        guard case .finished(let job, .failed(var error)) = self else { return self }
        switch error.code {
        case .tlsFailed:
            error.remedy =
                "Check the host's certificate and this machine's clock. Pass --ca-file to name another certificate authority."
        case .proxyFailed:
            error.remedy =
                "Check the address, user name and password in --proxy, or in http_proxy, https_proxy and all_proxy."
        case .connectTimedOut:
            error.remedy = "Check the host and the network, or pass --connect-timeout to wait longer."
        case .stalled: error.remedy = "Try again later, or pass --timeout to wait longer."
        case .alreadyQueued: error.remedy = "Pass -o for another name, or --db for another queue."
        case .fileExists: error.remedy = "Pass --overwrite to replace it, or --no-clobber to skip it."
        default: break
        }
        return .finished(job: job, outcome: .failed(error))
    }
}
