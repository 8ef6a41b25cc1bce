public import SluiceLock

/// A value that any number of tasks can change and observe. Observers see the newest value, not every value.
///
///     let progress = CurrentValue(Progress())
///     progress.update { $0.bytes += chunk.count }                   // synchronous, from any thread
///
///     for await progress in progress.values { show(progress) }      // the current value first
///
/// It is like a `CurrentValueSubject` of Combine that drops intermediate values, or a watch channel of tokio.
///
/// **Order.** A subscriber receives the current value first, and then the newest value whenever it changes: never an older value, and never
/// the same change twice. It skips values that were replaced before it received them. If every value matters, use a ``Broadcast``.
///
/// **Cancellation.** A subscriber that is cancelled or leaves its loop is removed immediately. Other subscribers aren't affected.
///
/// **End.** After ``finish()``, subscribers receive the newest value, unless they have received it, and then the end. Releasing the last
/// reference has the same effect; ``values`` doesn't keep the object alive.
///
/// **Cost.** Reading is O(1), and changing O(n) in the number of waiting subscribers. A subscriber uses memory only while it waits, and a
/// constant amount. A change and ``finish()`` hold the lock while they take the waiting subscribers out of their line; ``update(_:)`` also
/// holds it while it runs its body. All other operations hold it for a few instructions.
public final class CurrentValue<Value: Sendable>: Sendable {
    @usableFromInline let storage: CurrentValueStorage<Value>

    /// Creates an object that holds a value.
    @inlinable
    public init(_ value: Value) {
        storage = CurrentValueStorage(value)
    }

    @inlinable
    deinit {
        storage.finish()
    }

    // MARK: The value

    /// The current value. Setting it notifies all subscribers, even if the new value is equal to the old one.
    ///
    /// To make a change that depends on the old value, use ``update(_:)``: `count.value += 1` reads and sets in two steps, and another task
    /// can change the value between them. The old value is destroyed after unlocking, so its `deinit` may use this object.
    @inlinable
    public var value: Value {
        get { storage.value }
        set { storage.replace(with: newValue) }
    }

    /// Changes the value in one step and notifies all subscribers.
    ///
    ///     let next = tickets.update { count in
    ///         count += 1
    ///         return count
    ///     }
    ///
    /// The body runs under the lock. It must be short, and it must not use this object: that traps. The old value is destroyed after
    /// unlocking, so its `deinit` may use this object. Values that the body itself creates and releases are destroyed under the lock.
    ///
    /// The body works on a copy of the value. A body that changes one element of an array therefore copies the array.
    ///
    /// - Returns: The result of the body.
    /// - Throws: The body's error. The value is then unchanged, and subscribers aren't notified.
    /// - Complexity: O(n) in the number of waiting subscribers. Other users of this object are blocked while the body runs.
    @discardableResult @inlinable
    public func update<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.update(body)
    }

    /// Ends the loops of all subscribers after they have received the newest value.
    ///
    /// Later subscribers receive the value at the time of their subscription, and then the end. The value can still be read and changed.
    /// Calling this method again has no effect. O(n) in the number of waiting subscribers.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Observing

    /// An asynchronous sequence of the current value and, after each change, the newest value.
    ///
    ///     for await state in connection.state.values { show(state) }
    ///     let ready = await connection.state.values.first { $0.isReady }        // waits for a value; nil if none comes
    ///
    /// Any number of tasks can iterate the sequence. Each loop is a separate subscriber and starts with the value at that time. A value
    /// that is replaced before a subscriber receives it is skipped, even by `first(where:)`. To show the value in a user interface, use
    /// ``Latest``.
    @inlinable
    public var values: Values { Values(storage: storage) }
}

// MARK: - Values

extension CurrentValue {
    /// The type of ``CurrentValue/values``.
    public struct Values: AsyncSequence, Sendable {
        /// The sequence doesn't throw.
        public typealias Failure = Never

        @usableFromInline let storage: CurrentValueStorage<Value>

        @inlinable
        init(storage: CurrentValueStorage<Value>) {
            self.storage = storage
        }

        /// Creates an iterator, which is a separate subscriber.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// An iterator over the newest values.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let storage: CurrentValueStorage<Value>
            /// The last change that this iterator has received; 0 before the first.
            @usableFromInline var seen: UInt64 = 0

            @inlinable
            init(storage: CurrentValueStorage<Value>) {
                self.storage = storage
            }

