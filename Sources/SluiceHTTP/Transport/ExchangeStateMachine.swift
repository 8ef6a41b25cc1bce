#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
package import HTTPTypes

/// The head of one response, before redirects are looked at.
package struct ResponseHead: Sendable {
    package var status: HTTPResponse.Status
    package var headerFields: HTTPFields
    /// The times until now; nil if the engine measures none.
    package var timings: TransportTimings?

    package init(status: HTTPResponse.Status, headerFields: HTTPFields, timings: TransportTimings? = nil) {
        self.status = status
        self.headerFields = headerFields
        self.timings = timings
    }
}

/// What an exchange says to bytes that have arrived.
package enum ExchangeOffer {
    /// There is room for them.
    case taken
    /// The buffer is full. The sender pauses, and offers the same bytes again when the reader has taken some.
    case full
    /// Nothing will read them.
    case unwanted
}

/// What has arrived of a response and which task waits for it: takes events, and returns what to do after the unlock.
///
/// The events of the connection (`received…`, `finished`, `failed`) arrive in order, on one thread. That thread asks for what is due
/// when it has handled all that arrived together: a task that waits for the head then finds the first bytes, and those of a small body
/// all together. The reader is one task. It asks for the head, then for one batch after another. `closed` may come at any time.
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

    /// How the connection's side came to its end.
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
    /// What the connection's side measured so far.
    private(set) var timings: TransportTimings?

    init(bufferSize: Int) {
        self.bufferSize = bufferSize
    }

    /// Whether the server owes bytes: the exchange is under way and no full buffer holds it back.
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
            preconditionFailure("The head of an exchange is asked for once.")
        }
    }

    enum BatchRequested {
        case suspend
        /// Bytes. The sender goes on if it was paused.
        case resume([Data], wasPaused: Bool)
        case end
        case fail(any Error)
    }

    mutating func batchRequested(by waiter: BatchWaiter) -> BatchRequested {
        guard case .streaming(nil) = phase else {
            preconditionFailure("A response body is read by one task at a time.")
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

    /// Whether the machine takes bytes that have arrived. If so, `receivedChunk` comes next.
    mutating func offered() -> ExchangeOffer {
        guard end == nil else { return .unwanted }
        guard bufferedBytes < bufferSize else {
            isPaused = true
            return .full
        }
        return .taken
    }

    mutating func receivedChunk(_ chunk: Data) {
        // The reader may have left since.
        guard end == nil else { return }
        chunks.append(chunk)
        bufferedBytes += chunk.count
    }

    /// The body is complete, so long after the exchange began.
    mutating func finished(after total: Duration?) {
        guard end == nil else { return }
        end = .complete
        timings?.total = total
    }

    /// The exchange broke: the reader gets the head and the bytes that had arrived, then the error. False if it was over.
    mutating func failed(_ error: any Error) -> Bool {
        guard end == nil else { return false }
        end = .failure(error)
        isPaused = false
        return true
    }

    /// Which task to resume, and with what.
    enum Due {
        case head(HeadWaiter, ResponseHead)
        case noHead(HeadWaiter, any Error)
        case batch(BatchWaiter, [Data], wasPaused: Bool)
        case end(BatchWaiter)
        case failure(BatchWaiter, any Error)
    }

    /// What has become due since the last call; nil if no task waits, or if there is nothing for it yet.
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

    /// Which task to resume with the error.
    struct Closed {
        var headWaiter: HeadWaiter?
        var batchWaiter: BatchWaiter?
        /// Dropped after the unlock.
        var chunks: [Data]
        /// Whether this call ended the exchange.
        var isFirst: Bool
    }

    /// The reader leaves or is cancelled: what had arrived is dropped.
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
