extension Broadcast {
    /// How many elements wait for a subscriber that does not take them, and which of them it misses if there are more.
    ///
    ///     let subscription = broadcast.subscribe(buffering: .newest(1))
    ///
    /// The subscriber is told how many elements it has missed: see ``Delivery``.
    public enum Buffering: Hashable, Sendable {
        /// At most that many wait; if there are more, the subscriber misses the oldest.
        ///
        /// For a subscriber that wants to keep up with what happens now. The bound is at least 1.
        case newest(Int)

        /// At most that many wait; while they do, the subscriber misses new elements.
        ///
        /// For a subscriber that wants a stretch without gaps. The bound is at least 1.
        case oldest(Int)

        /// All wait; the subscriber misses nothing.
        ///
        /// Memory grows while the subscriber is slower than the sender.
        case unbounded
    }

    /// What a subscriber gets: an element, or how many it has missed.
    ///
    ///     for await delivery in broadcast.subscribe() {
    ///         switch delivery {
    ///         case .value(let element): show(element)
    ///         case .missed(let count): showGap(of: count)
    ///         }
    ///     }
    public enum Delivery: Sendable {
        /// The next element.
        case value(Element)

        /// In this place the subscriber missed that many elements, as it was slower than its ``Buffering`` allows.
        case missed(Int)
    }
}

extension Broadcast.Delivery: Equatable where Element: Equatable {}
extension Broadcast.Delivery: Hashable where Element: Hashable {}
