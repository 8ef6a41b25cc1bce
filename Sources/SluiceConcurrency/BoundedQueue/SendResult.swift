/// The result of sending an element to an ``AsyncBoundedQueue``.
///
///     switch frames.trySend(frame) {
///     case .enqueued, .alreadyPending: break
///     case .enqueuedDropping(let unused), .dropped(let unused), .full(let unused), .finished(let unused): pool.giveBack(unused)
///     }
///
/// The result holds the element that isn't in the queue: the new one if it was refused, or the old one that was dropped for it.
/// ``alreadyPending`` is the exception: the new element is destroyed.
public enum SendResult<Element> {
    /// The element is in the queue, or a waiting consumer received it.
    case enqueued
    /// The element is in the queue. The queue was full and dropped its oldest element, which is the associated value.
    case enqueuedDropping(Element)
    /// The queue is full and its overflow policy dropped the new element, which is the associated value.
    case dropped(Element)
    /// The queue is full and its overflow policy doesn't drop elements. The associated value is the new element, which wasn't added.
    case full(Element)
    /// An element with an equal key is pending in a queue created with `unique:`. The new element was destroyed.
    case alreadyPending
    /// The queue is finished. The associated value is the new element, which wasn't added.
    case finished(Element)

    /// Whether the new element is in the queue or was received by a consumer.
    public var isEnqueued: Bool {
        switch self {
        case .enqueued, .enqueuedDropping: true
        case .dropped, .full, .alreadyPending, .finished: false
        }
    }

    /// The element itself now belongs to the caller.
    @inlinable
    func released<Released>() -> sending SendResult<Released> where Element == Transferred<Released> {
        switch self {
        case .enqueued: .enqueued
        case .enqueuedDropping(let item): .enqueuedDropping(item.release())
        case .dropped(let item): .dropped(item.release())
        case .full(let item): .full(item.release())
        case .alreadyPending: .alreadyPending
        case .finished(let item): .finished(item.release())
        }
    }
}

extension SendResult: Sendable where Element: Sendable {}
extension SendResult: Equatable where Element: Equatable {}
extension SendResult: Hashable where Element: Hashable {}
