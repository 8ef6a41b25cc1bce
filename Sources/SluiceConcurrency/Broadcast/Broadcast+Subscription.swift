extension Broadcast {
    /// The elements and gap reports of one subscriber. See ``Broadcast/subscribe(buffering:)``.
    ///
    ///     let subscription = positions.subscribe()
    ///     let showing = Task { for await delivery in subscription { show(delivery) } }
    ///
    /// A subscription is one subscriber, even if it is iterated several times: a second loop continues where the first stopped. Only one
    /// task may iterate it at a time; it traps if two tasks wait for an element concurrently. Create a subscription for each task instead.
    ///
    /// A cancelled task receives `nil`, even if elements are buffered. The subscription keeps them.
    public struct Subscription: AsyncSequence, Sendable {
        @usableFromInline let registration: Registration

        @inlinable
        init(registration: Registration) {
            self.registration = registration
        }

        /// Creates an iterator that continues where the last one stopped.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(registration: registration)
        }

        /// An iterator over the elements and gap reports of a subscriber.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let registration: Registration

            @inlinable
            init(registration: Registration) {
                self.registration = registration
            }

            /// Waits for the next element or gap report, and returns it; returns `nil` at the end or if the task is cancelled.
            ///
            /// - Throws: The error that the broadcast was finished with, once, after the elements that were sent before it.
            @inlinable
            public mutating func next() async throws(Failure) -> Delivery? {
                try await registration.next()
            }

            /// Waits for the next element or gap report in the isolation of `actor`; otherwise like `next()`.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Delivery? {
                try await registration.next()
            }
        }
    }
}
