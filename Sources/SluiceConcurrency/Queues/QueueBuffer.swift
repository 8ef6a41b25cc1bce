public import DequeModule

// MARK: - The order

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

// MARK: - The keys

/// The keys of the pending items, which keep an equal item from being added.
///
/// A queue created without `unique:` has no keys and pays for one comparison with `nil`. The protocol hides the type of the keys, so that
/// it isn't part of the queue's type.
///
/// Keys are user's values and must not be destroyed under the lock. Keys that are no longer needed, including those computed only for a
/// lookup, are kept until `takeRetired()` moves them out of the lock.
@usableFromInline
protocol UniqueKeys<Item>: Sendable {
    associatedtype Item

    var count: Int { get }

    mutating func contains(_ item: Item) -> Bool
    mutating func insert(_ item: Item)
    mutating func remove(_ item: Item)
    mutating func removeAll()

    /// The caller destroys the keys after unlocking.
    mutating func takeRetired() -> any Sendable
}

struct KeySet<Item: Sendable, Key: Hashable & Sendable>: UniqueKeys {
    private let key: @Sendable (Item) -> Key
    private var pending: Set<Key> = []
    private var retired: [Key] = []
    private var retiredSets: [Set<Key>] = []

    init(key: @escaping @Sendable (Item) -> Key) {
        self.key = key
    }

    var count: Int { pending.count }

    mutating func contains(_ item: Item) -> Bool {
        retired.append(key(item))
        return pending.contains(retired[retired.count - 1])
    }

    mutating func insert(_ item: Item) {
        let key = key(item)
        // A NaN isn't equal to itself, so it could never be removed.
        if key == key { pending.insert(key) } else { retired.append(key) }
    }

    mutating func remove(_ item: Item) {
        retired.append(key(item))
        if let key = pending.remove(retired[retired.count - 1]) { retired.append(key) }
    }

    mutating func removeAll() {
        retiredSets.append(pending)
        pending = []
    }

    mutating func takeRetired() -> any Sendable {
        defer { (retired, retiredSets) = ([], []) }
        return (retired, retiredSets)
    }
}

// MARK: - The elements

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
