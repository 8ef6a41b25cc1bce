extension Broadcast {
    /// The elements and gap reports of one subscriber; see ``Broadcast/subscribe(buffering:)``.
    ///
    ///     let subscription = positions.subscribe()
    ///     let showing = Task { for await delivery in subscription { show(delivery) } }
    ///
    /// It is one subscriber, however often it is iterated: a second loop goes on where the first was left. Only one task may
    /// iterate it at a time; it traps if two wait for an element at the same time. Let each task subscribe for itself.
    ///
    /// A task that is cancelled gets nil, also while elements wait. They are kept as long as the subscription is.
    public struct Subscription: AsyncSequence, Sendable {
        @usableFromInline let registration: Registration

        @inlinable
        init(registration: Registration) {
            self.registration = registration
        }

        /// Makes an iterator, which goes on where the last one was left.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(registration: registration)
        }

        /// Takes what comes for one subscriber.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let registration: Registration

            @inlinable
            init(registration: Registration) {
                self.registration = registration
            }

            /// The next element, or how many are missing here; nil at the end, or if the task is cancelled.
            ///
            /// - Throws: What the broadcast was finished with, once, after the elements that were sent before.
            /// - Complexity: O(1), amortised. Suspends if nothing waits for the subscriber; never blocks a thread.
            @inlinable
            public mutating func next() async throws(Failure) -> Delivery? {
                try await registration.next()
            }

            /// The next element, or how many are missing here; nil at the end, or if the task is cancelled.
            ///
            /// - Throws: What the broadcast was finished with, once, after the elements that were sent before.
            /// - Complexity: O(1), amortised. Suspends if nothing waits for the subscriber; never blocks a thread.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Delivery? {
                try await registration.next()
            }
        }
    }
}
