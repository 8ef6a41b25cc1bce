extension Promise {
    /// Completes the ``Promise`` that it was made with.
    ///
    ///     let (promise, resolver) = Promise<Picture, any Error>.makePromise()
    ///     resolver.succeed(picture)
    ///
    /// It may be shared between tasks, and used from anywhere, synchronously. Only the first completion counts; each call
    /// tells whether it was that. When the last reference goes away unused, the promise is completed as abandoned;
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

        /// Gives all who wait, and all who will, the value.
        ///
        ///     if !resolver.succeed(picture) { log("another task was faster") }
        ///
        /// - Returns: Whether this was the first completion; otherwise the value is not used.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func succeed(_ value: Value) -> Bool {
            storage.complete(.success(value))
        }

        /// Throws the error in all who wait, and in all who will.
        ///
        ///     resolver.fail(LoadError.notFound)
        ///
        /// - Returns: Whether this was the first completion; otherwise the error is not used.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func fail(_ error: Failure) -> Bool {
            storage.complete(.failure(error))
        }

        /// Gives all who wait, and all who will, the value or the error.
        ///
        ///     resolver.complete(with: result)
        ///
        /// - Returns: Whether this was the first completion; otherwise the result is not used.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func complete(with result: Result<Value, Failure>) -> Bool {
            storage.complete(result)
        }

        /// Says that there will be no value: completes the promise as if the last reference had gone away unused.
        ///
        /// - Returns: Whether this was the first completion.
        /// - Complexity: O(number of waiting tasks). Never suspends, and blocks for no longer than a few instructions.
        @discardableResult
        public func abandon() -> Bool {
            storage.complete(abandoned)
        }
    }
}
