extension Promise {
    /// Completes the ``Promise`` that it was made with.
    ///
    ///     let (promise, resolver) = Promise<Image, any Error>.makePromise()
    ///     resolver.succeed(image)
    ///
    /// Tasks may share it, and use it from anywhere, synchronously. Only the first completion counts; each call
    /// returns whether it was the first. When the last reference goes away unused, the promise is completed as abandoned;
    /// a variable that is still in scope is a reference.
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

        /// Completes the promise with a value, for all tasks that wait now or later.
        ///
        ///     if !resolver.succeed(image) { log("another task was faster") }
        ///
        /// - Returns: Whether this was the first completion; otherwise the value is not used.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func succeed(_ value: Value) -> Bool {
            storage.complete(.success(value))
        }

        /// Completes the promise with an error, which all tasks that wait now or later throw.
        ///
        ///     resolver.fail(LoadError.notFound)
        ///
        /// - Returns: Whether this was the first completion; otherwise the error is not used.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func fail(_ error: Failure) -> Bool {
            storage.complete(.failure(error))
        }

        /// Completes the promise with a value or an error, for all tasks that wait now or later.
        ///
        ///     resolver.complete(with: result)
        ///
        /// - Returns: Whether this was the first completion; otherwise the result is not used.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func complete(with result: Result<Value, Failure>) -> Bool {
            storage.complete(result)
        }

        /// Completes the promise as abandoned, as if the last reference had gone away unused.
        ///
        ///     resolver.abandon()
        ///
        /// - Returns: Whether this was the first completion.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func abandon() -> Bool {
            storage.complete(abandoned)
        }
    }
}
