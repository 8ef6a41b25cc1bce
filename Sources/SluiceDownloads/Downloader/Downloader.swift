public import SluiceConcurrency
public import SluiceFiles
public import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Downloads a list of files, some at a time, and tries again where that helps.
///
///     let summary = try await HTTPTransport.withTransport { transport in
///         await Downloader(transport: transport).run(urls.map { DownloadRequest($0, to: music) })
///     }
///
/// Requests are taken in order from a queue by a few workers; each transfer runs behind a `ConcurrencyLimiter`, so that
/// several downloaders can share one. A request that waits for its next attempt takes no place.
///
/// Cancel the task that runs it to stop: transfers end at once, what a later run can go on from stays beside its target, and
/// the summary counts what is left undone. No file ever has its final name before it is whole.
public struct Downloader: Sendable {
    /// How a downloader works.
    public struct Configuration: Sendable {
        /// When to try again.
        public var retries: RetryPolicy
        /// What happens where a target exists already.
        public var existing: ExistingTarget
        /// How safe a file is against a loss of power when its download is done.
        public var durability: Durability

        /// A configuration; by default existing files are left alone, and a file has its name only once its bytes are on
        /// the disk.
        public init(
            retries: RetryPolicy = RetryPolicy(), existing: ExistingTarget = .fail, durability: Durability = .data
        ) {
            self.retries = retries
            self.existing = existing
            self.durability = durability
        }
    }

    let transport: any Transport
    let files: FileIO
    let limiter: ConcurrencyLimiter
    let configuration: Configuration
    let clock: any Clock<Duration>

    /// A downloader that works through `transport`.
    ///
    /// The limiter bounds how many transfers run at once; share it to bound several downloaders together. The clock
    /// measures the delays before retries.
    public init(
        transport: any Transport, limiter: ConcurrencyLimiter = ConcurrencyLimiter(concurrency: 8),
        configuration: Configuration = Configuration(), files: FileIO = .shared,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.transport = transport
        self.limiter = limiter
        self.configuration = configuration
        self.files = files
        self.clock = clock
    }

    /// Downloads everything on the list and says what became of it.
    ///
    /// Never throws: each request's error is in the summary and in its event.
    ///
    /// Folders that are missing are made. Two requests with the same target are a mistake: the later one fails. `onEvent` is
    /// called at each step, from the task that takes it; it must be quick and must not block.
    public func run(
        _ requests: [DownloadRequest], onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async -> DownloadSummary {
        let run = DownloaderRun(downloader: self, requests: requests, onEvent: onEvent)
        return await run.result()
    }

    /// Makes the folders of the requests that are missing, and tries that files can be made in each.
    ///
    /// Saves a list of a thousand files from failing a thousand times.
    ///
    /// - Throws: `FileError` for the first folder that cannot be made or written; `CancellationError`.
    public func prepareFolders(of requests: [DownloadRequest]) async throws {
        for folder in Set(requests.map(\.folder)) {
            try await files.makeDirectory(at: folder)
            // In a task of its own: a cancellation between the two steps would leave the probe behind.
            try await Task { try await probeWriting(in: folder) }.value
        }
    }

    private func probeWriting(in folder: URL) async throws {
        let probe = folder.appending(path: ".sluice-\(UInt64.random(in: 0 ... .max))", directoryHint: .notDirectory)
        do {
            try await Data().asyncWrite(to: probe, options: .init(durability: .none, existing: .fail), using: files)
            try await files.remove(probe)
        } catch var error as FileError {
            error.operation = "make a file in"
            error.path = folder.path(percentEncoded: false)
            throw error
        }
    }
}
