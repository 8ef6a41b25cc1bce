extension Broadcast {
    /// How many elements wait for a subscriber that does not take them, and which of them it misses if there are more.
    ///
    /// Whatever it misses, it is told how many those were: see ``Delivery``.
    public enum Buffering: Hashable, Sendable {
        /// At most so many wait; if there are more, the subscriber misses the oldest.
        ///
        /// For a subscriber that wants to keep up with what happens now. The bound is at least 1.
        case newest(Int)

        /// At most so many wait; as long as those do, the subscriber misses what comes.
        ///
        /// For a subscriber that wants what follows what it has got, as far as there is room. The bound is at least 1.
        case oldest(Int)

        /// All wait; the subscriber misses nothing.
        ///
        /// Memory grows for as long as the subscriber is slower than those who send.
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

        /// In this place the subscriber missed so many elements, as it was slower than its ``Buffering`` allows.
        case missed(Int)
    }
}

extension Broadcast.Delivery: Equatable where Element: Equatable {}
extension Broadcast.Delivery: Hashable where Element: Hashable {}
