/// An element on its way from a producer to a consumer, which need not be `Sendable`.
///
/// A producer gives the element away (`sending`), and the queue hands it to one consumer, which is then the only one that can reach it.
@usableFromInline
struct Transferred<Element>: @unchecked Sendable {
    // The lock of `QueueStorage` protects it in the queue; before and after that it belongs to one task alone. A snapshot copies it,
    // which only queues of `Sendable` elements have.
    @usableFromInline let element: Element

    @inlinable
    init(_ element: sending Element) {
        self.element = element
    }

    /// The element, for the task that it now belongs to. Called once.
    @inlinable
    func release() -> sending Element {
        nonisolated(unsafe) let element = element
        return element
    }

    /// The elements, for the task that they now belong to. Called once.
    @inlinable
    static func release(_ items: [Self]) -> sending [Element] {
        nonisolated(unsafe) let elements = items.map(\.element)
        return elements
    }
}
