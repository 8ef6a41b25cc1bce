#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif
import SluiceLock

/// One request on its way and the response that comes back: connects an engine to the task that reads.
package final class Exchange: Sendable {
    typealias Machine = ExchangeStateMachine<
        UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<[Data]?, any Error>
    >

    /// The one request, without redirects.
    package let request: TransportRequest
    /// The URL of what is asked for, without its fragment.
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

    /// All bytes that have arrived, waiting for some; nil at the end.
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

    /// The times so far; nil before the head, and from an engine that measures none.
    var timings: TransportTimings? { machine.withLock { $0.timings } }

    /// Ends the exchange from the reader's side; what has not been read is dropped.
    func close(_ error: any Error) {
        let closed = machine.withLock { $0.closed(error) }
        if closed.isFirst { carrier.stop(self) }
        closed.headWaiter?.resume(throwing: error)
        closed.batchWaiter?.resume(throwing: error)
    }

    // MARK: The engine's side

    /// Whether it has ended, for its reader or by itself.
    package var isOver: Bool { machine.withLock { $0.isOver } }
    /// Whether the server owes bytes: no full buffer holds it back.
    package var awaitsServer: Bool { machine.withLock { $0.awaitsServer } }

    package func receivedHead(_ head: ResponseHead) { machine.withLock { $0.receivedHead(head) } }

    /// Whether it takes bytes that have arrived. If so, ``receivedChunk(_:)`` comes next.
    package func offered() -> ExchangeOffer { machine.withLock { $0.offered() } }

    package func receivedChunk(_ chunk: Data) { machine.withLock { $0.receivedChunk(chunk) } }

    /// The body is complete, so long after the exchange began.
    package func finished(after total: Duration?) { machine.withLock { $0.finished(after: total) } }

    /// The exchange broke. False if it was over.
    @discardableResult
    package func failed(_ error: TransferError) -> Bool { machine.withLock { $0.failed(error) } }

    /// Resumes the task that waits, if there is something for it. True if the sender goes on because of that.
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

/// Keeps an exchange open: when the last reference goes, the exchange ends.
final class ExchangeBody: ResponseBodySource {
    private let exchange: Exchange
    private let tracer: ExchangeTracer?

    init(_ exchange: Exchange, _ tracer: ExchangeTracer?) {
        self.exchange = exchange
        self.tracer = tracer
    }

    deinit {
        if let tracer {
            // A small body may have arrived whole that is not read, such as a redirect's.
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
