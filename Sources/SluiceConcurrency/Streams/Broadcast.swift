/// Sends elements to any number of subscribers. Every subscriber receives every element.
///
///     let positions = Broadcast<Position, Never>()
///     locator.onMove = { positions.send($0) }                       // synchronous, from any thread
///
///     for await position in positions.values { show(position) }     // in any number of tasks
///
/// This loop is a subscriber with an unlimited buffer. To limit the memory of a slow subscriber, subscribe with a ``Buffering`` and
/// handle the gaps:
///
///     for await delivery in positions.subscribe(buffering: .newest(64)) {
///         switch delivery {
///         case .value(let position): show(position)
///         case .missed(let count): log("too slow by \(count)")
///         }
///     }
///
/// It is like a `PassthroughSubject` of Combine with a buffer for each subscriber, or a broadcast channel of tokio.
///
/// **Order.** All subscribers receive the elements in the order in which they were sent. Waiting subscribers are resumed in the order in
/// which they started to wait.
///
/// **Subscribing.** A subscriber receives all elements that are sent after ``subscribe(buffering:)`` has returned, even if it starts to
/// iterate later. First it receives the last `replay` elements that were sent before it subscribed. No element is missing or repeated in
/// between. A loop over ``values`` subscribes when it begins.
///
/// **Slow subscribers.** A slow subscriber delays neither the sender nor other subscribers. If its buffer is full, it misses elements, and
/// receives their number in their place. If the sender must wait instead, use `shared()`, in which the slowest loop sets the pace, or give
/// each receiver an ``AsyncBoundedQueue``.
///
/// **Unsubscribing.** A subscriber is removed when its subscription and the iterators of the subscription are released. To unsubscribe,
/// leave the loop: with `break`, `return`, an error or cancellation.
///
/// **End.** After ``finish()`` or ``finish(throwing:)``, subscribers receive their buffered elements and then the end or the error.
/// Releasing the last reference to the broadcast finishes it; subscriptions don't keep it alive. Any code that holds the broadcast can
/// send, so give subscriptions to code that must only receive.
///
/// **Cost.** Sending is O(1), plus O(n) in the number of waiting subscribers. Each element is stored once, regardless of the number of
/// subscribers, until all of them have received it.
public final class Broadcast<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Storage = BroadcastStorage<Element, Failure>
    @usableFromInline typealias Registration = BroadcastRegistration<Element, Failure>

    @usableFromInline let storage: Storage

    /// Creates a broadcast without subscribers.
    ///
    ///     let states = Broadcast<State, any Error>(replay: 1)
    ///
    /// - Parameter replay: The number of last elements that a later subscriber receives. With 0, an element that is sent while there is
    ///   no subscriber is lost.
    /// - Precondition: `replay` isn't negative.
    @inlinable
    public init(replay: Int = 0) {
        precondition(replay >= 0, "A broadcast's replay must not be negative; it is \(replay).")
        storage = Storage(replay: replay)
    }

    @inlinable
    deinit {
        storage.finish(.finished)
    }

    // MARK: Sending

    /// Sends an element to all subscribers, without waiting for them.
    ///
    /// - Returns: Whether the element was sent: `false` if the broadcast is finished, `true` even if there are no subscribers.
    /// - Complexity: O(1), amortized, plus O(n) in the number of waiting subscribers. If 64 or more elements are stored, for slow
    ///   subscribers or for replay, also O(n) in the number of subscribers, at most once in 32 elements.
    @discardableResult @inlinable
    public func send(_ element: Element) -> Bool {
        storage.send(element)
    }

    /// Finishes the broadcast: subscribers receive their buffered elements and then the end.
    ///
    /// Later subscribers receive the replayed elements and then the end. If the broadcast is already finished, this method has no effect.
    /// O(n) in the number of waiting subscribers.
    @inlinable
    public func finish() {
        storage.finish(.finished)
    }

    /// Finishes the broadcast with an error: subscribers receive their buffered elements and then the error.
    ///
    /// Each subscriber receives the error once, and then the end. Later subscribers receive the replayed elements first. If the broadcast
    /// is already finished, this method has no effect. O(n) in the number of waiting subscribers.
    @inlinable
    public func finish(throwing failure: Failure) {
        storage.finish(.failed(failure))
    }

    // MARK: Subscribing

    /// Subscribes to the elements that are sent from now on, and to the replayed elements.
    ///
    /// The subscription begins when this method returns, and ends when the last reference to it and its iterators is released. It yields
    /// elements, and gap reports (``Delivery/missed(_:)``) in place of elements that the subscriber missed. If you don't need gap reports,
    /// use ``Subscription/values``, which throws if an element is missing, or ``values``, which misses no element.
    ///
    /// - Parameter buffering: The limit on the elements that are buffered for the subscriber, including replayed ones.
    /// - Precondition: The limit is at least 1.
    @inlinable
    public func subscribe(buffering: Buffering = .newest(64)) -> Subscription {
        Subscription(registration: Registration(storage: storage, buffering: buffering))
    }

    /// Subscribes to the elements that are sent from now on, and to the replayed elements, with an unlimited buffer.
    ///
    /// The subscriber misses no element, so there are no gap reports. Memory use grows while the subscriber is slower than the sender.
    @inlinable
    public func subscribeUnbounded() -> UnboundedSubscription {
        UnboundedSubscription(subscription: subscribe(buffering: .unbounded))
    }

    // MARK: Looking

    /// The number of subscribers, for display: it may change before the caller reads it. O(1).
    @inlinable
    public var subscriberCount: Int { storage.subscriberCount }
}

