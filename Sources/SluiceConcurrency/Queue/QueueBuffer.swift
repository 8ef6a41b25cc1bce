public import DequeModule

/// Where a queue keeps its pending elements: what makes it a queue or a priority queue.
///
/// An item is an element with what the buffer must know of it. Items that leave are returned, never destroyed: the caller
/// holds the lock.
@usableFromInline
protocol QueueBuffer: Sendable {
    associatedtype Element: Sendable
    associatedtype Item: Sendable

    init()

    var count: Int { get }

    /// All items, in any order.
    var items: [Item] { get }

    mutating func append(_ item: Item)

    /// Takes the item whose turn it is.
    mutating func popFirst() -> Item?

    /// Takes what satisfies the predicate, or nothing if that throws; also returns the old buffer, whose memory is freed
    /// after the unlock.
    mutating func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> (removed: [Item], old: Self)

    static func element(of item: Item) -> Element

    /// The elements of these items, in the order in which their turns come.
    static func elements(of items: [Item]) -> [Element]
}

/// First in, first out.
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
