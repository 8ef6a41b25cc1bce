import AsyncHTTPClient
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import NIOCore
import NIOFoundationEssentialsCompat
import NIOHTTP1
import SluiceLock

/// One request on its way and the response that comes back: connects the client's callbacks to the task that reads.
///
/// AsyncHTTPClient's own async sequence hands over one chunk per suspension and starts a task per request; its read timeout
/// also fires when the reader is the slow one. With its delegate the reader takes all that has arrived at once, and the
/// watch for a stalled server knows who waits for whom.
final class Exchange: Sendable {
    private typealias Machine = ExchangeStateMachine<
        UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<[Data]?, any Error>, EventLoopPromise<Void>
    >

    private struct State {
        var machine: Machine
        var task: HTTPClient.Task<Void>?
        var watch: Scheduled<Void>?
        /// When the server last did something, or had to begin; nil until the request is sent.
        var lastActivity: NIODeadline?
    }

    private let url: URL
    private let stallTimeout: TimeAmount
    private let state: Lock<State>

    init(url: URL, stallTimeout: TimeAmount, bufferSize: Int) {
        self.url = url
        self.stallTimeout = stallTimeout
        state = Lock(State(machine: Machine(bufferSize: bufferSize)))
    }

    // MARK: The reader's side

    /// Starts the request and waits for the head. Cancelling the task ends the exchange at once.
    func head(start: (ExchangeDelegate) -> HTTPClient.Task<Void>) async throws -> ResponseHead {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                switch state.withLock({ $0.machine.headRequested(by: continuation) }) {
                case .resume(let head): continuation.resume(returning: head)
                case .fail(let error): continuation.resume(throwing: error)
                case .suspend: started(start(ExchangeDelegate(self)))
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
                let action = state.withLock { state in
                    let action = state.machine.batchRequested(by: continuation)
                    // The server's time runs again from the moment at which it may send again.
                    if case .resume(_, .some) = action { state.lastActivity = .now() }
                    return action
                }
                switch action {
                case .suspend: break
                case .resume(let batch, let demand):
                    demand?.succeed()
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
        let (action, task, watch) = state.withLock { state in
            (state.machine.closed(error), state.task.take(), state.watch.take())
        }
        watch?.cancel()
        if action.isFirst { task?.cancel() }
        deliver(error, to: action)
    }

    // MARK: The connection's side

    private func started(_ task: HTTPClient.Task<Void>) {
        let isOver = state.withLock { state in
            if !state.machine.isOver { state.task = task }
            return state.machine.isOver
        }
        if isOver {
            task.cancel()
        } else {
            // A client that was shut down fails the task without a word to the delegate.
            task.futureResult.whenFailure { self.failed($0) }
            watch(on: task.eventLoop, after: stallTimeout)
        }
    }

    func sentRequest() {
        state.withLock { $0.lastActivity = .now() }
    }

    func receivedHead(_ head: ResponseHead, on eventLoop: any EventLoop) {
        state.withLock { state in
            state.lastActivity = .now()
            state.machine.receivedHead(head)
        }
        eventLoop.execute {
            guard let due = self.state.withLock({ $0.machine.headDue() }) else { return }
            due.waiter.resume(returning: due.head)
        }
    }

    func receivedChunk(_ chunk: Data, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let (action, demand) = state.withLock { state in
            state.lastActivity = .now()
            let action = state.machine.receivedChunk(chunk, demand: eventLoop.makePromise())
            return (action, state.machine.pausedDemand)
        }
        switch action {
        case .proceed:
            return eventLoop.makeSucceededVoidFuture()
        case .resume(let waiter, let batch):
            waiter.resume(returning: batch)
            return eventLoop.makeSucceededVoidFuture()
        case .pause:
            return demand?.futureResult ?? eventLoop.makeSucceededVoidFuture()
        case .stop:
            return eventLoop.makeFailedFuture(CancellationError())
        }
    }

    func finished() {
        let (action, watch) = state.withLock { state in
            state.task = nil
            return (state.machine.finished(), state.watch.take())
        }
        watch?.cancel()
        if let due = action.head { due.waiter.resume(returning: due.head) }
        action.batchWaiter?.resume(returning: nil)
    }

    func failed(_ cause: any Error) {
        let error = TransportError(cause, url: url)
        let (action, watch) = state.withLock { state in
            state.task = nil
            return (state.machine.failed(error), state.watch.take())
        }
        watch?.cancel()
        deliver(error, to: action)
    }

    private func deliver(_ error: any Error, to action: Machine.Ended) {
        action.demand?.succeed()
        if let due = action.head { due.waiter.resume(returning: due.head) }
        action.headWaiter?.resume(throwing: error)
        action.batchWaiter?.resume(throwing: error)
    }

    // MARK: The watch for a stalled server

    /// Looks again after `delay`, at the earliest moment at which the stall timeout can have passed.
    private func watch(on eventLoop: any EventLoop, after delay: TimeAmount) {
        let watch = eventLoop.scheduleTask(in: delay) { self.look(on: eventLoop) }
        let isOver = state.withLock { state in
            if !state.machine.isOver { state.watch = watch }
            return state.machine.isOver
        }
        if isOver { watch.cancel() }
    }

    private func look(on eventLoop: any EventLoop) {
        // Until the request is sent, connecting has its own time.
        let (silence, task) = state.withLock { state in
            let silence = state.machine.awaitsServer ? state.lastActivity.map { NIODeadline.now() - $0 } : nil
            return (silence, state.task)
        }
        guard let silence, silence >= stallTimeout else {
            return watch(on: eventLoop, after: silence.map { stallTimeout - $0 } ?? stallTimeout)
        }
        let seconds = Double(stallTimeout.nanoseconds) / 1e9
        let cause = "nothing arrived for \(seconds.formattedSeconds)"
        let error = TransportError(.stalled, url: url, cause: cause)
        let action = state.withLock { state in
            state.task = nil
            state.watch = nil
            return state.machine.failed(error)
        }
        deliver(error, to: action)
        task?.cancel()
    }
}

extension Double {
    /// "30 s", "0.5 s".
    fileprivate var formattedSeconds: String {
        self == rounded() ? "\(Int(self)) s" : "\(self) s"
    }
}

/// Keeps an exchange open: when the last reference goes, the exchange ends.
final class ExchangeHandle: ResponseBodySource {
    private let exchange: Exchange

    init(_ exchange: Exchange) { self.exchange = exchange }

    deinit { exchange.close(CancellationError()) }

    func nextBatch() async throws -> [Data]? { try await exchange.nextBatch() }
}

/// The client's side of an ``Exchange``. Its methods are called on the exchange's event loop.
final class ExchangeDelegate: HTTPClientResponseDelegate {
    private let exchange: Exchange

    init(_ exchange: Exchange) { self.exchange = exchange }

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        exchange.sentRequest()
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        var fields = HTTPFields()
        fields.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            // A name that is no token is nothing that we could ask for.
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        let status = HTTPResponse.Status(code: Int(head.status.code), reasonPhrase: head.status.reasonPhrase)
        exchange.receivedHead(ResponseHead(status: status, headerFields: fields), on: task.eventLoop)
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        exchange.receivedChunk(Data(buffer: buffer, byteTransferStrategy: .noCopy), on: task.eventLoop)
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        exchange.finished()
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        exchange.failed(error)
    }
}
