import Observation

/// Returns a sequence of the values of an expression: its value now, and its new value after each change of the observable objects that it
/// reads.
///
///     let counts = observed { playlist.songs.count }
///     for await count in counts { badge.text = "\(count)" }
///
/// The expression is evaluated by the loop, in the loop's isolation. It can read any properties of `@Observable` objects, and all of them
/// are tracked, as in the body of a view.
///
/// **Changes** between two elements are combined, so the loop gets the newest value and may miss values in between. If a change doesn't
/// affect the value of the expression, the loop gets an equal element. To skip equal elements, compare each one with the last.
///
/// **Isolation.** Observation reports a change *before* it happens. The loop then waits its turn on its actor, and evaluates the expression
/// after the code that changes the object has finished or suspended. So change the objects on the actor that the loop runs on, such as the
/// main actor. If code changes them elsewhere, the loop may read the old value and miss the change.
///
/// **End.** The sequence ends when the loop's task is cancelled, or when all objects that the expression has read are gone. An expression
/// that reads no observable property has one value. The sequence keeps alive the objects that the expression captures strongly.
///
/// It's like the standard library's `Observations` (SE-0475), which requires Apple's 2025 system releases.
///
/// - Complexity: Each element costs one evaluation of the expression, and O(n) in the number of properties that it reads.
public func observed<Value>(_ expression: @escaping () -> Value) -> ObservedSequence<Value> {
    ObservedSequence(expression: expression)
}

/// A sequence of the values of an expression over observable objects. See ``observed(_:)``.
///
///     let titles = observed { player.song?.title }
///     for await title in titles { window.title = title ?? "" }
///
/// Each loop evaluates the expression on its own, so every loop starts with the current value.
public struct ObservedSequence<Value>: AsyncSequence {
    /// The value of the expression.
    public typealias Element = Value
    /// The sequence never fails.
    public typealias Failure = Never

    let expression: () -> Value

    /// Creates an iterator. It evaluates the expression first when `next()` is called.
    public func makeAsyncIterator() -> Iterator {
        Iterator(expression: expression)
    }

    /// An iterator over the values of an expression.
    public struct Iterator: AsyncIteratorProtocol {
        let expression: () -> Value
        /// Signalled before the first change of a property that the last evaluation has read, and abandoned when the last of the objects is
        /// destroyed.
        private var change: Condition?

        init(expression: @escaping () -> Value) {
            self.expression = expression
        }

        /// Returns the value of the expression: on the first call immediately, and on later calls after a change. Returns `nil` if the task
        /// is cancelled or no change can come.
        public mutating func next() async -> Value? {
            await next(isolation: #isolation)
        }

        /// Like `next()`, in the isolation of `actor`, which evaluates the expression.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
            if let change {
                guard (try? await change.waitUnlessCancelled()) == .signalled else { return nil }
            }
            guard !Task.isCancelled else { return nil }
            let (condition, signal) = Condition.makeCondition()
            change = condition
            return withObservationTracking(expression) { signal.signal() }
        }
    }
}
