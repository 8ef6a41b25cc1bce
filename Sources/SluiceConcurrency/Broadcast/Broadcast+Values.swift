/// The error that ends a loop over the ``Broadcast/Subscription/values`` of a subscription.
public enum BroadcastError<Failure: Error>: Error {
    /// The subscriber was slower than its buffering allows, and missed that many elements. Take elements faster, give
    /// ``Broadcast/subscribe(buffering:)`` a larger bound, or iterate the subscription itself, which goes on after a gap.
    case missed(Int)

    /// The broadcast was finished with this error.
    case failed(Failure)
}

extension BroadcastError: CustomStringConvertible {
    /// What happened, and what to do about it.
    public var description: String {
        switch self {
        case .missed(let count):
            "The subscriber missed \(count) elements: it was slower than its buffering allows. Take elements faster, or "
                + "subscribe with a larger bound."
        case .failed(let failure): "The broadcast failed: \(failure)"
        }
    }
}

extension Broadcast.Subscription {
    /// The elements without gap reports; throws if any is missing.
    ///
    ///     for try await position in positions.subscribe(buffering: .oldest(1_000)).values { write(position) }
    ///
    /// For a subscriber that can't use an incomplete stream. The loop ends with ``BroadcastError/missed(_:)`` in the place
    /// of the missing elements, after those that came before.
    @inlinable
    public var values: Values { Values(subscription: self) }

    /// The elements of a subscription without gap reports; see ``Broadcast/Subscription/values``.
    public struct Values: AsyncSequence, Sendable {
        @usableFromInline let subscription: Broadcast.Subscription

        @inlinable
        init(subscription: Broadcast.Subscription) {
            self.subscription = subscription
        }

        /// Makes an iterator, which goes on where the last one was left.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(base: subscription.makeAsyncIterator())
        }

        /// Takes elements for one subscriber, as long as none is missing.
        public struct Iterator: AsyncIteratorProtocol {
            /// Nil after an error.
            @usableFromInline var base: Broadcast.Subscription.Iterator?

            @inlinable
            init(base: Broadcast.Subscription.Iterator) {
                self.base = base
            }

            /// The next element; nil at the end, after an error, or if the task is cancelled.
            ///
            /// - Throws: ``BroadcastError``, once.
            /// - Complexity: O(1), amortised. Suspends if nothing waits for the subscriber; never blocks a thread.
            @inlinable
            public mutating func next() async throws(BroadcastError<Failure>) -> Element? {
                try await next(isolation: #isolation)
            }

            /// The next element; nil at the end, after an error, or if the task is cancelled.
            ///
            /// - Throws: ``BroadcastError``, once.
            /// - Complexity: O(1), amortised. Suspends if nothing waits for the subscriber; never blocks a thread.
            @inlinable
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(BroadcastError<Failure>) -> Element? {
                guard let base else { return nil }
                let delivery: Broadcast.Delivery?
                do throws(Failure) {
                    delivery = try await base.registration.next()
                } catch {
                    self.base = nil
                    throw .failed(error)
                }
                switch delivery {
                case nil: return nil
                case .value(let element): return element
                case .missed(let count):
                    self.base = nil
                    throw .missed(count)
                }
            }
        }
    }
}

extension Broadcast {
    /// Every element that is sent from now on; each loop is a subscriber of its own.
    ///
    ///     for await position in positions.values { show(position) }       // in any number of tasks
    ///
    /// A loop begins with what is replayed, and misses nothing. Memory grows while it is slower than the sender; to bound
    /// that, use ``subscribe(buffering:)``. A loop subscribes when its iterator is made: where elements may be sent before
    /// that, call ``subscribeUnbounded()`` first and iterate the subscription. It doesn't keep the broadcast alive.
    @inlinable
    public var values: Values { Values(storage: storage) }

    /// Every element of a broadcast, for any number of loops; see ``Broadcast/values``.
    public struct Values: AsyncSequence, Sendable {
        /// Takes the elements of one loop.
        public typealias AsyncIterator = UnboundedSubscription.Iterator

        @usableFromInline let storage: Storage

        @inlinable
        init(storage: Storage) {
            self.storage = storage
        }

        /// Subscribes, and makes an iterator.
        @inlinable
        public func makeAsyncIterator() -> UnboundedSubscription.Iterator {
            UnboundedSubscription.Iterator(registration: Registration(storage: storage, buffering: .unbounded))
        }
    }

    /// Every element, for one subscriber without a bound; see ``Broadcast/subscribeUnbounded()``.
    ///
    /// It is one subscriber, which one task at a time may iterate, like ``Subscription``.
    public struct UnboundedSubscription: AsyncSequence, Sendable {
        @usableFromInline let subscription: Subscription

        @inlinable
        init(subscription: Subscription) {
            self.subscription = subscription
        }

        /// Makes an iterator, which goes on where the last one was left.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(registration: subscription.registration)
        }

        /// Takes elements for one subscriber.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let registration: Registration

            @inlinable
            init(registration: Registration) {
                self.registration = registration
            }

            /// The next element; nil at the end, or if the task is cancelled.
            ///
            /// - Throws: What the broadcast was finished with, once, after the elements that were sent before.
            /// - Complexity: O(1), amortised. Suspends if nothing waits for the subscriber; never blocks a thread.
            @inlinable
            public mutating func next() async throws(Failure) -> Element? {
                try await next(isolation: #isolation)
            }

            /// The next element; nil at the end, or if the task is cancelled.
            ///
            /// - Throws: What the broadcast was finished with, once, after the elements that were sent before.
            /// - Complexity: O(1), amortised. Suspends if nothing waits for the subscriber; never blocks a thread.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
                switch try await registration.next() {
                case nil: return nil
                case .value(let element): return element
                case .missed: preconditionFailure("A subscriber without a bound missed elements.")
                }
            }
        }
    }
}
