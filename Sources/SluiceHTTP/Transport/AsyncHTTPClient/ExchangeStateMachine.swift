#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes

/// The head of one response, before redirects are looked at.
struct ResponseHead: Sendable {
    var status: HTTPResponse.Status
    var headerFields: HTTPFields
}

/// What has arrived of a response and who waits for it: takes events, returns what is to be done after the unlock.
///
/// The events of the connection (`received…`, `finished`, `failed`) arrive in order. The reader is one task: it asks for
/// the head, then for one batch after another. `closed` may come at any time from either side.
///
/// ```text
/// opening ── receivedHead ──▶ headArrived ── headDue ──▶ streaming ── finished, failed ──▶ ended
///    └────────── failed, closed ───────┴──────── closed ─────┴────────── closed ───────────▶ ended
/// ```
///
/// A head that has arrived is due a little later, when the event loop has handled what came with it: a reader that is woken
/// then finds the first bytes, and those of a small body all at once.
struct ExchangeStateMachine<HeadWaiter, BatchWaiter, Demand> {
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
    private var demand: Demand?
    private let bufferSize: Int

    init(bufferSize: Int) {
        self.bufferSize = bufferSize
    }

    /// Whether the server owes bytes: the exchange is under way and no full buffer holds it back.
    var awaitsServer: Bool { end == nil && demand == nil }

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
            preconditionFailure("the head of an exchange is asked for once")
        }
    }

    enum BatchRequested {
        case suspend
        /// Bytes, and the sender to wake up now that there is room.
        case resume([Data], Demand?)
        case end
        case fail(any Error)
    }

    mutating func batchRequested(by waiter: BatchWaiter) -> BatchRequested {
        guard case .streaming(nil) = phase else {
            preconditionFailure("a response body is read by one task at a time")
        }
        if !chunks.isEmpty {
            let batch = takeChunks()
            let released = demand
            demand = nil
            return .resume(batch, released)
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
    }

    /// The head, and who waits for it.
    typealias DueHead = (waiter: HeadWaiter, head: ResponseHead)

    /// The head should be handed over now, if it is there and somebody waits for it.
    mutating func headDue() -> DueHead? {
        guard case .headArrived(let head, let waiter?) = phase else { return nil }
        phase = .streaming(nil)
        return (waiter, head)
    }

    enum ChunkReceived {
        /// There is room for more.
        case proceed
        /// A reader waited: give it this, and go on.
        case resume(BatchWaiter, [Data])
        /// The buffer is full: go on when the demand is released.
        case pause
        /// Nobody will read it.
        case stop
    }

    mutating func receivedChunk(_ chunk: Data, demand makeDemand: @autoclosure () -> Demand) -> ChunkReceived {
        guard end == nil else { return .stop }
        if case .streaming(let waiter?) = phase {
            phase = .streaming(nil)
            return .resume(waiter, [chunk])
        }
        chunks.append(chunk)
        bufferedBytes += chunk.count
        guard bufferedBytes >= bufferSize else { return .proceed }
        demand = makeDemand()
        return .pause
    }

    /// The sender that was told to pause, for the caller that has to answer it.
    var pausedDemand: Demand? { demand }

    /// The body is complete: wakes the reader, who waits for the head or for more.
    mutating func finished() -> (head: DueHead?, batchWaiter: BatchWaiter?) {
        guard end == nil else { return (nil, nil) }
        end = .complete
        let head = headDue()
        guard case .streaming(let waiter?) = phase else { return (head, nil) }
        phase = .streaming(nil)
        return (head, waiter)
    }

    /// Whom to wake with the head or the error, and the sender that need not wait any longer.
    struct Ended {
        var head: DueHead?
        var headWaiter: HeadWaiter?
        var batchWaiter: BatchWaiter?
        var demand: Demand?
        /// Dropped after the unlock.
        var chunks: [Data] = []
        /// Whether this call ended the exchange.
        var isFirst = false
    }

    /// The exchange broke: the head and the bytes that had arrived are still read, then the error is thrown.
    mutating func failed(_ error: any Error) -> Ended {
        guard end == nil else { return Ended() }
        end = .failure(error)
        let head = headDue()
        var action = takeWaiters()
        action.head = head
        action.isFirst = true
        return action
    }

    /// The reader leaves or is cancelled: what had arrived is dropped.
    mutating func closed(_ error: any Error) -> Ended {
        let isFirst = end == nil
        end = .failure(error)
        var action = takeWaiters()
        action.isFirst = isFirst
        action.chunks = takeChunks()
        return action
    }

    private mutating func takeWaiters() -> Ended {
        var action = Ended(demand: demand)
        demand = nil
        switch phase {
        case .opening(let waiter):
            action.headWaiter = waiter
            phase = .opening(nil)
        case .headArrived(let head, let waiter):
            action.headWaiter = waiter
            phase = .headArrived(head, nil)
        case .streaming(let waiter):
            action.batchWaiter = waiter
            phase = .streaming(nil)
        }
        return action
    }

    private mutating func takeChunks() -> [Data] {
        defer {
            chunks = []
            bufferedBytes = 0
        }
        return chunks
    }
}
