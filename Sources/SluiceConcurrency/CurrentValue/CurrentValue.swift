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
/// the same change twice. It skips values that were replaced meanwhile. If every value matters, use a ``Broadcast``.
///
/// **Cancellation.** A subscriber that is cancelled or leaves its loop is removed immediately. Other subscribers aren't affected.
///
/// **End.** After ``finish()``, subscribers receive the newest value, unless they have received it, and then the end. Releasing the last
/// reference has the same effect; ``values`` doesn't keep the object alive.
///
/// **Cost.** Reading is O(1), and changing O(n) in the number of waiting subscribers. A subscriber uses memory only while it waits, and a
/// constant amount. A change and ``finish()`` hold the lock while they take the waiting subscribers out of their line, and ``update(_:)``
/// while it runs its body. All other operations hold it for a few instructions.
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

    /// The current value. Setting it informs all subscribers, even if the new value is equal to the old one.
    ///
    /// To make a change that depends on the old value, use ``update(_:)``: `count.value += 1` reads and sets in two steps, and another task
    /// can change the value between them. The old value is destroyed after unlocking, so its `deinit` may use this object.
    @inlinable
    public var value: Value {
        get { storage.value }
        set { storage.replace(with: newValue) }
    }

    /// Changes the value in one step and informs all subscribers.
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
    /// - Throws: The body's error. The value is then unchanged, and subscribers aren't informed.
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

    // MARK: Following it

    /// An asynchronous sequence of the current value and, after each change, the newest value.
    ///
    ///     for await state in connection.state.values { show(state) }
    ///     let ready = await connection.state.values.first { $0.isReady }        // waits for a value; nil if none comes
    ///
    /// Any number of tasks can iterate the sequence. Each loop is a separate subscriber and starts with the value at that time. A value
    /// that is replaced before a subscriber receives it is skipped, also by `first(where:)`. To show the value in a user interface, use
    /// `Latest` of SluiceObservation.
    @inlinable
    public var values: Values { Values(storage: storage) }
}
