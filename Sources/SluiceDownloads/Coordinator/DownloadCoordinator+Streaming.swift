public import HTTPTypes
import SluiceConcurrency
public import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension DownloadCoordinator {
    /// Downloads a file and passes its bytes on, in order, instead of writing a file.
    ///
    ///     let size = try await downloads.stream(url) { bytes in
    ///         try await output.write(bytes)
    ///     }
    ///
    /// The configuration's rates, sizes, times, retries, header fields and cookies apply. The queue and its limits don't: the call is no download of
    /// the queue, and starts immediately. Its events have the ID 0.
    ///
    /// Memory is bounded: while `receive` runs, nothing more is read, which slows the server down. Nothing is resumed. A failure is retried
    /// only until the first bytes have been passed on. **A checksum or a digest of the server is known to be wrong only at the end**, after
    /// all bytes have been passed on; then the call throws.
    ///
    /// If the task is cancelled, the call throws `CancellationError`, once `receive` has returned.
    ///
    /// - Parameters:
    ///   - url: The URL to download.
    ///   - headerFields: Additional header fields, such as `Authorization`. They are sent only to the URL's origin.
    ///   - checksum: The checksum that the file must have, or `nil` if it isn't known.
    ///   - onEvent: A function that is called at each step. It must be quick and must not block.
    ///   - receive: A function that is called with the next bytes, at least one. If it throws, the download is stopped, and its error is
    ///     thrown.
    /// - Returns: The number of bytes.
    /// - Throws: `TransferError` if the download failed; `CancellationError`; an error of `receive`.
    @discardableResult
    @concurrent public func stream(
        _ url: URL, headerFields: HTTPFields = [:], checksum: Checksum? = nil,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in },
        to receive: @escaping @Sendable (Data) async throws -> Void
    ) async throws -> Int64 {
        var request = DownloadRequest(url, to: directory, headerFields: headerFields)
        request.checksum = checksum
        let stream = StreamedDownload(core: core, request: request, onEvent: onEvent, receive: receive)
        var attempt = 1
        while true {
            do {
                onEvent(.started(download: StreamedDownload.id, attempt: attempt))
                let size = try await stream.run()
                onEvent(.finished(download: StreamedDownload.id, outcome: .done(fileSize: size)))
                return size
            } catch let failure as StreamedDownload.ReceiverFailure {
                throw failure.error
            } catch var error as TransferError where !Task.isCancelled {
                error.attempts = attempt
                var random = SystemRandomNumberGenerator()
                guard error.isTransient, !stream.hasBegun,
                    let delay = configuration.retries.delay(
                        beforeRetry: attempt, retryAfter: error.retryAfter, using: &random)
                else {
                    onEvent(.finished(download: StreamedDownload.id, outcome: .failed(error)))
                    throw error
                }
                onEvent(.retrying(download: StreamedDownload.id, error: error, delay: delay))
                try await timing.clock.sleep(for: delay)
                attempt += 1
            }
        }
    }
}

/// A download whose bytes are passed on.
private final class StreamedDownload: Sendable {
    static let id = QueuedDownload.ID(rawValue: 0)

    /// An error that the receiver threw, which isn't one of the download's.
    struct ReceiverFailure: Error {
        var error: any Error
    }

    let core: CoordinatorCore
    let request: DownloadRequest
    let onEvent: @Sendable (DownloadEvent) -> Void
    let receive: @Sendable (Data) async throws -> Void
    private let passedOn = Lock(false)

    init(
        core: CoordinatorCore, request: DownloadRequest, onEvent: @escaping @Sendable (DownloadEvent) -> Void,
        receive: @escaping @Sendable (Data) async throws -> Void
    ) {
        self.core = core
        self.request = request
        self.onEvent = onEvent
        self.receive = receive
    }

    /// Whether bytes have been passed on, so that the download can't begin again.
    var hasBegun: Bool { passedOn.withLock { $0 } }

    func run() async throws -> Int64 {
        let configuration = core.configuration
        return try await withTimeLimit(configuration.maximumTime, clock: core.timing.clock, of: request.url) { [self] in
            try await withMinimumRate(configuration.minimumRate, clock: core.timing.clock, of: request.url) {
                [self] watch in
                do {
                    return try await transfer(watch)
                } catch let failure as TransferFailure {
                    throw TransferError(failure, of: request)
                }
            }
        }
    }

    private func transfer(_ watch: SharedRateWatch?) async throws -> Int64 {
        var exchange = TransportRequest(request.url, headerFields: request.headerFields)
        exchange.headerFields.append(contentsOf: try await core.configuration.headerFields(of: request))
        exchange.cookies = try await core.configuration.cookies(of: request)
        let response = try await core.transport.open(exchange)
        var machine = TransferStateMachine()
        let now = HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
        do {
            _ = try machine.responded(
                status: response.status, headerFields: response.headerFields, contentLength: response.contentLength,
                now: now)
        } catch {
            throw TransferError(error, of: request, response.headerFields, now: now)
        }
        try check(response.contentLength)
        let digests = TransferDigests(requested: request.checksum)
        digests.begin(response.headerFields)
        watch?.begin(at: 0)
        onEvent(.responded(download: Self.id, totalBytes: response.contentLength, resumedBytes: 0))
        var size: Int64 = 0
        var iterator = response.body.makeAsyncIterator()
        while let batch = try await iterator.nextBatch() {
            let bytes = batch.count == 1 ? batch[0] : batch.reduce(into: Data()) { $0 += $1 }
            guard !bytes.isEmpty else { continue }
            // Only one attempt's bytes are received without a failure.
            guard let received = try machine.received(bytes.count) else {
                preconditionFailure("A whole body became unusable.")
            }
            size = received
            try check(size)
            async let hashing: Void = digests.update([bytes])
            watch?.received(upTo: received)
            onEvent(.received(download: Self.id, receivedBytes: size))
            passedOn.withLock { $0 = true }
            let before = core.timing.now()
            do {
                try await receive(bytes)
            } catch {
                throw ReceiverFailure(error: error)
            }
            await hashing
            try Task.checkCancellation()
            try await core.bandwidth.pass(bytes.count, from: request.host)
            watch?.waited(for: core.timing.now() - before)
        }
        _ = try machine.ended()
        try digests.verifyMessage()
        try digests.verifyFile()
        return size
    }

    private func check(_ size: Int64?) throws(TransferFailure) {
        if let size, let limit = core.configuration.maximumSize, size > limit { throw .tooLarge(limit: limit) }
    }
}