// MARK: - Sending a sequence

extension Broadcast {
    /// Sends each element of a sequence, and finishes the broadcast when the sequence ends.
    ///
    ///     let readings = Broadcast<Reading, any Error>()
    ///     let display = readings.subscribe()                      // subscribed before the first element comes
    ///     let archive = readings.subscribeUnbounded()
    ///     async let shown: Void = show(display)
    ///     async let archived: Void = write(archive)
    ///     await readings.run(sharing: sensor.readings)
    ///
    /// The calling task iterates the sequence once, in its isolation. No task is started, so the sequence need not be `Sendable`. A
    /// receiver that needs all elements must subscribe before this method is called.
    ///
    /// The method returns when the sequence has ended, or at the next element after other code has finished the broadcast. It continues
    /// even if all subscribers have left. It doesn't wait for slow subscribers, which miss elements; `shared()` waits.
    ///
    /// **Errors.** The method doesn't throw. An error of the sequence goes to the subscribers.
    ///
    /// **Cancellation.** If the calling task is cancelled and `Failure` allows it, the broadcast fails with `CancellationError`, so that
    /// subscribers don't mistake an incomplete sequence for a complete one. Otherwise the broadcast finishes without an error.
    @inlinable
    public func run<Source: AsyncSequence>(
        sharing sequence: Source
    ) async where Source.Element == Element, Source.Failure == Failure {
        var iterator = sequence.makeAsyncIterator()
        do throws(Failure) {
            while let element = try await iterator.next(isolation: #isolation) {
                if !send(element) { return }
            }
            if Task.isCancelled, let error = CancellationError() as? Failure {
                finish(throwing: error)
            } else {
                finish()
            }
        } catch {
            finish(throwing: error)
        }
    }
}

// MARK: - Buffering

extension Broadcast {
    /// A limit on the elements that are buffered for a subscriber, and the elements that it misses if there are more.
    ///
    /// The subscriber receives the number of missed elements; see ``Delivery``.
    public enum Buffering: Hashable, Sendable {
        /// At most this many elements are buffered, at least 1. If there are more, the subscriber misses the oldest. Suits current events.
        case newest(Int)

        /// At most this many elements are buffered, at least 1. While the buffer is full, the subscriber misses new elements. Suits
        /// subscribers that need long runs of elements without a gap.
        case oldest(Int)

        /// All elements are buffered. Memory use grows while the subscriber is slower than the sender.
        case unbounded
    }

    /// An element, or the number of elements that the subscriber missed.
    public enum Delivery: Sendable {
        /// The next element.
        case value(Element)

        /// The number of elements that the subscriber missed at this point because its buffer was full.
        case missed(Int)
    }
}

extension Broadcast.Delivery: Equatable where Element: Equatable {}
extension Broadcast.Delivery: Hashable where Element: Hashable {}

// MARK: - Subscriptions

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
            /// - Precondition: No other task is waiting for an element of the subscription.
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

// MARK: - Values

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
            /// - Precondition: No other task is waiting for an element of the subscription.
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
            /// - Precondition: No other task is waiting for an element of the subscription.
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
