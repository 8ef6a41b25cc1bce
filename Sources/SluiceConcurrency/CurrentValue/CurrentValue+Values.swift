extension CurrentValue {
    /// A value as it changes; see ``CurrentValue/values``.
    public struct Values: AsyncSequence, Sendable {
        /// Iterating cannot fail.
        public typealias Failure = Never

        @usableFromInline let storage: CurrentValueStorage<Value>

        @inlinable
        init(storage: CurrentValueStorage<Value>) {
            self.storage = storage
        }

        /// Makes an iterator, which is a subscriber of its own.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// Follows the value for one subscriber.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let storage: CurrentValueStorage<Value>
            /// The number of the change that it has seen; 0 before the first.
            @usableFromInline var seen: UInt64 = 0

            @inlinable
            init(storage: CurrentValueStorage<Value>) {
                self.storage = storage
            }

            /// The newest value, as soon as it is newer than the last; nil at the end, or if the task is cancelled.
            ///
            /// - Complexity: O(1). Suspends if there is no newer value; never blocks a thread.
            @inlinable
            public mutating func next() async -> Value? {
                await storage.next(after: &seen)
            }

            /// The newest value, as soon as it is newer than the last; nil at the end, or if the task is cancelled.
            ///
            /// - Complexity: O(1). Suspends if there is no newer value; never blocks a thread.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
                await storage.next(after: &seen)
            }
        }
    }
}
