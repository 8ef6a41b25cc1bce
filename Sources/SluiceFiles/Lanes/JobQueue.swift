internal import DequeModule

/// A first-in, first-out queue of waiting jobs, from which any job can be removed. A pure value.
///
/// A removed job is released immediately. Its number stays until it reaches the front, or until more than half of the numbers belong to
/// removed jobs. All operations are amortized O(1).
package struct JobQueue<Element> {
    private var order = Deque<UInt64>()
    private var elements: [UInt64: Element] = [:]

    package var count: Int { elements.count }
    package var isEmpty: Bool { elements.isEmpty }

    package init() {}

    /// The number of stored numbers, including those of removed jobs. For tests.
    package var places: Int { order.count }

    package mutating func append(_ element: Element, id: UInt64) {
        order.append(id)
        let old = elements.updateValue(element, forKey: id)
        precondition(old == nil, "A job may be submitted only once.")
    }

    package mutating func removeFirst() -> Element? {
        while let id = order.popFirst() {
            if let element = elements.removeValue(forKey: id) { return element }
        }
        return nil
    }

    package mutating func remove(id: UInt64) -> Element? {
        guard let element = elements.removeValue(forKey: id) else { return nil }
        if order.count > 2 * elements.count + 16 {
            order.removeAll { elements[$0] == nil }
        }
        return element
    }
}
