extension AsyncQueue {
    /// The type of ``AsyncQueue/elements``.
    public struct Elements: AsyncSequence, Sendable {
        /// The sequence doesn't throw.
        public typealias Failure = Never

        @usableFromInline let storage: Storage

        @inlinable
        init(storage: Storage) {
            self.storage = storage
        }

        /// Creates an iterator. Several tasks can iterate concurrently, each with its own iterator.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// An iterator that removes elements from the queue.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let storage: Storage

            @inlinable
            init(storage: Storage) {
                self.storage = storage
            }

            /// Removes and returns the next element, or returns `nil` if the queue is finished and empty or the task is cancelled.
            ///
            /// A cancelled task gets `nil` even if the queue has elements. They remain for the other consumers.
            @inlinable
            public mutating func next() async -> sending Element? {
                await storage.next().item?.release()
            }

            /// Waits for the next element in the isolation of `actor`; otherwise like `next()`.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> sending Element? {
                await storage.next().item?.release()
            }
        }
    }
}
