import DequeModule
import SluiceLock

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Returns a sequence that any number of loops share, with one iteration of this sequence. The slowest loop sets the pace.
    ///
    ///     let readings = sensor.readings.shared()
    ///
    ///     async let shown: Void = { for try await reading in readings { show(reading) } }()
    ///     async let stored: Void = { for try await reading in readings { try await store(reading) } }()
    ///
    /// No element is lost. See ``SharedSequence``. If the source must not wait for its receivers, use ``Broadcast``, which reports the
    /// number of missed elements.
    ///
    /// - Parameters:
    ///   - buffer: The maximum number of elements that the fastest loop may be ahead of the slowest.
    ///   - replay: The number of last elements that a loop receives if it starts later. If `buffer` isn't larger, the fastest loop may be
    ///     `replay + 1` elements ahead.
    /// - Precondition: `buffer` is at least 1, and `replay` isn't negative.
    public func shared(buffer: Int = 1, replay: Int = 0) -> SharedSequence<Self> {
        SharedSequence(self, buffer: buffer, replay: replay)
    }
}

/// One iteration of a sequence that any number of loops share. Each loop receives every element. See `shared(buffer:replay:)`.
///
///     let readings = sensor.readings.shared(buffer: 16)
///     for try await reading in readings { show(reading) }          // in any number of tasks
///
/// **Pace.** The next element is taken from the base sequence when a loop needs it, unless another loop is `buffer` elements behind. Then
/// the fast loop waits. So no element is lost, but a loop that stops receiving elements without ending blocks the others. Use ``Broadcast``
/// if the source must not wait; it reports the number of missed elements.
///
/// **Start.** The iteration of the base sequence starts when a loop first requests an element. A loop begins when its iterator is created.
/// It receives the elements that come after that, and the last `replay` elements before. If two tasks must both receive the first element,
/// use `replay`, or create both iterators before the base yields its first element.
///
/// **End.** All loops receive the elements before the end, and then the end. An error of the base reaches each loop once. Loops that start
/// later receive the replayed elements, and then the end or the error.
///
/// **Cancellation.** A loop that is cancelled, or left with `break`, `return` or an error, no longer blocks the others. When the last loop
/// leaves, the base is cancelled. If that loop was cancelled, it returns when the base has ended. Later loops end immediately. To start
/// again, call `shared(buffer:replay:)` again.
///
/// **Task.** An unstructured task iterates the base, outside any actor, with the priority and the task-local values of the task that
/// requests the first element. The loops own this task: it is cancelled when no loop remains.
///
/// **Cost.** Receiving an element is O(1), amortized, plus O(n) in the number of waiting loops for the loop that requests it first. Each
/// element is stored once, until all loops have received it.
public struct SharedSequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sendable {
    /// The element of the base sequence.
    public typealias Element = Base.Element
    /// The error of the base sequence.
    public typealias Failure = Base.Failure

    let storage: SharedStorage<Base>

    init(_ base: Base, buffer: Int, replay: Int) {
        precondition(buffer >= 1, "A shared sequence's buffer must be at least 1; it is \(buffer).")
        precondition(replay >= 0, "A shared sequence's replay must not be negative; it is \(replay).")
        storage = SharedStorage(base, buffer: buffer, replay: replay)
    }

    /// The number of loops, for display: it may change before the caller reads it. O(1).
    public var loopCount: Int { storage.loopCount }

    /// Creates an iterator. Its loop begins here.
    public func makeAsyncIterator() -> Iterator {
        Iterator(loop: SharedLoop(storage))
    }

    /// An iterator over the elements of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        let loop: SharedLoop<Base>

        /// Waits for the next element, and returns it; returns `nil` at the end or if the task is cancelled. A cancelled loop has ended:
        /// every later call returns `nil`.
        ///
        /// - Throws: The error of the base, once, after the elements that came before it.
        public mutating func next() async throws(Base.Failure) -> Base.Element? {
            try await loop.storage.next(loop.number)
        }

        /// Waits for the next element in the isolation of `actor`; otherwise like `next()`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Base.Element? {
            try await loop.storage.next(loop.number)
        }
    }
}

