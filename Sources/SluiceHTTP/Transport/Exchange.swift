#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif
import SluiceLock

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

    /// Starts the request and waits for the head. Cancellation of the task ends the exchange immediately.
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

    /// Notes that the response is complete. Without a head, it can't be: libcurl reports no error if the connection ends within the head.
    package func finished(after total: Duration?) {
        guard !machine.withLock({ $0.finished(after: total) }) else { return }
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
            // A small body, such as a redirect's, may have arrived completely without being read.
            if timings?.total != nil { tracer.ended(timings) } else { tracer.failed(CancellationError()) }
        }
        exchange.close(CancellationError())
    }

    var timings: TransportTimings? { exchange.timings }

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
