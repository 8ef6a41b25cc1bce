/// What became of an element that was added to a queue.
///
///     if case .enqueuedDropping(let oldest) = frames.enqueue(frame) { pool.giveBack(oldest) }
///
/// Nothing is lost silently: an element that had to go comes back in the result, and ``isEnqueued`` says whether the new
/// one is in. Who does not care need not look.
public enum EnqueueResult<Element> {
    /// It is in the queue, or went to a consumer that waited for it.
    case enqueued
    /// It is in the queue; the queue was full, and this other element was dropped to make room.
    case enqueuedDropping(Element)
    /// The queue is full, and its overflow policy drops the new element.
    case dropped
    /// The queue is full, and its overflow policy drops nothing: the element was not added.
    case rejected
    /// The queue was made with `unique:`, and an equal element is pending: this one was not added.
    case alreadyPending
    /// The queue is finished; the element was not added.
    case finished

    /// Whether the element is in the queue, or went to a consumer.
    public var isEnqueued: Bool {
        switch self {
        case .enqueued, .enqueuedDropping: true
        case .dropped, .rejected, .alreadyPending, .finished: false
        }
    }

    @usableFromInline
    func map<Other>(_ transform: (Element) -> Other) -> EnqueueResult<Other> {
        switch self {
        case .enqueued: .enqueued
        case .enqueuedDropping(let element): .enqueuedDropping(transform(element))
        case .dropped: .dropped
        case .rejected: .rejected
        case .alreadyPending: .alreadyPending
        case .finished: .finished
        }
    }
}

extension EnqueueResult: Sendable where Element: Sendable {}
extension EnqueueResult: Equatable where Element: Equatable {}
extension EnqueueResult: Hashable where Element: Hashable {}
