/// Sends elements to any number of subscribers; every subscriber gets every element.
///
///     let positions = Broadcast<Position, Never>()
///     locator.onMove = { positions.send($0) }                       // synchronous, from anywhere
///
///     for await delivery in positions.subscribe() {                 // in as many tasks as one likes
///         switch delivery {
///         case .value(let position): show(position)
///         case .missed(let count): log("too slow by \(count)")
///         }
///     }
///
/// **Order.** All subscribers get the elements in the order in which they were sent. Those who wait are resumed in the order
/// in which they started to wait.
///
/// **Subscribing.** A subscriber gets what is sent after ``subscribe(buffering:)`` returned, also before it asks for the
/// first element; and before that the last elements that were sent, as many as `replay` says. Between the two nothing is
/// missed and nothing comes twice.
///
/// **Slow subscribers.** They hold up neither those who send nor each other: for each wait as many elements as its
/// ``Buffering`` allows. If there are more it misses some, and is told how many in their place. Where nothing may be missed
/// and the sender is to wait instead, give each receiver an ``AsyncBoundedQueue`` of its own.
///
/// **Unsubscribing.** A subscriber is forgotten when its subscription and the loops over it are gone: leave the loop, by
/// `break`, `return`, an error or cancellation.
///
/// **End.** After ``finish()`` or ``finish(throwing:)`` subscribers get what waits for them, and then the end or the error.
/// Dropping the last reference to the broadcast finishes it, as nobody can send anything then: subscriptions do not keep
/// it alive. Whoever holds the broadcast can send, so hand out subscriptions where others shall only receive.
///
/// **Cost.** Sending is O(1), plus O(number of subscribers that wait). Each element is kept once, whatever the number of
/// subscribers, until all have got it. No thread is ever blocked for longer than a few instructions.
public final class Broadcast<Element: Sendable, Failure: Error>: Sendable {
    /// What became of an element that was sent.
    public enum SendResult: Hashable, Sendable {
        /// It is sent to all who subscribe at this moment, even if there is none.
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
    /// - Parameter replay: How many of the last elements those get who subscribe after they were sent. Without it an
    ///   element that is sent while nobody subscribes is gone.
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
    /// Those who subscribe later get what is replayed, and then the end. Finishing again does nothing. O(number of
    /// subscribers that wait); never suspends.
    @inlinable
    public func finish() {
        storage.finish(.finished)
    }

    /// Sends no more elements; subscribers get those that wait for them, and then an error.
    ///
    ///     readings.finish(throwing: SensorUnplugged())
    ///
    /// Each subscriber gets the error once, and then the end; so do those who subscribe later. Finishing again does nothing:
    /// the first end counts. O(number of subscribers that wait); never suspends.
    @inlinable
    public func finish(throwing failure: Failure) {
        storage.finish(.failed(failure))
    }

    // MARK: Subscribing

    /// Subscribes to what is sent from now on, and to what is replayed.
    ///
    ///     for await delivery in positions.subscribe(buffering: .newest(1)) { … }
    ///
    /// The subscriber is there when this returns: nothing that is sent afterwards passes it by, however late it starts to
    /// iterate. It is gone with the last reference to the subscription and its iterators.
    ///
    /// Iterating gives elements, and says where some are missing. Who has no use for that takes ``Subscription/values``,
    /// which throws if any is missing, or ``subscribeUnbounded()``, which cannot miss any.
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
    /// Nothing is missed, so the elements come as they are; otherwise like ``subscribe(buffering:)``. Memory grows for as
    /// long as the subscriber is slower than those who send.
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
