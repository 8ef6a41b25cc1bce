extension AsyncQueue {
    /// The elements of a queue as they come; see ``AsyncQueue/elements``.
    public struct Elements: AsyncSequence, Sendable {
        public typealias Failure = Never

        let storage: QueueStorage<Element>

        /// Makes an iterator; several may be in use at once, each in a task of its own.
        public func makeAsyncIterator() -> Iterator {
            Iterator(storage: storage)
        }

        /// Takes elements for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            let storage: QueueStorage<Element>

            /// Takes the next element; nil if the queue is finished and empty, or the task is cancelled.
            ///
            /// A cancelled task gets nil also while there are elements: they are left to others.
            public mutating func next() async -> Element? {
                await storage.next().element
            }

            /// Takes the next element; nil if the queue is finished and empty, or the task is cancelled.
            ///
            /// A cancelled task gets nil also while there are elements: they are left to others.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
                await storage.next().element
            }
        }
    }
}
