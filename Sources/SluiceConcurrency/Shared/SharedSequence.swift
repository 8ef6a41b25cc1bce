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
