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

        /// Completes the promise as abandoned, as the release of the last reference does.
        ///
        /// - Returns: Whether this was the first completion.
        @discardableResult
        public func abandon() -> Bool {
            storage.complete(abandoned)
        }
    }
}
