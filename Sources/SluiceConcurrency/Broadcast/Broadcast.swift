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
/// **Order.** All subscribers receive the elements in the same order, in which they were sent. Waiting subscribers are resumed in the order
/// in which they started to wait.
///
/// **Subscribing.** A subscriber receives all elements that are sent after ``subscribe(buffering:)`` has returned, even if it starts to
/// iterate later. Before them it receives the last `replay` elements that were sent earlier, without gap or repetition. A loop over
/// ``values`` subscribes when it begins.
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
    /// The result of sending an element.
    public enum SendResult: Hashable, Sendable {
        /// The element was sent to all current subscribers, even if there are none.
        case sent
        /// The broadcast is finished; the element wasn't sent.
        case finished
    }

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
    /// - Returns: Whether the element was sent. It isn't sent if the broadcast is finished.
    /// - Complexity: O(1), amortized, plus O(n) in the number of waiting subscribers. If 64 or more elements are stored, for slow
    ///   subscribers or for replay, also O(n) in the number of subscribers, at most once in 32 elements.
    @discardableResult @inlinable
    public func send(_ element: Element) -> SendResult {
        storage.send(element) ? .sent : .finished
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
