public import HeapModule

@usableFromInline
struct PrioritizedElement<Element: Sendable, Priority: Comparable & Sendable>: Sendable {
    @usableFromInline let element: Element
    @usableFromInline let priority: Priority
    /// The position in the order of arrival. The buffer sets it, under the lock.
    @usableFromInline var number: UInt64 = 0

    @inlinable
    init(_ element: Element, priority: Priority) {
        self.element = element
        self.priority = priority
    }
}

extension PrioritizedElement: Comparable {
    @inlinable
    static func < (first: Self, second: Self) -> Bool {
        if first.priority < second.priority { return true }
        if second.priority < first.priority { return false }
        return first.number > second.number
    }

    @inlinable
    static func == (first: Self, second: Self) -> Bool { first.number == second.number }
}

@usableFromInline
struct PriorityBuffer<Element: Sendable, Priority: Comparable & Sendable>: QueueBuffer {
    @usableFromInline typealias Item = PrioritizedElement<Element, Priority>

    @usableFromInline var heap = Heap<Item>()
    @usableFromInline var numbers: UInt64 = 0

    @inlinable
    init() {}

    @inlinable var count: Int { heap.count }
    @inlinable var items: [Item] { heap.unordered }

    @inlinable
    mutating func append(_ item: Item) {
        numbers += 1
        var numbered = item
        numbered.number = numbers
        heap.insert(numbered)
    }

    @inlinable
    mutating func popFirst() -> Item? { heap.popMax() }

    @inlinable
    mutating func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> (removed: [Item], old: Self) {
        var removed: [Item] = []
        var kept: [Item] = []
        for item in heap.unordered {
            if try shouldBeRemoved(item.element) { removed.append(item) } else { kept.append(item) }
        }
        let old = self
        heap = Heap(kept)
        return (removed, old)
    }

    @inlinable
    static func element(of item: Item) -> Element { item.element }

    @inlinable
    static func elements(of items: [Item]) -> [Element] {
        items.sorted(by: >).map(\.element)
    }
}
