/// A value that asynchronous work makes when it is first needed, and that is then kept.
///
///     let database = AsyncLazy { try await Database.open(url) }
///
///     let songs = try await database.value.songs()        // in any number of tasks
///
/// The first caller of ``value`` runs the work on its own task and its isolation. Callers that come while it runs wait. All
/// get the value, and later calls return it without waiting.
///
/// | | the value is made by | what is kept |
/// |---|---|---|
/// | `AsyncLazy` | the first caller's task | the value, as long as the `AsyncLazy` exists |
/// | ``SingleFlight`` | a task for each key, which its callers share | nothing |
/// | ``Promise`` | other code, with the promise's resolver | the value or the error |
///
/// **Errors.** A caller gets the error of its own attempt. The waiting callers don't get that error: the one that has waited
/// longest tries next. So each caller runs the work at most once, and errors aren't kept.
///
/// **Cancellation.** Cancelling the caller that runs the work cancels the work, as far as it responds to that; if it fails,
/// the next waiting caller tries. A waiting caller that is cancelled leaves with `CancellationError`; the others don't
/// notice. In a task that is cancelled already, ``value`` starts nothing, but returns a value that is there.
///
/// **Nesting.** Work that asks for its own value deadlocks.
///
/// **Order.** Waiting callers try in the order in which they came. A waiting caller with a higher priority doesn't raise the
/// priority of the one that runs the work.
///
/// **Cost.** O(1) for each caller. No task is created, and no thread is blocked for longer than a few instructions. What the
/// work captures is released when the value is there.
public final class AsyncLazy<Value: Sendable>: Sendable {
    private let storage: LazyStorage<Value>

    /// Keeps the work for later; it doesn't run before a task asks for ``value``.
    ///
    ///     let database = AsyncLazy { try await Database.open(url) }
    public init(_ work: @escaping @Sendable () async throws -> Value) {
        storage = LazyStorage(work)
    }

    /// The value; the first caller makes it, and callers that come meanwhile wait for it.
    ///
    ///     let database = try await database.value
    ///
    /// - Throws: What the work throws, if this caller runs it; `CancellationError` if the task is cancelled while it waits,
    ///   or was cancelled already and there is no value.
    /// - Complexity: O(1), and the work's for the caller that runs it. Suspends unless there is a value; never blocks a
    ///   thread.
    public var value: Value {
        get async throws { try await storage.value() }
    }

    /// The value if it is there; nil before that. It starts nothing. O(1); never suspends.
    ///
    ///     database.valueIfLoaded?.close()
    public var valueIfLoaded: Value? { storage.valueIfLoaded }
}
