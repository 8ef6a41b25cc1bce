extension AsyncPriorityQueue {
    /// The elements of a queue as they come; see ``AsyncPriorityQueue/elements``.
    public struct Elements: AsyncSequence, Sendable {
        /// Iterating cannot fail.
        public typealias Failure = Never

        @usableFromInline let storage: QueueStorage<PriorityBuffer<Element, Priority>>

        @inlinable
        init(storage: QueueStorage<PriorityBuffer<Element, Priority>>) {
            self.storage = storage
        }

        /// Makes an iterator; several may be in use at once, each in a task of its own.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// Takes elements for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let storage: QueueStorage<PriorityBuffer<Element, Priority>>

            @inlinable
            init(storage: QueueStorage<PriorityBuffer<Element, Priority>>) {
                self.storage = storage
            }

            /// Takes the next element; nil if the queue is finished and empty, or the task is cancelled.
            ///
            /// A cancelled task gets nil even while there are elements: they are left to others.
            @inlinable
            public mutating func next() async -> Element? {
                await storage.next().element?.element
            }

            /// Takes the next element; nil if the queue is finished and empty, or the task is cancelled.
            ///
            /// A cancelled task gets nil even while there are elements: they are left to others.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
                await storage.next().element?.element
            }
        }
    }
}
