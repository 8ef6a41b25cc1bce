/// A value that any number of tasks change and follow; a task that follows it sees the newest value, not every one.
///
///     let progress = CurrentValue(Progress())
///     progress.update { $0.bytes += chunk.count }                   // synchronous, from any thread
///
///     for await progress in progress.values { show(progress) }      // the present one first
///
/// **Order.** A subscriber gets the present value, and then the newest each time there is a newer one than it has seen:
/// never the same change twice, and never an older one after a newer. It doesn't see values that come and go in between. If
/// every single one counts, use a ``Broadcast``.
///
/// **Cancellation.** A subscriber that is cancelled, or leaves its loop, is forgotten immediately. The others don't notice.
///
/// **End.** After ``finish()`` subscribers get the newest value, unless they have seen it, and then the end. Dropping the
/// last reference does the same: ``values`` does not keep it alive.
///
/// **Cost.** Reading is O(1), changing O(number of waiting subscribers). A subscriber costs nothing while it does not wait,
/// and a constant amount of memory while it does, however often the value changes. No thread is ever blocked for longer
/// than a few instructions, except during ``update(_:)``, which runs its body under the lock.
public final class CurrentValue<Value: Sendable>: Sendable {
    @usableFromInline let storage: CurrentValueStorage<Value>

    /// Holds a value.
    @inlinable
    public init(_ value: Value) {
        storage = CurrentValueStorage(value)
    }

    @inlinable
    deinit {
        storage.finish()
    }

    // MARK: The value

    /// The present value; setting it tells all subscribers.
    ///
    ///     status.value = .paused
    ///
    /// Setting it is a change also if the new value is equal to the old one. The old value is destroyed after the lock was
    /// given back, so its `deinit` may use this object. To make a change that depends on the old value, use ``update(_:)``:
    /// `count.value += 1` reads and sets in two steps, and another task may come between them.
    ///
    /// O(1), and O(number of waiting subscribers) to set; never suspends.
    @inlinable
    public var value: Value {
        get { storage.value }
        set { storage.replace(with: newValue) }
    }

    /// Changes the value in one step, and tells all subscribers.
    ///
    ///     let next = tickets.update { count in
    ///         count += 1
    ///         return count
    ///     }
    ///
    /// The body runs under the lock: keep it short, and do not use this object in it, which traps. No other task sees the
    /// value half changed. The old value lives until the lock was given back, so its `deinit` may use this object (what the body
    /// itself makes and drops again ends under the lock); the body works on a copy, so that a body which
    /// changes one element of an array copies the array.
    ///
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; the value is then as it was before, and no subscriber is told.
    /// - Complexity: The body's, and O(number of waiting subscribers). Never suspends; other tasks that use this object are
    ///   held up while the body runs.
    @discardableResult @inlinable
    public func update<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.update(body)
    }

    /// Ends the loops: subscribers get the newest value unless they have seen it, and then the end.
    ///
    /// Later subscribers get the value of that moment, and the end. It can still be read and changed. Calling it again does
    /// nothing. O(number of waiting subscribers); never suspends.
    @inlinable
    public func finish() {
        storage.finish()
    }

    // MARK: Following it

    /// The present value, and then the newest whenever it has changed.
    ///
    ///     for await state in connection.state.values { show(state) }
    ///     let ready = await connection.state.values.first { $0.isReady }        // waits for a value; nil if none comes
    ///
    /// Any number of tasks may iterate it: each loop is a subscriber of its own, and starts with the value of that moment. A
    /// value that is gone before the subscriber looks is skipped, also by `first(where:)`. The sequence does not keep this
    /// object alive. For a user interface, `Latest` of SluiceObservation mirrors it.
    @inlinable
    public var values: Values { Values(storage: storage) }
}
