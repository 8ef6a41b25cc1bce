public import DequeModule

/// Storage for the pending elements of a queue, which determines their order.
///
/// An item is an element with the data that the buffer needs about it. Methods return the items that they remove and never destroy them,
/// because the caller holds the lock.
@usableFromInline
protocol QueueBuffer: Sendable {
    associatedtype Element: Sendable
    associatedtype Item: Sendable

    init()

    var count: Int { get }

    var items: [Item] { get }

    mutating func append(_ item: Item)

    mutating func popFirst() -> Item?

    /// Removes the items with elements that satisfy the predicate, or none if the predicate throws. The old buffer is returned too, so
    /// that the caller can free its memory after unlocking.
    mutating func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> (removed: [Item], old: Self)

    static func element(of item: Item) -> Element

    /// The elements of these items, in the order in which they leave the queue.
    static func elements(of items: [Item]) -> [Element]
}

@usableFromInline
struct FIFOBuffer<Element: Sendable>: QueueBuffer {
    @usableFromInline var deque = Deque<Element>()

    @inlinable
    init() {}

    @inlinable var count: Int { deque.count }
    @inlinable var items: [Element] { Array(deque) }

    @inlinable
    mutating func append(_ item: Element) { deque.append(item) }

    @inlinable
    mutating func popFirst() -> Element? { deque.popFirst() }

    @inlinable
    mutating func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> (removed: [Element], old: Self) {
        var removed: [Element] = []
        var kept = Self()
        for element in deque {
            if try shouldBeRemoved(element) { removed.append(element) } else { kept.append(element) }
        }
        let old = self
        self = kept
        return (removed, old)
    }

    @inlinable
    static func element(of item: Element) -> Element { item }

    @inlinable
    static func elements(of items: [Element]) -> [Element] { items }
}
