internal import DequeModule

/// The order of waiting jobs: first in, first out, and any of them may leave. A pure value.
///
/// A job that leaves does so immediately, with all that it holds; of its place only the number stays, until that comes to the
/// front or half of the numbers are such.
///
/// All operations are amortised O(1).
package struct JobQueue<Element> {
    private var order = Deque<UInt64>()
    private var elements: [UInt64: Element] = [:]

    package var count: Int { elements.count }
    package var isEmpty: Bool { elements.isEmpty }

    package init() {}

    /// The numbers kept, those of jobs that left among them: for a test of the bound.
    package var places: Int { order.count }

    package mutating func append(_ element: Element, id: UInt64) {
        order.append(id)
        let old = elements.updateValue(element, forKey: id)
        precondition(old == nil, "A job was submitted twice.")
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