/// One loop, which leaves when its iterator is released.
final class SharedLoop<Base: AsyncSequence & Sendable>: Sendable where Base.Element: Sendable {
    let storage: SharedStorage<Base>
    let number: UInt64

    init(_ storage: SharedStorage<Base>) {
        self.storage = storage
        number = storage.join()
    }

    deinit {
        _ = storage.leave(number)
    }
}

// MARK: - The state machine

/// The elements that at least one loop hasn't received, the position of each loop, and the producer, which takes elements from the base.
///
/// It resumes no task. It returns removed elements, which the caller destroys after unlocking.
///
/// ```text
/// a loop at the end waits ─┐
/// no loop is `buffer`      ├─▶ the producer is resumed ─▶ takes one element from the base ─▶ all waiting loops look again
/// elements behind ─────────┘
/// the last loop leaves ─────▶ the producer is told to stop, and its task is cancelled
/// ```
struct SharedStateMachine<Element: Sendable, Failure: Error, Waiter: Sendable, Work: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, SharedWakeUp>
    typealias Removed = BroadcastLog<Element>.Removed

    enum NextAction: Sendable {
        case deliver(Element, Removed, go: Waiter?)
        case finished
        case failed(Failure)
        /// The loop is in line and suspends with this ticket. If `starts` is `true`, it must start the producer first.
        case suspend(Line.Ticket, starts: Bool, go: Waiter?)
    }

    enum End: Sendable {
        case finished
        case failed(Failure)
        case abandoned
    }

    struct LeaveAction: Sendable {
        var removed: Removed
        /// Resumed to take an element.
        var go: Waiter?
        /// Resumed to stop.
        var stop: Waiter?
        var work: Work?
    }

    private struct Loop: Sendable {
        var cursor: Int
        var hasEnded = false
    }

    /// The maximum number of elements that a loop may be behind. A late loop begins `replay` elements behind, and the producer may be
    /// taking another element then.
    private let bound: Int
    private var log: BroadcastLog<Element>
    private(set) var line = Line()
    private var loops: [UInt64: Loop] = [:]
    private var numbers: UInt64 = 0
    private var end: End?
    private var isStarted = false
    private var work: Work?
    /// `nil` unless it waits until an element is needed.
    private var producer: Waiter?

    init(buffer: Int, replay: Int) {
        bound = max(buffer, replay == .max ? .max : replay + 1)
        log = BroadcastLog(replay: replay)
    }

    var loopCount: Int { loops.count }

    var elementCount: Int { log.slots.count }
}

// MARK: Loops

extension SharedStateMachine {
    mutating func join() -> UInt64 {
        numbers += 1
        loops[numbers] = Loop(cursor: log.addCursor())
        return numbers
    }

    mutating func next(_ number: UInt64) -> NextAction {
        guard let loop = loops[number] else { return .finished }
        if loop.cursor < log.end {
            let element = log[loop.cursor]
            log.moveCursor(from: loop.cursor, to: loop.cursor + 1)
            loops[number]?.cursor += 1
            return .deliver(element, log.trim(), go: takeProducerIfWanted())
        }
        if let end {
            if case .failed(let failure) = end, !loop.hasEnded {
                loops[number]?.hasEnded = true
                return .failed(failure)
            }
            return .finished
        }
        let ticket = line.join()
        defer { isStarted = true }
        return .suspend(ticket, starts: !isStarted, go: takeProducerIfWanted())
    }

    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> SharedWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// Returns the continuation of a cancelled loop, which the caller resumes with `.cancelled`.
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }

    mutating func leave(_ number: UInt64) -> LeaveAction {
        guard let loop = loops.removeValue(forKey: number) else { return LeaveAction(removed: Removed(first: nil)) }
        log.removeCursor(at: loop.cursor)
        var action = LeaveAction(removed: log.trim())
        if loops.isEmpty, isStarted, end == nil {
            end = .abandoned
            action.stop = producer.take()
            action.work = work.take()
        } else {
            action.go = takeProducerIfWanted()
        }
        return action
    }
}

// MARK: The producer

extension SharedStateMachine {
    /// Returns `true` if the caller must cancel the task because the last loop has left.
    mutating func started(_ work: Work) -> Bool {
        guard end == nil else {
            if case .abandoned = end { return true }
            return false
        }
        self.work = work
        return false
    }

