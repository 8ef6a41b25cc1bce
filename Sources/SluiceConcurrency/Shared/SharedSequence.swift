/// One iteration of a sequence, for any number of loops; each loop gets every element. See `shared(buffer:replay:)`.
///
///     let readings = sensor.readings.shared(buffer: 16)
///     for try await reading in readings { show(reading) }          // in any number of tasks
///
/// **Pace.** It is lossless, and paced by the slowest loop: an element is taken from the base sequence when a loop wants
/// one, unless another loop is `buffer` elements behind. Then the fast loop waits. So a loop that stops taking elements
/// without ending holds up the others. ``Broadcast`` is the type that never waits, and reports what a loop has missed.
///
/// **Start.** The base sequence is iterated from the first time that a loop wants an element. A loop begins when its iterator
/// is made, and gets the elements that come after that; with `replay`, also that many of the last ones. If two tasks must
/// both get the first element, use `replay`, or let the base begin later than both.
///
/// **End.** All loops get the elements before the end, and then the end. An error of the base reaches each loop once; loops
/// that start later get the replayed elements, and then the end or the error.
///
/// **Cancellation.** A loop that is cancelled, or left by `break`, `return` or an error, no longer holds up the others. When
/// the last loop leaves, the base is cancelled; a loop that is cancelled returns when the base has ended. The iteration
/// doesn't start again: loops that start later end immediately. To start again, call `shared(buffer:replay:)` again.
///
/// **Task.** The base is iterated in a task of its own, on no actor, with the priority and the task-local values of the task
/// that asks for the first element. The loops own that task: it is cancelled when no loop is left.
///
/// **Cost.** Taking an element is O(1), amortised, plus O(number of waiting loops) for the first to want it. Each element is
/// kept once, until all loops have got it. No thread is ever blocked for longer than a few instructions.
public struct SharedSequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sendable {
    /// The element of the base sequence.
    public typealias Element = Base.Element
    /// The error of the base sequence.
    public typealias Failure = Base.Failure

    let storage: SharedStorage<Base>

    init(_ base: Base, buffer: Int, replay: Int) {
        precondition(buffer >= 1, "A shared sequence needs a buffer of at least 1 element, not \(buffer).")
        precondition(replay >= 0, "A shared sequence cannot replay \(replay) elements.")
        storage = SharedStorage(base, buffer: buffer, replay: replay)
    }

    /// How many loops there are, for display: it may have changed before the caller looks at it. O(1).
    public var loopCount: Int { storage.loopCount }

    /// Makes the iterator of a loop, which begins here.
    public func makeAsyncIterator() -> Iterator {
        Iterator(loop: SharedLoop(storage))
    }

    /// Takes the elements of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        let loop: SharedLoop<Base>

        /// The next element; nil at the end, or if the task is cancelled.
        ///
        /// A loop that was cancelled has ended: it gets nil from then on.
        ///
        /// - Throws: The error of the base, once, after the elements that came before it.
        /// - Complexity: O(1), amortised. Suspends until there is an element; never blocks a thread.
        public mutating func next() async throws(Base.Failure) -> Base.Element? {
            try await loop.storage.next(loop.number)
        }

        /// The next element; nil at the end, or if the task is cancelled.
        ///
        /// - Throws: The error of the base, once, after the elements that came before it.
        /// - Complexity: O(1), amortised. Suspends until there is an element; never blocks a thread.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Base.Element? {
            try await loop.storage.next(loop.number)
        }
    }
}

/// One loop, which leaves when its iterator is gone.
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
