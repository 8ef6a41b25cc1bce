package import HTTPTypes
import SluiceLock

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// One request and its response. It connects an engine to the task that reads the response.
package final class Exchange: Sendable {
    typealias Machine = ExchangeStateMachine<
        UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<[Data]?, any Error>
    >

    /// The request. Redirects are separate exchanges.
    package let request: TransportRequest
    /// The URL to request, without its fragment.
    package let address: String
    private let carrier: any ExchangeCarrier
    private let machine: Lock<Machine>

    init(_ request: TransportRequest, address: String, on carrier: any ExchangeCarrier, bufferSize: Int) {
        self.request = request
        self.address = address
        self.carrier = carrier
        machine = Lock(Machine(bufferSize: bufferSize))
    }

    // MARK: The reader's side

    /// Starts the request and waits for the head. Cancelling the task ends the exchange immediately.
    func head() async throws -> ResponseHead {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                switch machine.withLock({ $0.headRequested(by: continuation) }) {
                case .resume(let head): continuation.resume(returning: head)
                case .fail(let error): continuation.resume(throwing: error)
                case .suspend: carrier.start(self)
                }
            }
        } onCancel: {
            close(CancellationError())
        }
    }

    func nextBatch() async throws -> [Data]? {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                switch machine.withLock({ $0.batchRequested(by: continuation) }) {
                case .suspend: break
                case .resume(let batch, let wasPaused):
                    if wasPaused { carrier.resume(self) }
                    continuation.resume(returning: batch)
                case .end: continuation.resume(returning: nil)
                case .fail(let error): continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            close(CancellationError())
        }
    }

    var timings: TransportTimings? { machine.withLock { $0.timings } }

    var trailers: HTTPFields { machine.withLock { $0.trailers } }

    /// Ends the exchange from the reader's side. Unread bytes are dropped.
    func close(_ error: any Error) {
        let closed = machine.withLock { $0.closed(error) }
        if closed.isFirst { carrier.stop(self) }
        closed.headWaiter?.resume(throwing: error)
        closed.batchWaiter?.resume(throwing: error)
    }

    // MARK: The engine's side

    package var isOver: Bool { machine.withLock { $0.isOver } }

    package var awaitsServer: Bool { machine.withLock { $0.awaitsServer } }

    package func receivedHead(_ head: ResponseHead) { machine.withLock { $0.receivedHead(head) } }

    /// Returns whether the exchange accepts bytes that have arrived. If it does, the engine calls ``receivedChunk(_:)`` next.
    package func offered() -> ExchangeOffer { machine.withLock { $0.offered() } }

    package func receivedChunk(_ chunk: Data) { machine.withLock { $0.receivedChunk(chunk) } }

    /// Notes that the response is complete, or fails the exchange if there is no head: libcurl reports no error if the connection ends in
    /// the middle of the head.
    package func finished(after total: Duration?, trailers: HTTPFields = [:]) {
        guard !machine.withLock({ $0.finished(after: total, trailers: trailers) }) else { return }
        failed(TransferError(.connectionClosed, url: request.url))
    }

    /// Notes that the exchange failed. Returns false if it had already ended.
    @discardableResult
    package func failed(_ error: TransferError) -> Bool { machine.withLock { $0.failed(error) } }

    /// Resumes the waiting task if there is a result for it. Returns true if the engine must resume a paused sender.
    package func deliver() -> Bool {
        switch machine.withLock({ $0.due() }) {
        case .head(let waiter, let head): waiter.resume(returning: head)
        case .noHead(let waiter, let error): waiter.resume(throwing: error)
        case .batch(let waiter, let batch, let wasPaused):
            waiter.resume(returning: batch)
            return wasPaused
        case .end(let waiter): waiter.resume(returning: nil)
        case .failure(let waiter, let error): waiter.resume(throwing: error)
        case nil: break
        }
        return false
    }
}

// MARK: - What an engine reports

