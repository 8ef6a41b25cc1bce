/// An error that ends a loop over the ``Broadcast/Subscription/values`` of a subscription.
public enum BroadcastError<Failure: Error>: Error {
    /// The subscriber's buffer was full, and it missed this many elements. Receive elements faster, pass a larger limit to
    /// ``Broadcast/subscribe(buffering:)``, or iterate the subscription itself, which continues after a gap.
    case missed(Int)

    /// The broadcast was finished with this error.
    case failed(Failure)
}

extension BroadcastError: CustomStringConvertible {
    /// What happened and what to do.
    public var description: String {
        switch self {
        case .missed(let count):
            "The subscriber missed \(count) elements because its buffer was full. Receive elements faster, or "
                + "subscribe with a larger buffering limit."
        case .failed(let failure): "The broadcast failed: \(failure)"
        }
    }
}

extension Broadcast.Subscription {
    /// An asynchronous sequence of the elements without gap reports, which throws if an element is missing.
    ///
    ///     for try await position in positions.subscribe(buffering: .oldest(1_000)).values { write(position) }
    ///
    /// Use it for a subscriber that can't use an incomplete stream. The loop receives the elements before the gap, and then throws
    /// ``BroadcastError/missed(_:)``.
    @inlinable
    public var values: Values { Values(subscription: self) }

    /// The type of ``Broadcast/Subscription/values``.
    public struct Values: AsyncSequence, Sendable {
        @usableFromInline let subscription: Broadcast.Subscription

        @inlinable
        init(subscription: Broadcast.Subscription) {
            self.subscription = subscription
        }

        /// Creates an iterator that continues where the last one stopped.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(base: subscription.makeAsyncIterator())
        }

        /// An iterator over the elements of a subscriber, which throws at a gap.
        public struct Iterator: AsyncIteratorProtocol {
            /// `nil` after an error.
            @usableFromInline var base: Broadcast.Subscription.Iterator?

            @inlinable
            init(base: Broadcast.Subscription.Iterator) {
                self.base = base
            }

            /// Waits for the next element, and returns it; returns `nil` at the end, after an error, or if the task is cancelled.
            ///
            /// - Throws: ``BroadcastError``, once.
            @inlinable
            public mutating func next() async throws(BroadcastError<Failure>) -> Element? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next element in the isolation of `actor`; otherwise like `next()`.
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
    /// An asynchronous sequence of all elements that are sent from now on. Each loop is a separate subscriber.
    ///
    /// A loop begins with the replayed elements and misses none. Memory use grows while it is slower than the sender; to limit it, use
    /// ``subscribe(buffering:)``. A loop subscribes when its iterator is created. If elements may be sent before that, call
    /// ``subscribeUnbounded()`` first and iterate the subscription.
    @inlinable
    public var values: Values { Values(storage: storage) }

    /// The type of ``Broadcast/values``.
    public struct Values: AsyncSequence, Sendable {
        /// An iterator over the elements of one loop.
        public typealias AsyncIterator = UnboundedSubscription.Iterator

        @usableFromInline let storage: Storage

        @inlinable
        init(storage: Storage) {
            self.storage = storage
        }

        /// Subscribes to the broadcast and creates an iterator.
        @inlinable
        public func makeAsyncIterator() -> UnboundedSubscription.Iterator {
            UnboundedSubscription.Iterator(registration: Registration(storage: storage, buffering: .unbounded))
        }
    }

    /// All elements for one subscriber with an unlimited buffer. See ``Broadcast/subscribeUnbounded()``.
    ///
    /// Like a ``Subscription``, it is one subscriber, and only one task may iterate it at a time.
    public struct UnboundedSubscription: AsyncSequence, Sendable {
        @usableFromInline let subscription: Subscription

        @inlinable
        init(subscription: Subscription) {
            self.subscription = subscription
        }

        /// Creates an iterator that continues where the last one stopped.
        @inlinable
        public func makeAsyncIterator() -> Iterator {
            Iterator(registration: subscription.registration)
        }

        /// An iterator over the elements of a subscriber.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let registration: Registration

            @inlinable
            init(registration: Registration) {
                self.registration = registration
            }

            /// Waits for the next element, and returns it; returns `nil` at the end or if the task is cancelled.
            ///
            /// - Throws: The error that the broadcast was finished with, once, after the elements that were sent before it.
            @inlinable
            public mutating func next() async throws(Failure) -> Element? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next element in the isolation of `actor`; otherwise like `next()`.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
                switch try await registration.next() {
                case nil: return nil
                case .value(let element): return element
                case .missed: preconditionFailure("A subscriber with an unlimited buffer missed elements.")
                }
            }
        }
    }
}
