extension Broadcast {
    /// A limit on the elements that are buffered for a subscriber, and the elements that it misses if there are more.
    ///
    /// The subscriber receives the number of missed elements; see ``Delivery``.
    public enum Buffering: Hashable, Sendable {
        /// At most this many elements are buffered, at least 1. If there are more, the subscriber misses the oldest. For current events.
        case newest(Int)

        /// At most this many elements are buffered, at least 1. While the buffer is full, the subscriber misses new elements. For sections
        /// without gaps.
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
