import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One run of `sluice get`.
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
            let again = options.database == nil ? "the same command with --no-clobber" : "the same command"
            await console.report(
                "interrupted: \(done) of \(plan.requests.count) files are complete; run \(again) to go on")
            return .interrupted
        }
        let status = ExitStatus.worst(of: summary.failures.values.map { ExitStatus($0) })
        // What somebody else cancelled has no error, and is not done either.
        return status == .success && !summary.isComplete ? .other : status
    }

    /// Downloads with progress shown; a failure is one of the whole run, such as a directory that cannot be made.
    private func download(
        _ requests: [DownloadRequest], _ reporter: any ProgressReporter, _ trace: Trace?
    ) async -> Result<DownloadSummary, CommandFailure> {
        do {
            return .success(try await summary(of: requests, reporter, trace))
        } catch let error as QueueStoreError {
            return .failure(CommandFailure(.store, "\(error)"))
        } catch let error as FileError {
            return .failure(CommandFailure(.localFile, "\(error)"))
        } catch let error as TransferError {
            // What ends a run rather than one download: a full disk.
            let again = options.database == nil ? "the same command with --no-clobber" : "the same command"
            return .failure(
                CommandFailure(
                    ExitStatus(error), "\(error)", "stopped; what has arrived is kept: run \(again) to go on"))
        } catch is CancellationError {
            return .failure(CommandFailure(.interrupted, "interrupted before anything was downloaded"))
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
                    retries: RetryPolicy(maximumRetries: options.retries), existing: options.existing,
                    durability: options.durability))
            let result = await Result {
                // What is wrong with the database or the directories is told before anything begins.
                try await downloads.open()
                try await downloads.prepareDirectories(of: requests)
                return try await reporter.showing {
                    // The plan has none.
                    try await downloads.download(requests, conflicts: [:]) { reporter.report($0, $1.namingOptions) }
                }
            }
            try await downloads.close()
            return try result.get()
        }
    }

    /// A file that can't be read would fail each download with words of the TLS library.
    private func checkFiles(of tls: GetOptions.TLSFiles) async throws {
        for (option, path) in [("--ca-file", tls.caFile), ("--cert", tls.certificate), ("--key", tls.key)] {
            guard let path else { continue }
            do {
                _ = try await Data(asyncContentsOf: URL(filePath: path), limit: 64 << 20)
            } catch let error as FileError {
                throw CommandFailure(.localFile, "\(option): \(error)")
            }
        }
    }
}

extension DownloadEvent {
    /// With the options of the command that help, in the remedies of errors.
    fileprivate var namingOptions: DownloadEvent {
        guard case .finished(let job, .failed(var error)) = self else { return self }
        let option =
            switch error.code {
            case .tlsFailed: "Name the authority of a server that you trust with --ca-file."
            case .proxyFailed: "Set it with --proxy, or with the variables http_proxy, https_proxy and all_proxy."
            case .fileExists: "Pass --overwrite to replace it, or --no-clobber to leave it."
            default: ""
            }
        guard !option.isEmpty else { return self }
        error.remedy = [error.remedy, option].compactMap(\.self).joined(separator: " ")
        return .finished(job: job, outcome: .failed(error))
    }
}