            /// Waits for a value newer than the last one, and returns it; returns `nil` at the end or if the task is cancelled. O(1).
            @inlinable
            public mutating func next() async -> Value? {
                await storage.next(after: &seen)
            }

            /// Waits for a newer value in the isolation of `actor`; otherwise like `next()`.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
                await storage.next(after: &seen)
            }
        }
    }
}

// MARK: - The state machine

/// A value, the number of its changes, and the subscribers that wait for the next change.
///
/// It resumes no task. Each subscriber stores its only state itself: the number of the last change that it has received.
@usableFromInline
struct CurrentValueStateMachine<Value: Sendable, Waiter: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Waiter, CurrentValueWakeUp>

    @usableFromInline
    enum NextAction: Sendable {
        case deliver(Value, version: UInt64)
        case finished
        case suspend(Line.Ticket)
    }

    @usableFromInline var value: Value
    @usableFromInline var version: UInt64 = 1
    @usableFromInline var isFinished = false
    @usableFromInline var line = Line()

    @inlinable
    init(_ value: Value) {
        self.value = value
    }

    /// The caller destroys the old value after unlocking. The waiting subscribers look again.
    @inlinable
    mutating func replace(with new: Value) -> (old: Value, waiters: [Waiter]) {
        let old = value
        value = new
        if !isFinished { version += 1 }
        return (old, line.isEmpty ? [] : line.settleAll(.lookAgain))
    }

    @inlinable
    mutating func finish() -> [Waiter] {
        isFinished = true
        return line.settleAll(.lookAgain)
    }

    /// Returns the newest value if the subscriber hasn't received it, or adds the subscriber to the line. 0 stands for no change.
    @inlinable
    mutating func next(after seen: UInt64) -> NextAction {
        if version != seen { return .deliver(value, version: version) }
        return isFinished ? .finished : .suspend(line.join())
    }

    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> CurrentValueWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// Returns the continuation of a cancelled subscriber, which the caller resumes with `.cancelled`.
    @inlinable
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }
}

@usableFromInline
enum CurrentValueWakeUp: Hashable, Sendable {
    /// The value has changed or the loops end: the subscriber calls `next` again.
    case lookAgain
    case cancelled
}

// MARK: - The storage

@usableFromInline
final class CurrentValueStorage<Value: Sendable>: Sendable {
    @usableFromInline typealias Waiter = UnsafeContinuation<CurrentValueWakeUp, Never>
    @usableFromInline typealias Machine = CurrentValueStateMachine<Value, Waiter>

    @usableFromInline let machine: Lock<Machine>

    @inlinable
    init(_ value: Value) {
        machine = Lock(Machine(value))
    }

    @inlinable var value: Value { machine.withLock { $0.value } }

    @inlinable
    func replace(with new: Value) {
        // The old value is returned too, so that it isn't destroyed under the lock.
        let (_, waiters) = machine.withLock { $0.replace(with: new) }
        for waiter in waiters { waiter.resume(returning: .lookAgain) }
    }

    @inlinable
    func update<Outcome, Failure: Error>(_ body: (inout Value) throws(Failure) -> Outcome) throws(Failure) -> Outcome {
        var outcome: Result<Outcome, Failure>?
        // The unused value is returned too, so that it isn't destroyed under the lock: the old one, or the changed one if the
        // body throws.
        let (_, waiters) = machine.withLock { machine -> (Value, [Waiter]) in
            var changed = machine.value
            do throws(Failure) {
                outcome = .success(try body(&changed))
            } catch {
                outcome = .failure(error)
                return (changed, [])
            }
            return machine.replace(with: changed)
        }
        for waiter in waiters { waiter.resume(returning: .lookAgain) }
        guard let outcome else { preconditionFailure("An update must have an outcome.") }
        return try outcome.get()
    }

    @inlinable
    func finish() {
        for waiter in machine.withLock({ $0.finish() }) { waiter.resume(returning: .lookAgain) }
    }

    /// Sets `seen` to the number of the returned change.
    @inlinable
    func next(after seen: inout UInt64) async -> Value? {
        while !Task.isCancelled {
            let known = seen
            switch machine.withLock({ $0.next(after: known) }) {
            case .deliver(let value, let version):
                seen = version
                return value
            case .finished: return nil
            case .suspend(let ticket): if await wait(ticket) == .cancelled { return nil }
            }
        }
        return nil
    }

    @inlinable
    func wait(_ ticket: Machine.Line.Ticket) async -> CurrentValueWakeUp {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: .cancelled)
        }
    }
}
