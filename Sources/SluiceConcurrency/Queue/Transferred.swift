/// An element in transit from a producer to a consumer. It need not be `Sendable`.
///
/// A producer gives the element away (`sending`), and the queue gives it to one consumer. No other task can then reach it.
@usableFromInline
struct Transferred<Element>: @unchecked Sendable {
    // The lock of `QueueStorage` protects the element while it is in the queue. Before and after that it belongs to one task. A
    // snapshot copies it, but only queues of `Sendable` elements have snapshots.
    @usableFromInline let element: Element

    @inlinable
    init(_ element: sending Element) {
        self.element = element
    }

    /// Returns the element for the task that it now belongs to. Must be called once.
    @inlinable
    func release() -> sending Element {
        nonisolated(unsafe) let element = element
        return element
    }

    @inlinable
    static func release(_ items: [Self]) -> sending [Element] {
        nonisolated(unsafe) let elements = items.map(\.element)
        return elements
    }
}
