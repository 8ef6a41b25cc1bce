/// A value or an error that is set once, and for which any number of tasks can wait.
///
///     let (promise, resolver) = Promise<Image, any Error>.makePromise()
///     let image = try await promise.value       // in any number of tasks
///     resolver.succeed(image)                     // from anywhere
///
/// Code that needs the value has the `Promise`, and code that provides it has the ``Resolver``. Only the first completion counts. Waiting
/// tasks are resumed in the order in which they started to wait, all with the same value or error. Later calls return immediately.
///
/// **Abandoned promises.** If the last reference to the resolver is released before the promise is completed, the promise is completed
/// with an error, so that no task waits forever. The error is ``PromiseAbandoned`` if `Failure` is `any Error`. Otherwise pass the
/// outcome when you create the promise:
///
///     let (promise, resolver) = Promise<Image, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
///
/// A promise that can't fail needs a value for this case, for example `.success(nil)` for a `Promise<Image?, Never>`.
///
/// **Cancellation.** `value` and ``result`` continue to wait in a cancelled task. ``valueUnlessCancelled()`` and the forms with a timeout
/// or a deadline throw `CancellationError`. If the promise is already completed, every form returns its value or throws its error, even in
/// a cancelled task or after the deadline.
///
/// **Cost.** O(1) for each wait. The value is kept as long as there are references to the promise or its resolver.
public struct Promise<Value: Sendable, Failure: Error>: Sendable {
    private let storage: ConditionStorage<Result<Value, Failure>>

    /// Creates a promise and its resolver. The promise is completed with `outcome` if the resolver is released unused.
    ///
    /// The promise doesn't keep the resolver alive.
    public static func makePromise(
        ifAbandoned outcome: Result<Value, Failure>
    ) -> (promise: Promise, resolver: Resolver) {
        let storage = ConditionStorage<Result<Value, Failure>>()
        return (Promise(storage: storage), Resolver(storage: storage, ifAbandoned: outcome))
    }

    /// Creates a promise and its resolver. The promise fails with ``PromiseAbandoned`` if the resolver is released unused.
    ///
    /// The promise doesn't keep the resolver alive.
    public static func makePromise() -> (promise: Promise, resolver: Resolver) where Failure == any Error {
        makePromise(ifAbandoned: .failure(PromiseAbandoned()))
    }

    /// The value. Waits until the promise is completed, even in a cancelled task.
    ///
    /// - Throws: The error that the promise was completed with.
    public var value: Value {
        get async throws(Failure) { try await storage.wait().get() }
    }

    /// The value or the error. Waits until the promise is completed, even in a cancelled task.
    ///
    ///     if case .failure(let error) = await promise.result { show(error) }
    public var result: Result<Value, Failure> {
        get async { await storage.wait() }
    }

    /// Waits for the value, unless the task is cancelled.
    ///
    /// - Throws: The error that the promise was completed with; `CancellationError` if the task is cancelled first.
    public func valueUnlessCancelled() async throws -> Value {
        guard case .completed(let result) = await storage.waitUnlessCancelled() else { throw CancellationError() }
        return try result.get()
    }

    /// Waits for the value for up to `timeout` on the continuous clock.
    ///
    /// - Throws: The error that the promise was completed with; ``DeadlineExceeded`` if the timeout passes first; `CancellationError` if
    ///   the task is cancelled first.
    public func value(timeout: Duration) async throws -> Value {
        try await value(until: ContinuousClock().deadline(after: timeout), clock: .continuous)
    }

    /// Waits for the value until a deadline.
    ///
    /// - Throws: The error that the promise was completed with; ``DeadlineExceeded`` if the deadline passes first; `CancellationError` if
    ///   the task is cancelled first.
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
    /// The value. Waits until the promise is completed, even in a cancelled task.
    ///
    ///     let (answer, resolver) = Promise<Int, Never>.makePromise(ifAbandoned: .success(0))
    ///     resolver.succeed(42)
    ///     print(await answer.value)
    public var value: Value {
        get async {
            // The other `value` would suffice, but Swift 6.3.1 crashes where the expression of a macro uses it with `Never`.
            switch await storage.wait() {
            case .success(let value): value
            }
        }
    }
}

// MARK: - The resolver

extension Promise {
    /// An object that completes a ``Promise``.
    ///
    /// Several tasks can share it, and can use it synchronously from any thread. Only the first completion counts. Each method returns
    /// whether it was the first, and is O(n) in the number of waiting tasks. If the last reference is released before a completion, the
    /// promise is completed as abandoned. A variable in scope is such a reference.
    public final class Resolver: Sendable {
        private let storage: ConditionStorage<Result<Value, Failure>>
        private let abandoned: Result<Value, Failure>

        init(storage: ConditionStorage<Result<Value, Failure>>, ifAbandoned abandoned: Result<Value, Failure>) {
            self.storage = storage
            self.abandoned = abandoned
        }

        deinit {
            storage.complete(abandoned)
        }

        /// Completes the promise with a value.
        ///
        ///     if !resolver.succeed(image) { log("another task was faster") }
        ///
        /// - Returns: Whether this was the first completion. Otherwise the value is ignored.
        @discardableResult
        public func succeed(_ value: Value) -> Bool {
            storage.complete(.success(value))
        }

        /// Completes the promise with an error, which waiting tasks throw.
        ///
        /// - Returns: Whether this was the first completion. Otherwise the error is ignored.
        @discardableResult
        public func fail(_ error: Failure) -> Bool {
            storage.complete(.failure(error))
        }

        /// Completes the promise with a value or an error.
        ///
        /// - Returns: Whether this was the first completion. Otherwise the result is ignored.
        @discardableResult
        public func complete(with result: Result<Value, Failure>) -> Bool {
            storage.complete(result)
        }

        /// Completes the promise as abandoned, as if the last reference to the resolver had been released.
        ///
        /// - Returns: Whether this was the first completion.
        @discardableResult
        public func abandon() -> Bool {
            storage.complete(abandoned)
        }
    }
}

// MARK: - Errors

/// An error thrown by a ``Promise`` if its resolver was released before it completed the promise.
///
/// To avoid it, complete the promise on every path of the code that has the resolver, including the paths that fail.
public struct PromiseAbandoned: Error, Hashable, CustomStringConvertible {
    /// Creates an error for an abandoned promise.
    public init() {}

    /// What happened and what to do, in two sentences.
    public var description: String {
        "The promise was abandoned: its resolver was released before it was used. Complete the promise on every path of your code."
    }
}