    /// Returns `nil` if the producer must wait.
    mutating func produce(_ waiter: Waiter) -> SharedWakeUp? {
        if end != nil { return .stop }
        if isWanted { return .go }
        producer = waiter
        return nil
    }

    /// The waiting loops look again.
    mutating func deliver(_ element: Element) -> (waiters: [Waiter], removed: Element?) {
        if end != nil { return ([], element) }
        return (line.settleAll(.go), log.append(element))
    }

    mutating func finish(_ end: End) -> [Waiter] {
        if self.end == nil { self.end = end }
        work = nil
        return line.settleAll(.go)
    }

    // MARK: Machinery

    /// Whether a loop waits for an element that the base hasn't yielded, and no loop is too far behind.
    ///
    /// No loop is ever more than `bound` elements behind, so it suffices to look at the slot at that distance.
    private var isWanted: Bool {
        let limit = log.end - bound
        return !line.isEmpty && (limit < log.start || log.slots[limit - log.start].cursors == 0)
    }

    private mutating func takeProducerIfWanted() -> Waiter? {
        isWanted ? producer.take() : nil
    }
}

enum SharedWakeUp: Hashable, Sendable {
    case go
    case stop
    case cancelled
}

// MARK: - The storage

final class SharedStorage<Base: AsyncSequence & Sendable>: Sendable where Base.Element: Sendable {
    private typealias Waiter = UnsafeContinuation<SharedWakeUp, Never>
    private typealias Machine = SharedStateMachine<Base.Element, Base.Failure, Waiter, Task<Void, Never>>

    private let base: Base
    private let machine: Lock<Machine>

    init(_ base: Base, buffer: Int, replay: Int) {
        self.base = base
        machine = Lock(Machine(buffer: buffer, replay: replay))
    }

    var loopCount: Int { machine.withLock { $0.loopCount } }

    var elementCount: Int { machine.withLock { $0.elementCount } }

    // MARK: Loops

    func join() -> UInt64 {
        machine.withLock { $0.join() }
    }

    /// Ends a loop. If it was the last, cancels the producer's task and returns it.
    func leave(_ number: UInt64) -> Task<Void, Never>? {
        let action = machine.withLock { $0.leave(number) }
        action.work?.cancel()
        action.stop?.resume(returning: .stop)
        action.go?.resume(returning: .go)
        return action.work
    }

    func next(_ number: UInt64) async throws(Base.Failure) -> Base.Element? {
        while !Task.isCancelled {
            switch machine.withLock({ $0.next(number) }) {
            case .deliver(let element, _, let producer):
                producer?.resume(returning: .go)
                return element
            case .finished: return nil
            case .failed(let failure): throw failure
            case .suspend(let ticket, let starts, let producer):
                if starts { start() }
                producer?.resume(returning: .go)
                _ = await wait(ticket)
            }
        }
        // A cancelled loop must neither block the others nor leave the base running.
        await leave(number)?.value
        return nil
    }

    private func wait(_ ticket: Machine.Line.Ticket) async -> SharedWakeUp {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: .cancelled)
        }
    }

    // MARK: The producer

    private func start() {
        let task = Task { await self.produce() }
        if machine.withLock({ $0.started(task) }) { task.cancel() }
    }

    private func produce() async {
        var iterator = base.makeAsyncIterator()
        do throws(Base.Failure) {
            while await mayTake() {
                guard let element = try await iterator.next(isolation: #isolation) else { break }
                // The element removed from the log is returned too, so that it isn't destroyed under the lock.
                let (waiters, _) = machine.withLock { $0.deliver(element) }
                for waiter in waiters { waiter.resume(returning: .go) }
            }
            finish(.finished)
        } catch {
            finish(.failed(error))
        }
    }

    /// Returns `false` after the last loop has left.
    private func mayTake() async -> Bool {
        await withUnsafeContinuation { (waiter: Waiter) in
            if let known = machine.withLock({ $0.produce(waiter) }) { waiter.resume(returning: known) }
        } == .go
    }

    private func finish(_ end: Machine.End) {
        for waiter in machine.withLock({ $0.finish(end) }) { waiter.resume(returning: .go) }
    }
}
