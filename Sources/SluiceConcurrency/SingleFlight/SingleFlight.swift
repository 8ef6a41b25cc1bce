/// Runs an operation once for all who ask for the same key at the same time.
///
///     let flights = SingleFlight<URL, Picture>()
///     let picture = try await flights.run(for: url) { try await network.download(url) }
///
/// The first to ask for a key starts the operation; those who ask while it runs wait for it and get the same result or the
/// same error. Who asks later starts it anew: nothing is kept, this is no cache.
///
/// **Cancellation.** Each caller can be cancelled on its own: it gets `CancellationError` at once, and the operation goes
/// on for the others. When the last caller leaves, the operation is cancelled, and that caller returns when it has ended:
/// nothing is left running that nobody waits for. It throws even if the operation completed all the same: that value is
/// dropped. Who asks for the key in the meantime starts a new operation.
///
/// **Nesting.** An operation that asks for its own key waits for itself, for ever.
///
/// **Task.** The operation runs in a task of its own, on no actor, so that it outlives the caller who started it. It has
/// the priority and the task-local values of that caller. Whoever joins with a higher priority does not raise it: start what
/// is urgent at its priority, or let the operation run at one that suits all.
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
    ///     let picture = try await flights.run(for: url) { try await network.download(url) }
    ///
    /// It waits for as long as the operation takes; to bound that, cancel the calling task.
    ///
    /// - Throws: What the operation throws; `CancellationError` if the calling task is cancelled before it ends. In a task
    ///   that is cancelled already, nothing is started or joined.
    /// - Complexity: O(1) on average, and a task for the caller who starts the operation. Suspends, never blocks a thread.
    public func run(for key: Key, _ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await storage.run(key, operation)
    }

    /// How many operations a caller could join, for display: it may have changed before the caller looks at it.
    public var running: Int { storage.count }

    /// Whether an operation for `key` is under way that a caller would join.
    public func isRunning(for key: Key) -> Bool { storage.isInFlight(key) }
}
