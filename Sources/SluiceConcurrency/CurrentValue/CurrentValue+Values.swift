extension CurrentValue {
    /// The type of ``CurrentValue/values``.
    public struct Values: AsyncSequence, Sendable {
        /// The sequence doesn't throw.
        public typealias Failure = Never

        @usableFromInline let storage: CurrentValueStorage<Value>

        @inlinable
        init(storage: CurrentValueStorage<Value>) {
            self.storage = storage
        }

        /// Creates an iterator, which is a separate subscriber.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// An iterator over the newest values.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let storage: CurrentValueStorage<Value>
            /// The last change that this iterator has received; 0 before the first.
            @usableFromInline var seen: UInt64 = 0

            @inlinable
            init(storage: CurrentValueStorage<Value>) {
                self.storage = storage
            }

            /// Waits for a value newer than the last one, and returns it; returns `nil` at the end or if the task is cancelled. O(1).
            @inlinable
            public mutating func next() async -> Value? {
                await storage.next(after: &seen)
            }

            /// Waits for a newer value in the isolation of `actor`; otherwise like `next()`.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
                await storage.next(after: &seen)
            }
        }
    }
}
