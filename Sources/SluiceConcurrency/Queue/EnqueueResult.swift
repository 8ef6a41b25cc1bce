/// The result of adding an element to an ``AsyncQueue`` or an ``AsyncPriorityQueue``.
///
///     if queue.enqueue(id) == .finished { log("The queue is closed.") }
///
/// These queues are unbounded. A queue that isn't finished and was created without `unique:` always returns ``enqueued``.
public enum EnqueueResult: Hashable, Sendable {
    /// The element is in the queue, or a waiting consumer received it.
    case enqueued
    /// An element with an equal key is pending in a queue created with `unique:`. The new element was destroyed.
    case alreadyPending
    /// The queue is finished. The element was destroyed.
    case finished

    /// Whether the element is in the queue or was received by a consumer.
    public var isEnqueued: Bool { self == .enqueued }
}