package struct ResponseHead: Sendable {
    package var status: HTTPResponse.Status
    package var headerFields: HTTPFields
    /// The timings until the head arrived; `nil` if the engine doesn't measure them.
    package var timings: TransportTimings?

    package init(status: HTTPResponse.Status, headerFields: HTTPFields, timings: TransportTimings? = nil) {
        self.status = status
        self.headerFields = headerFields
        self.timings = timings
    }
}

package enum ExchangeOffer {
    case taken
    /// The buffer is full. The sender must pause, and offer the same bytes again after the reader has emptied the buffer.
    case full
    /// The exchange has ended, and nobody will read the bytes.
    case unwanted
}

// MARK: - What the reader holds

/// Keeps an exchange open until the last reference to this object is dropped.
final class ExchangeBody: ResponseBodySource {
    private let exchange: Exchange
    private let tracer: ExchangeTracer?

    init(_ exchange: Exchange, _ tracer: ExchangeTracer?) {
        self.exchange = exchange
        self.tracer = tracer
    }

    deinit {
        if let tracer {
            // A small body, such as a redirect's, may have arrived completely without ever being read.
            if timings?.total != nil { tracer.ended(timings) } else { tracer.failed(CancellationError()) }
        }
        exchange.close(CancellationError())
    }

    var timings: TransportTimings? { exchange.timings }

    var trailers: HTTPFields { exchange.trailers }

    func nextBatch() async throws -> [Data]? {
        guard let tracer else { return try await exchange.nextBatch() }
        do {
            let batch = try await exchange.nextBatch()
            if batch == nil { tracer.ended(timings) }
            return batch
        } catch {
            tracer.failed(error)
            throw error
        }
    }
}

// MARK: - The state machine

/// The state of an exchange: the bytes that have arrived and the task that waits for them. Each event returns what to do after unlocking.
///
/// The events of the connection (`received…`, `finished`, `failed`) come in order, on one thread. That thread calls `due` after it has
/// handled everything that arrived at once. So a task that waits for the head also finds the first bytes, and often an entire small body.
/// The reader is one task, which requests the head and then one batch after another. `closed` may come at any time.
///
/// ```text
/// opening ── receivedHead ──▶ headArrived ── due, headRequested ──▶ streaming ── finished, failed ──▶ ended
///    └────────── failed, closed ───────┴──────────── closed ───────────┴────────── closed ──────────▶ ended
/// ```
struct ExchangeStateMachine<HeadWaiter, BatchWaiter> {
    private enum Phase {
        case opening(HeadWaiter?)
        case headArrived(ResponseHead, HeadWaiter?)
        case streaming(BatchWaiter?)
    }

    private enum End {
        case complete
        case failure(any Error)
    }

    private var phase = Phase.opening(nil)
    private var end: End?
    private var chunks: [Data] = []
    private var bufferedBytes = 0
    private var isPaused = false
    private let bufferSize: Int
    private(set) var timings: TransportTimings?
    private(set) var trailers: HTTPFields = [:]

    init(bufferSize: Int) {
        self.bufferSize = bufferSize
    }

    /// Whether the exchange is waiting for the server: it hasn't ended and isn't paused by a full buffer.
    var awaitsServer: Bool { end == nil && !isPaused }

    var isOver: Bool { end != nil }

    // MARK: The reader's events

    enum HeadRequested {
        case suspend
        case resume(ResponseHead)
        case fail(any Error)
    }

    mutating func headRequested(by waiter: HeadWaiter) -> HeadRequested {
        switch phase {
        case .headArrived(let head, _):
            phase = .streaming(nil)
            return .resume(head)
        case .opening:
            if case .failure(let error) = end { return .fail(error) }
            phase = .opening(waiter)
            return .suspend
        case .streaming:
            preconditionFailure("The head of an exchange may be requested only once.")
        }
    }

    enum BatchRequested {
        case suspend
        /// The buffered bytes. If `wasPaused`, the sender must be resumed.
        case resume([Data], wasPaused: Bool)
        case end
        case fail(any Error)
    }

