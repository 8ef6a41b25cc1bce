/// A value that asynchronous work creates when it is first needed, and that is then kept.
///
///     let database = AsyncLazy { try await Database.open(url) }
///
///     let songs = try await database.value.songs()        // in any number of tasks
///
/// The first caller of ``value`` runs the work in its own task and isolation. Other callers wait meanwhile. All of them get the value,
/// and later calls return it without waiting.
///
/// | | the value is created by | kept |
/// |---|---|---|
/// | `AsyncLazy` | the first caller's task | the value, as long as the `AsyncLazy` exists |
/// | ``SingleFlight`` | one task for each key, which its callers share | nothing |
/// | ``Promise`` | other code, with the promise's resolver | the value or the error |
///
/// **Errors.** An error is thrown only to the caller that ran the work. The task that has waited longest then runs the work again. So each
/// caller runs the work at most once, and errors aren't kept.
///
/// **Cancellation.** Cancelling the caller that runs the work cancels the work. If the work fails because of that, the next waiting task
/// runs it. A waiting task that is cancelled throws `CancellationError`; other tasks aren't affected. In a task that is already
/// cancelled, ``value`` returns the value if there is one, and doesn't run the work.
///
/// **Deadlocks.** Work that waits for its own value deadlocks.
///
/// **Order.** Waiting tasks run the work in the order in which they started to wait. A waiting task of higher priority doesn't raise the
/// priority of the task that runs the work.
///
/// **Cost.** O(1) for each caller. No task is created. The work and its captured values are released when there is a value.
public final class AsyncLazy<Value: Sendable>: Sendable {
    private let storage: LazyStorage<Value>

    /// Creates a lazy value. The work doesn't run before the first call of ``value``.
    public init(_ work: @escaping @Sendable () async throws -> Value) {
        storage = LazyStorage(work)
    }

    /// The value. The first caller creates it, and other callers wait for it.
    ///
    /// - Throws: The work's error, if this caller runs it; `CancellationError` if there is no value and the task is cancelled.
    public var value: Value {
        get async throws { try await storage.value() }
    }

    /// The value if it has been created; otherwise `nil`. Doesn't run the work. O(1).
    public var valueIfLoaded: Value? { storage.valueIfLoaded }
}
