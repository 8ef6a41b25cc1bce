/// Why a loop over the values of a subscription ended early.
public enum BroadcastError<Failure: Error>: Error {
    /// The subscriber was slower than its buffering allows, and missed so many elements. Take elements faster, give
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
    /// The elements as they are; throws if any is missing.
    ///
    ///     for try await position in positions.subscribe(buffering: .oldest(1_000)).values { write(position) }
    ///
    /// For a subscriber to whom an incomplete stream is of no use. The loop ends with ``BroadcastError/missed(_:)`` in the
    /// place of the elements that are missing, after those that came before.
    @inlinable
    public var values: Values { Values(subscription: self) }

    /// The elements of a subscription as they are; see ``Broadcast/Subscription/values``.
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
    /// Every element as it is, for a subscriber without a bound; see ``Broadcast/subscribeUnbounded()``.
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
