/// Runs an operation once for all concurrent calls with the same key.
///
///     let flights = SingleFlight<URL, Image>()
///     let image = try await flights.run(for: url) { try await network.download(url) }
///
/// The first call for a key starts the operation. Calls that arrive while it runs wait for it and get the same value or error. Later calls
/// start a new operation. Results aren't cached; for one value that is kept, use ``AsyncLazy``.
///
/// **Cancellation.** A cancelled caller throws `CancellationError` immediately, and the operation continues for the others. If the last
/// remaining caller is cancelled, the operation is cancelled too, and the caller waits until it has ended. The caller throws even if the
/// operation still completes; the value is dropped. A call for the key in the meantime starts a new operation.
///
/// **Deadlocks.** An operation that calls ``run(for:_:)`` with its own key deadlocks.
///
/// **Task.** An unstructured task runs the operation, outside any actor, so that the operation can outlive the caller that started it. It
/// has the priority and the task-local values of that caller. A later caller of higher priority raises it, and so does a waiting caller
/// whose priority is raised. When that caller leaves, the task keeps its priority. On Apple's systems before version 26, only the first
/// caller's priority counts.
///
/// **Order.** Operations of different keys are independent. The callers of one key are resumed in the order of their calls.
///
/// **Cost.** Joining, leaving and finishing are O(1) for each caller. Keys are hashed and compared under the lock, where a key must not use
/// the `SingleFlight`. A key that isn't equal to itself, such as a NaN, traps.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let storage = SingleFlightStorage<Key, Value>()

    /// Creates an object without running operations.
    public init() {}

    /// Returns the result of the running operation for `key`, or starts `operation` and returns its result.
    ///
    /// To limit the wait, call this method in `withDeadline`.
    ///
    /// - Throws: The operation's error; `CancellationError` if the calling task is cancelled before the operation ends. In a task that is
    ///   already cancelled, this method doesn't start or join an operation.
    /// - Complexity: O(1) on average, and one task for each operation.
    public func run(for key: Key, _ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await storage.run(key, operation)
    }

    /// The number of running operations that a call could join, for display: it may change before the caller reads it.
    public var runningCount: Int { storage.count }

    /// Whether there is a running operation for `key` that a call would join, for display: it may change before the caller reads it.
    public func isRunning(for key: Key) -> Bool { storage.isInFlight(key) }

    /// The highest priority of the callers for `key` so far, or `nil` if there is no running operation that a call would join.
    package func priority(for key: Key) -> TaskPriority? { storage.priority(key) }
}
