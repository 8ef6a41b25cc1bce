import CSluiceCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import SluiceLock

/// One request on its way and the response that comes back: connects a loop's callbacks to the task that reads.
final class CurlExchange: Sendable {
    typealias Machine = ExchangeStateMachine<
        UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<[Data]?, any Error>
    >

    let request: TransportRequest
    /// The URL as libcurl gets it, and its proxy.
    let address: String
    let proxy: String
    private let loop: CurlLoop
    private let machine: Lock<Machine>

    init(_ request: TransportRequest, address: String, proxy: String, on loop: CurlLoop, bufferSize: Int) {
        self.request = request
        self.address = address
        self.proxy = proxy
        self.loop = loop
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
                case .suspend: loop.send(.start(self))
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
                    if wasPaused { loop.send(.resume(self)) }
                    continuation.resume(returning: batch)
                case .end: continuation.resume(returning: nil)
                case .fail(let error): continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            close(CancellationError())
        }
    }

    /// Ends the exchange from the reader's side; what has not been read is dropped.
    func close(_ error: any Error) {
        let closed = machine.withLock { $0.closed(error) }
        if closed.isFirst { loop.send(.stop(self)) }
        closed.headWaiter?.resume(throwing: error)
        closed.batchWaiter?.resume(throwing: error)
    }

    // MARK: The loop's side

    var isOver: Bool { machine.withLock { $0.isOver } }
    var awaitsServer: Bool { machine.withLock { $0.awaitsServer } }

    func receivedHead(_ head: ResponseHead) { machine.withLock { $0.receivedHead(head) } }

    func offered() -> Machine.Offer { machine.withLock { $0.offered() } }

    func receivedChunk(_ chunk: Data) { machine.withLock { $0.receivedChunk(chunk) } }

    func finished() { machine.withLock { $0.finished() } }

    @discardableResult
    func failed(_ error: TransportError) -> Bool { machine.withLock { $0.failed(error) } }

    /// Resumes the task that waits, if there is something for it. True if the sender goes on because of that.
    func deliver() -> Bool {
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
final class CurlBody: ResponseBodySource {
    private let exchange: CurlExchange

    init(_ exchange: CurlExchange) { self.exchange = exchange }

    deinit { exchange.close(CancellationError()) }

    func nextBatch() async throws -> [Data]? { try await exchange.nextBatch() }
}
