/// A value that comes once, or an error in its place, for any number of waiting tasks.
///
///     let (promise, resolver) = Promise<Image, any Error>.makePromise()
///     let image = try await promise.value       // in any number of tasks
///     resolver.succeed(image)                     // from anywhere
///
/// Tasks that have the `Promise` wait, and tasks that have its ``Resolver`` complete it. Only the first completion
/// counts; later waits return immediately. All waiting tasks get the same value or error, in the order in which they
/// started to wait.
///
/// **Abandoned.** If the last reference to the resolver goes away before it was used, the promise is completed with an
/// error, so that no task waits forever or takes it for success: with ``PromiseAbandoned`` where any error may
/// be thrown. Where the type of errors is fixed, the code that makes the promise chooses the outcome:
///
///     let (promise, resolver) = Promise<Image, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
///
/// A promise that cannot fail needs a value for it, for example `Promise<Image?, Never>` and `.success(nil)`.
///
/// **Cancellation.** `value` waits even in a cancelled task; ``valueUnlessCancelled()`` and the forms with a timeout or a deadline
/// don't. Cancelling a waiting task affects neither the promise nor other tasks.
///
/// **Cost.** O(1) for each wait. No thread is blocked for longer than a few instructions. The promise keeps
/// the value as long as there are references to it or its resolver.
public struct Promise<Value: Sendable, Failure: Error>: Sendable {
    let storage: ConditionStorage<Result<Value, Failure>>

    /// Creates a promise, its resolver, and the outcome for the case that the resolver is dropped.
    ///
    ///     let (promise, resolver) = Promise<Image, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
    ///
    /// The promise doesn't keep the resolver alive.
    public static func makePromise(
        ifAbandoned outcome: Result<Value, Failure>
    ) -> (promise: Promise, resolver: Resolver) {
        let storage = ConditionStorage<Result<Value, Failure>>()
        return (Promise(storage: storage), Resolver(storage: storage, ifAbandoned: outcome))
    }

    /// Creates a promise and its resolver; the promise fails with ``PromiseAbandoned`` if the resolver is dropped.
    ///
    ///     let (promise, resolver) = Promise<Image, any Error>.makePromise()
    ///
    /// The promise doesn't keep the resolver alive.
    public static func makePromise() -> (promise: Promise, resolver: Resolver) where Failure == any Error {
        makePromise(ifAbandoned: .failure(PromiseAbandoned()))
    }

    /// Waits for the value, even in a cancelled task.
    ///
    ///     let image = try await promise.value
    ///
    /// - Throws: The error that the promise was completed with.
    /// - Complexity: O(1). Suspends unless completed already; never blocks a thread.
    public var value: Value {
        get async throws(Failure) { try await storage.wait().get() }
    }

    /// Waits for the value or the error, even in a cancelled task.
    ///
    ///     if case .failure(let error) = await promise.result { show(error) }
    ///
    /// O(1). Suspends unless completed already; never blocks a thread.
    public var result: Result<Value, Failure> {
        get async { await storage.wait() }
    }

    /// Waits for the value, unless the task is cancelled.
    ///
    ///     let image = try await promise.valueUnlessCancelled()
    ///
    /// If the promise is completed already, its outcome is returned or thrown, even in a cancelled task. If completion
    /// and cancellation come at the same time, either may win; no other waiting task is affected.
    ///
    /// - Throws: The error that the promise was completed with; `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1). Suspends unless completed already; never blocks a thread.
    public func valueUnlessCancelled() async throws -> Value {
        guard case .completed(let result) = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return try result.get()
    }

    /// Waits for the value, but no longer than the timeout.
    ///
    ///     let image = try await promise.value(timeout: .seconds(3))
    ///
    /// It does what ``value(until:clock:)`` does with the continuous clock.
    ///
    /// - Returns: The value that the promise was completed with.
    /// - Throws: The error that the promise was completed with; ``DeadlineExceeded`` if the time is over first; `CancellationError` if
    ///   the task is cancelled first.
    /// - Complexity: O(1), and a child task while it waits, which has ended when this returns.
    public func value(timeout: Duration) async throws -> Value {
        try await value(until: .now + timeout, clock: .continuous)
    }

    /// Waits for the value, but no longer than until the deadline.
    ///
    ///     let image = try await promise.value(until: deadline, clock: clock)
    ///
    /// If the promise is completed already, its outcome is returned or thrown, even after the deadline and in a
    /// cancelled task.
    ///
    /// - Returns: The value that the promise was completed with.
    /// - Throws: The error that the promise was completed with; ``DeadlineExceeded`` if the deadline comes first;
    ///   `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1), and a child task while it waits, which has ended when this returns.
    ///   Suspends unless completed already; never blocks a thread.
    public func value<C: Clock>(until deadline: C.Instant, clock: C) async throws -> Value {
        switch await storage.wait(until: deadline, clock: clock) {
        case .completed(let result): return try result.get()
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        }
    }

    private init(storage: ConditionStorage<Result<Value, Failure>>) {
        self.storage = storage
    }
}

extension Promise where Failure == Never {
    /// Waits for the value, even in a cancelled task.
    ///
    ///     let (answer, resolver) = Promise<Int, Never>.makePromise(ifAbandoned: .success(0))
    ///     resolver.succeed(42)
    ///     print(await answer.value)
    ///
    /// O(1). Suspends unless completed already; never blocks a thread.
    public var value: Value {
        get async {
            // The other `value` would do, but Swift 6.3.1 crashes where a macro's expression uses it with `Never`.
            switch await storage.wait() {
            case .success(let value): value
            }
        }
    }
}