    mutating func batchRequested(by waiter: BatchWaiter) -> BatchRequested {
        guard case .streaming(nil) = phase else {
            preconditionFailure("Only one task at a time may read a response body.")
        }
        if !chunks.isEmpty {
            let (batch, wasPaused) = takeChunks()
            return .resume(batch, wasPaused: wasPaused)
        }
        switch end {
        case .complete: return .end
        case .failure(let error): return .fail(error)
        case nil:
            phase = .streaming(waiter)
            return .suspend
        }
    }

    // MARK: The connection's events

    mutating func receivedHead(_ head: ResponseHead) {
        guard end == nil, case .opening(let waiter) = phase else { return }
        phase = .headArrived(head, waiter)
        timings = head.timings
    }

    /// Returns whether the machine accepts bytes that have arrived. If it does, the next event must be `receivedChunk`.
    mutating func offered() -> ExchangeOffer {
        guard end == nil else { return .unwanted }
        guard bufferedBytes < bufferSize else {
            isPaused = true
            return .full
        }
        return .taken
    }

    mutating func receivedChunk(_ chunk: Data) {
        // The reader may have closed the exchange since `offered`.
        guard end == nil else { return }
        chunks.append(chunk)
        bufferedBytes += chunk.count
    }

    /// Notes that all bytes have arrived. Returns false, and changes nothing, if the head hasn't arrived. Then the exchange must fail.
    @discardableResult
    mutating func finished(after total: Duration?, trailers: HTTPFields = [:]) -> Bool {
        guard end == nil else { return true }
        if case .opening = phase { return false }
        end = .complete
        timings?.total = total
        self.trailers = trailers
        return true
    }

    /// Notes that the exchange failed. The reader gets the head and the bytes that had arrived, and then the error. Returns false if the
    /// exchange had already ended.
    mutating func failed(_ error: any Error) -> Bool {
        guard end == nil else { return false }
        end = .failure(error)
        isPaused = false
        return true
    }

    enum Due {
        case head(HeadWaiter, ResponseHead)
        case noHead(HeadWaiter, any Error)
        case batch(BatchWaiter, [Data], wasPaused: Bool)
        case end(BatchWaiter)
        case failure(BatchWaiter, any Error)
    }

    /// Returns the waiting task and its result, or `nil` if no task waits or there is no result for it yet.
    mutating func due() -> Due? {
        switch phase {
        case .opening(let waiter?):
            guard case .failure(let error) = end else { return nil }
            phase = .opening(nil)
            return .noHead(waiter, error)
        case .headArrived(let head, let waiter?):
            phase = .streaming(nil)
            return .head(waiter, head)
        case .streaming(let waiter?):
            if !chunks.isEmpty {
                phase = .streaming(nil)
                let (batch, wasPaused) = takeChunks()
                return .batch(waiter, batch, wasPaused: wasPaused)
            }
            guard let end else { return nil }
            phase = .streaming(nil)
            switch end {
            case .complete: return .end(waiter)
            case .failure(let error): return .failure(waiter, error)
            }
        case .opening(nil), .headArrived(_, nil), .streaming(nil): return nil
        }
    }

    // MARK: Both sides

    struct Closed {
        var headWaiter: HeadWaiter?
        var batchWaiter: BatchWaiter?
        /// The unread chunks. The caller drops them after unlocking.
        var chunks: [Data]
        var isFirst: Bool
    }

    mutating func closed(_ error: any Error) -> Closed {
        let isFirst = end == nil
        end = .failure(error)
        var closed = Closed(chunks: takeChunks().chunks, isFirst: isFirst)
        switch phase {
        case .opening(let waiter):
            closed.headWaiter = waiter
            phase = .opening(nil)
        case .headArrived(_, let waiter):
            closed.headWaiter = waiter
            phase = .opening(nil)
        case .streaming(let waiter):
            closed.batchWaiter = waiter
            phase = .streaming(nil)
        }
        return closed
    }

    private mutating func takeChunks() -> (chunks: [Data], wasPaused: Bool) {
        defer {
            chunks = []
            bufferedBytes = 0
            isPaused = false
        }
        return (chunks, isPaused)
    }
}
