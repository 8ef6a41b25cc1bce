extension AsyncPriorityQueue {
    /// The elements of a queue as their turns come; see ``AsyncPriorityQueue/elements``.
    ///
    ///     for await request in queue.elements { await serve(request) }
    public struct Elements: AsyncSequence, Sendable {
        /// Iterating cannot fail.
        public typealias Failure = Never

        @usableFromInline let storage: Storage

        @inlinable
        init(storage: Storage) {
            self.storage = storage
        }

        /// Makes an iterator; several may be in use concurrently, each in a task of its own.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// Takes elements for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let storage: Storage

            @inlinable
            init(storage: Storage) {
                self.storage = storage
            }

            /// Takes the next element; nil if the queue is finished and empty, or the task is cancelled.
            ///
            /// A cancelled task gets nil even while there are elements: they are left to the other consumers.
            @inlinable
            public mutating func next() async -> sending Element? {
                await storage.next().item?.element.release()
            }

            /// Takes the next element; nil if the queue is finished and empty, or the task is cancelled.
            ///
            /// A cancelled task gets nil even while there are elements: they are left to the other consumers.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> sending Element? {
                await storage.next().item?.element.release()
            }
        }
    }
}
