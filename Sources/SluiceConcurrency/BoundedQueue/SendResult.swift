/// What became of an element that was sent to an ``AsyncBoundedQueue``.
///
///     switch frames.trySend(frame) {
///     case .enqueued, .alreadyPending: break
///     case .enqueuedDropping(let unused), .dropped(let unused), .full(let unused), .finished(let unused): pool.giveBack(unused)
///     }
///
/// An element that isn't in the queue comes back in the result: the new one that was refused, or the old one that was dropped. Only
/// ``alreadyPending`` destroys it.
public enum SendResult<Element> {
    /// The element is in the queue, or a consumer that waited for it has it.
    case enqueued
    /// The element is in the queue. The queue was full, and dropped its oldest element, which is this one.
    case enqueuedDropping(Element)
    /// The queue is full, and its overflow policy dropped the new element, which is this one.
    case dropped(Element)
    /// The queue is full, and its overflow policy drops nothing. This is the new element, which was not added.
    case full(Element)
    /// The queue was made with `unique:`, and an element with an equal key is pending. The new one was destroyed.
    case alreadyPending
    /// The queue is finished. This is the new element, which was not added.
    case finished(Element)

    /// Whether the new element is in the queue, or a consumer has it.
    public var isEnqueued: Bool {
        switch self {
        case .enqueued, .enqueuedDropping: true
        case .dropped, .full, .alreadyPending, .finished: false
        }
    }

    /// The same with the elements themselves, which now belong to the caller.
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
