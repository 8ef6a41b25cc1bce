/// A value that comes once, or an error in its place, and that any number of tasks can wait for.
///
///     let (promise, resolver) = Promise<Picture, any Error>.makePromise()
///     let picture = try await promise.value       // in any number of tasks
///     resolver.succeed(picture)                   // from anywhere
///
/// Waiting is for those who hold the `Promise`, completing it for those who hold its ``Resolver``. The first completion
/// counts; from then on waiting returns at once. All who wait get the same value or error, in the order in which they
/// came.
///
/// **Abandoned.** If the last reference to the resolver goes away before it was used, the promise is completed with an
/// error, so that no one waits for ever and no one takes it for success: with ``PromiseAbandoned`` where any error may
/// be thrown. Where the type of errors is fixed, whoever makes the promise says what stands for that:
///
///     let (promise, resolver) = Promise<Picture, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
///
/// A promise that cannot fail needs a value for it, for example `Promise<Picture?, Never>` and `.success(nil)`. So
/// there is no hidden way to end that the types do not show.
///
/// **Cancellation.** `value` waits even in a cancelled task; ``valueUnlessCancelled()`` does not. Cancelling one who
/// waits affects neither the promise nor the others.
///
/// **Cost.** O(1) for each who waits. No thread is ever blocked for longer than a few instructions. The promise keeps
/// the value as long as there are references to it or its resolver.
public struct Promise<Value: Sendable, Failure: Error>: Sendable {
    let storage: ConditionStorage<Result<Value, Failure>>

    /// Makes a promise, the resolver that completes it, and says what it is completed with if the resolver is dropped.
    ///
    ///     let (promise, resolver) = Promise<Picture, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
    ///
    /// The promise does not keep the resolver alive.
    public static func makePromise(
        ifAbandoned outcome: Result<Value, Failure>
    ) -> (promise: Promise, resolver: Resolver) {
        let storage = ConditionStorage<Result<Value, Failure>>()
        return (Promise(storage: storage), Resolver(storage: storage, ifAbandoned: outcome))
    }

    /// Makes a promise, and the resolver that completes it; it fails with ``PromiseAbandoned`` if the resolver is
    /// dropped.
    ///
    ///     let (promise, resolver) = Promise<Picture, any Error>.makePromise()
    ///
    /// The promise does not keep the resolver alive.
    public static func makePromise() -> (promise: Promise, resolver: Resolver) where Failure == any Error {
        makePromise(ifAbandoned: .failure(PromiseAbandoned()))
    }

    /// Waits for the value, even in a cancelled task.
    ///
    ///     let picture = try await promise.value
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
    ///     let picture = try await promise.valueUnlessCancelled()
    ///
    /// If the promise is completed already, that is what is returned or thrown, even in a cancelled task. If completion
    /// and cancellation come at the same time, either may win; no other waiter is affected.
    ///
    /// - Throws: The error that the promise was completed with; `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1). Suspends unless completed already; never blocks a thread.
    public func valueUnlessCancelled() async throws -> Value {
        guard case .completed(let result) = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return try result.get()
    }

    /// Waits for the value until the deadline comes or the task is cancelled.
    ///
    ///     let picture = try await promise.value(until: deadline, clock: clock) ?? placeholder
    ///
    /// If the promise is completed already, that is what is returned or thrown, even after the deadline and in a
    /// cancelled task.
    ///
    /// - Returns: The value; nil if the deadline came first.
    /// - Throws: The error that the promise was completed with; `CancellationError` if the task is cancelled first.
    /// - Complexity: O(1), and a child task, which has ended when this returns, if there is something to wait for.
    ///   Suspends unless completed already; never blocks a thread.
    public func value<C: Clock>(until deadline: C.Instant, clock: C) async throws -> Value? {
        switch await storage.wait(until: deadline, clock: clock) {
        case .completed(let result): return try result.get()
        case .expired: return nil
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
