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
