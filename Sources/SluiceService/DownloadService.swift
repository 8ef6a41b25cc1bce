public import Logging
public import Metrics
public import ServiceLifecycle
public import SluiceDownloads
import SluiceHTTP

/// A service that runs the queue of a `DownloadCoordinator`, and writes to its log and its metrics.
///
///     let group = ServiceGroup(
///         services: [DownloadService(downloads, logger: logger)],
///         gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
///     try await group.run()
///     try await downloads.close()
///
/// **Shutdown.** At a graceful shutdown, and if the task is cancelled, the service starts no more downloads and stops the current ones.
/// They keep their partial files and wait again, so the next run continues them. Then ``run()`` returns without throwing. Nothing waits
/// for downloads to be complete.
///
/// **Log.** Normal work is logged at `debug` and `trace` only; <doc:RunTheQueueAsAService> lists the messages. The metadata names
/// URLs without user name, password, query and fragment, which may be secrets.
///
/// **Metrics.** The service creates its metrics when you create it, with names that begin with `sluice.downloads`. Their dimensions have a
/// few fixed values, and never contain URLs, users or numbers of downloads. <doc:RunTheQueueAsAService> lists them.
public struct DownloadService: Service, CustomStringConvertible {
    private let downloads: DownloadCoordinator
    private let end: DownloadCoordinator.RunEnd
    private let logger: Logger
    private let journal: DownloadJournal
    private let sleep: @Sendable (Duration) async throws -> Void

    /// The time between two measurements of the number of waiting downloads. Each one counts the downloads in the store.
    private static let samplingPeriod = Duration.seconds(10)

    /// Creates a service that runs the queue of a coordinator.
    ///
    /// - Parameters:
    ///   - downloads: The coordinator.
    ///   - end: The condition that ends the run. If it can end before the shutdown, as `.whenEmpty` can, set the
    ///     `successTerminationBehavior` of the service in its group: by default, a service group fails if a service ends.
    ///   - logger: The logger for all messages.
    ///   - metrics: The backend of the metrics. By default, it is the one that the program has chosen for all metrics.
    public init(
        _ downloads: DownloadCoordinator, until end: DownloadCoordinator.RunEnd = .whenCancelled,
        logger: Logger = Logger(label: "sluice.downloads"), metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.init(downloads, until: end, logger: logger, metrics: metrics) { try await Task.sleep(for: $0) }
    }

    /// The same with a function that waits between two measurements.
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

    /// Runs the queue until the graceful shutdown, the cancellation of the task, or the condition of the service.
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
            // The text and not the error: the URL in a TransferError may contain secrets.
            logger.error("The run of the queue failed.", metadata: ["error": "\(Redaction().redacted("\(error)"))"])
            throw error
        }
        logger.debug("The queue has stopped.")
    }

    /// The name of the service in the log of a service group.
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
                // The run was cancelled while it opened the store. Like any cancellation, that is no failure of a service.
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
            // The same failure ends the run, and is logged as its error.
            logger.debug(
                "The waiting downloads couldn't be counted.", metadata: ["error": "\(Redaction().redacted("\(error)"))"]
            )
        }
    }
}
