/// Runs an operation once for all tasks that ask for the same key while it runs.
///
///     let flights = SingleFlight<URL, Image>()
///     let image = try await flights.run(for: url) { try await network.download(url) }
///
/// The first call for a key starts the operation. Calls that come while it runs wait for it, and get the same result or the
/// same error. Later calls start a new operation. Results aren't cached; for one value that is kept, use ``AsyncLazy``.
///
/// **Cancellation.** Each caller can be cancelled on its own: it gets `CancellationError` immediately, and the operation
/// goes on for the others. When the last caller leaves, the operation is cancelled, and that caller returns when the
/// operation has ended, so no operation runs without a caller. It throws even if the operation completed all the same:
/// that value is dropped. A call for the key in the meantime starts a new operation.
///
/// **Nesting.** An operation that asks for its own key deadlocks.
///
/// **Task.** The operation runs in a task of its own, on no actor, so that it outlives the caller that started it. It has
/// the priority and the task-local values of that caller. A caller that joins with a higher priority does not raise it.
///
/// **Order.** Operations of different keys are independent. Callers of one key are resumed in the order in which they came.
///
/// **Cost.** Joining, leaving and finishing are O(1) for each caller. No thread is ever blocked for longer than a few
/// instructions; hashing and comparing keys happens under the lock, so a key must not use the `SingleFlight` there.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let storage = SingleFlightStorage<Key, Value>()

    /// Creates a single flight with no operation under way.
    public init() {}

    /// The result of the operation for `key`: of the one that runs, or of `operation`, which is then started.
    ///
    ///     let image = try await flights.run(for: url) { try await network.download(url) }
    ///
    /// It waits for as long as the operation takes; to bound that, call it in `withDeadline`.
    ///
    /// - Throws: What the operation throws; `CancellationError` if the calling task is cancelled before it ends. In a task
    ///   that is cancelled already, nothing is started or joined.
    /// - Complexity: O(1) on average, and a task for the caller that starts the operation. Suspends, never blocks a thread.
    public func run(for key: Key, _ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await storage.run(key, operation)
    }

    /// How many operations a caller could join, for display: it may have changed before the caller looks at it.
    public var runningCount: Int { storage.count }

    /// Whether an operation for `key` is under way that a caller would join.
    public func isRunning(for key: Key) -> Bool { storage.isInFlight(key) }
}
