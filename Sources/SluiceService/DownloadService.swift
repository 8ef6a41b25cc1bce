public import Logging
public import Metrics
public import ServiceLifecycle
public import SluiceDownloads
import SluiceHTTP

/// A service that runs a `DownloadCoordinator`'s queue, with a log and metrics.
///
///     let group = ServiceGroup(
///         services: [DownloadService(downloads, logger: logger)],
///         gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
///     try await group.run()
///     try await downloads.close()
///
/// **Shutdown.** At a graceful shutdown, and if the task is cancelled, the service starts no more downloads and stops the current ones.
/// They keep their partial files and go back to waiting, so the next run continues them. Then ``run()`` returns without throwing. The
/// service doesn't wait for downloads to finish.
///
/// **Log.** Normal work is logged only at `debug` and `trace`; <doc:RunTheQueueAsAService> lists the messages. URLs in the metadata have no
/// user name, password, query or fragment, which may be secrets.
///
/// **Metrics.** The service creates its metrics when you create it, with names that begin with `sluice.downloads`. Their dimensions have a
/// few fixed values, and never contain URLs, users or download IDs. <doc:RunTheQueueAsAService> lists them.
public struct DownloadService: Service, CustomStringConvertible {
    private let downloads: DownloadCoordinator
    private let end: DownloadCoordinator.RunEnd
    private let logger: Logger
    private let journal: DownloadJournal
    private let sleep: @Sendable (Duration) async throws -> Void

    /// How often to sample the number of waiting downloads. Each sample counts the downloads in the store.
    private static let samplingPeriod = Duration.seconds(10)

    /// Creates a service that runs a coordinator's queue.
    ///
    /// - Parameters:
    ///   - downloads: The coordinator.
    ///   - end: The condition that ends the run. If it can end before the shutdown, as `.whenEmpty` can, set the
    ///     `successTerminationBehavior` of the service in its group: by default, a service group fails if a service ends.
    ///   - logger: The logger for all messages.
    ///   - metrics: The metrics backend. By default, it is the one that the program has bootstrapped.
    public init(
        _ downloads: DownloadCoordinator, until end: DownloadCoordinator.RunEnd = .whenCancelled,
        logger: Logger = Logger(label: "sluice.downloads"), metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.init(downloads, until: end, logger: logger, metrics: metrics) { try await Task.sleep(for: $0) }
    }

    /// The same, with a function that waits between samples.
    init(
        _ downloads: DownloadCoordinator, until end: DownloadCoordinator.RunEnd, logger: Logger,
        metrics: any MetricsFactory, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.downloads = downloads
        self.end = end
        self.logger = logger
        self.sleep = sleep
        journal = DownloadJournal(logger: logger, metrics: DownloadMetrics(factory: metrics))
    }

    /// Runs the queue until a graceful shutdown, until the task is cancelled, or until the service's end condition is met.
    ///
    /// A service group calls this method.
    ///
    /// - Throws: `QueueStoreError` if the store fails; `TransferError` if this worker can't work, for example
    ///   because the disk is full. The error is logged.
    public func run() async throws {
        logger.debug("The queue runs.")
        do {
            try await cancelWhenGracefulShutdown { try await work() }
        } catch {
            // The text rather than the error, because the URL in a TransferError may contain secrets.
            logger.error(
                "The queue stopped because of an error.", metadata: ["error": "\(Redaction().redacted("\(error)"))"])
            throw error
        }
        logger.debug("The queue has stopped.")
    }

    /// The service's name in a service group's log.
    public var description: String { "DownloadService" }

    private func work() async throws {
        defer { journal.runEnded() }
        try await withThrowingTaskGroup { group in
            group.addTask { await measure() }
            defer { group.cancelAll() }
            do {
                try await downloads.run(until: end) {
                    journal.note($0, at: .now)
                } onWarning: {
                    journal.note($0)
                }
            } catch is CancellationError where Task.isCancelled {
                // The run was cancelled while it opened the store. Like any cancellation, this isn't a failure of the service.
            }
        }
        await measureOnce()
    }

    private func measure() async {
        repeat {
            await measureOnce()
            try? await sleep(Self.samplingPeriod)
        } while !Task.isCancelled
    }

    private func measureOnce() async {
        do {
            let snapshot = try await downloads.snapshot(listing: 0)
            journal.metrics.waiting.set(snapshot.count(in: .waiting))
        } catch {
            // The same failure ends the run, and is logged as the run's error.
            logger.debug(
                "The waiting downloads couldn't be counted.", metadata: ["error": "\(Redaction().redacted("\(error)"))"]
            )
        }
    }
}
