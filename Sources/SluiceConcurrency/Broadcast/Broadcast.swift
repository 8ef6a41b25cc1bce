/// Sends elements to any number of subscribers; every subscriber gets every element.
///
///     let positions = Broadcast<Position, Never>()
///     locator.onMove = { positions.send($0) }                       // synchronous, from any thread
///
///     for await position in positions.values { show(position) }     // in any number of tasks
///
/// That loop is a subscriber without a bound. To bound the memory of a slow subscriber, subscribe with a ``Buffering`` and
/// decide what to do about the gaps:
///
///     for await delivery in positions.subscribe(buffering: .newest(64)) {
///         switch delivery {
///         case .value(let position): show(position)
///         case .missed(let count): log("too slow by \(count)")
///         }
///     }
///
/// **Order.** All subscribers get the elements in the order in which they were sent. Waiting subscribers are resumed in the
/// order in which they started to wait.
///
/// **Subscribing.** A subscriber gets what is sent after ``subscribe(buffering:)`` returned, also before it asks for the
/// first element; and before that the last elements that were sent, as many as `replay` says. Between the two no element is
/// missing and none comes twice. A loop over ``values`` subscribes when it begins.
///
/// **Slow subscribers.** They hold up neither the sender nor each other: each has its own buffer. If it is full, the
/// subscriber misses elements, and is told how many in their place. If the sender must wait instead, use `shared()`, which is
/// paced by the slowest loop, or give each receiver an ``AsyncBoundedQueue``.
///
/// **Unsubscribing.** A subscriber is forgotten when its subscription and the loops over it are gone: leave the loop, by
/// `break`, `return`, an error or cancellation.
///
/// **End.** After ``finish()`` or ``finish(throwing:)`` subscribers get what waits for them, and then the end or the error.
/// Dropping the last reference to the broadcast finishes it; subscriptions do not keep it alive. Any code that holds the
/// broadcast can send, so hand out subscriptions to code that only receives.
///
/// **Cost.** Sending is O(1), plus O(number of waiting subscribers). Each element is kept once, whatever the number of
/// subscribers, until all have got it. No thread is ever blocked for longer than a few instructions.
public final class Broadcast<Element: Sendable, Failure: Error>: Sendable {
    /// What became of an element that was sent.
    public enum SendResult: Hashable, Sendable {
        /// It was sent to all present subscribers, even if there is none.
        case sent
        /// The broadcast is finished; the element was not sent.
        case finished
    }

    @usableFromInline typealias Storage = BroadcastStorage<Element, Failure>
    @usableFromInline typealias Registration = BroadcastRegistration<Element, Failure>

    @usableFromInline let storage: Storage

    /// Creates a broadcast without subscribers.
    ///
    ///     let states = Broadcast<State, any Error>(replay: 1)
    ///
    /// - Parameter replay: How many of the last elements a later subscriber gets. Without it an element that is sent while
    ///   there is no subscriber is gone.
    /// - Precondition: `replay` is not negative.
    @inlinable
    public init(replay: Int = 0) {
        precondition(replay >= 0, "A Broadcast cannot replay \(replay) elements.")
        storage = Storage(replay: replay)
    }

    @inlinable
    deinit {
        storage.finish(.finished)
    }

    // MARK: Sending

    /// Sends an element to all subscribers.
    ///
    ///     positions.send(position)
    ///
    /// Never waits for a subscriber. Elements that several tasks send at the same time come in the same order to all.
    ///
    /// - Returns: Whether the element was sent; it is not once the broadcast is finished.
    /// - Complexity: O(1), amortised, and O(number of subscribers that wait). At most once in 32 elements, and only while
    ///   some subscriber has 64 or more waiting for it or they are replayed, also O(number of subscribers). Never suspends,
    ///   and blocks for no longer than a few instructions.
    @discardableResult @inlinable
    public func send(_ element: Element) -> SendResult {
        storage.send(element) ? .sent : .finished
    }

    /// Sends no more elements; subscribers get those that wait for them, and then the end.
    ///
    /// Later subscribers get what is replayed, and then the end. Finishing again does nothing. O(number of waiting
    /// subscribers); never suspends.
    @inlinable
    public func finish() {
        storage.finish(.finished)
    }

    /// Sends no more elements; subscribers get those that wait for them, and then an error.
    ///
    ///     readings.finish(throwing: SensorUnplugged())
    ///
    /// Each subscriber gets the error once, and then the end; so do later subscribers. Finishing again does nothing: the
    /// first end counts. O(number of waiting subscribers); never suspends.
    @inlinable
    public func finish(throwing failure: Failure) {
        storage.finish(.failed(failure))
    }

    // MARK: Subscribing

    /// Subscribes to what is sent from now on, and to what is replayed.
    ///
    ///     for await delivery in positions.subscribe(buffering: .newest(1)) { … }
    ///
    /// The subscriber is there when this returns: it gets what is sent afterwards, however late it starts to iterate. It is
    /// gone with the last reference to the subscription and its iterators.
    ///
    /// Iterating gives elements, and reports gaps. If you don't need gap reports, use ``Subscription/values``, which throws
    /// if an element is missing, or ``values``, which misses none.
    ///
    /// - Parameter buffering: How many elements wait for a subscriber that does not take them. What is replayed counts like
    ///   what is sent.
    /// - Precondition: The bound is at least 1.
    /// - Complexity: O(1), amortised. Never suspends.
    @inlinable
    public func subscribe(buffering: Buffering = .newest(64)) -> Subscription {
        Subscription(registration: Registration(storage: storage, buffering: buffering))
    }

    /// Subscribes to what is sent from now on, and to what is replayed, with room for any number of elements.
    ///
    ///     for await position in positions.subscribeUnbounded() { write(position) }
    ///
    /// No element is missed, so there are no gap reports; otherwise it is like ``subscribe(buffering:)``. Memory grows while
    /// the subscriber is slower than the sender.
    ///
    /// - Complexity: O(1), amortised. Never suspends.
    @inlinable
    public func subscribeUnbounded() -> UnboundedSubscription {
        UnboundedSubscription(subscription: subscribe(buffering: .unbounded))
    }

    // MARK: Looking

    /// How many subscribers there are, for display: it may have changed before the caller looks at it. O(1).
    @inlinable
    public var subscriberCount: Int { storage.subscriberCount }
}
