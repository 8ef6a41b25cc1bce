/// What became of an element that was added to an ``AsyncQueue`` or an ``AsyncPriorityQueue``.
///
///     if queue.enqueue(id) == .finished { log("The queue is closed.") }
///
/// These queues are unbounded: only a finished queue doesn't take an element. A queue that was made without `unique:` and isn't finished
/// always returns ``enqueued``.
public enum EnqueueResult: Hashable, Sendable {
    /// The element is in the queue, or a consumer that waited for it has it.
    case enqueued
    /// The queue was made with `unique:`, and an element with an equal key is pending. The new one was destroyed.
    case alreadyPending
    /// The queue is finished. The element was destroyed.
    case finished

    /// Whether the element is in the queue, or a consumer has it.
    public var isEnqueued: Bool { self == .enqueued }
}
