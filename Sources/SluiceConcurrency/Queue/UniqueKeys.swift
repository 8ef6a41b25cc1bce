/// The keys of the items that are pending, so that an equal one is not added twice.
///
/// A queue that was not made with `unique:` has none of it and pays one comparison with nil. The type of the keys is
/// hidden behind the protocol so that it does not become part of the queue's type.
///
/// Keys are user's values: those that are no longer needed, also the ones that were only computed to look something up,
/// are kept until `takeRetired()` carries them out of the lock.
@usableFromInline
protocol UniqueKeys<Item>: Sendable {
    associatedtype Item

    /// How many keys are pending.
    var count: Int { get }

    mutating func contains(_ item: Item) -> Bool
    mutating func insert(_ item: Item)
    mutating func remove(_ item: Item)
    mutating func removeAll()

    /// Takes the keys that are no longer needed, to be destroyed after the unlock.
    mutating func takeRetired() -> any Sendable
}

/// Keys that are computed from items.
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
        pending.insert(key(item))
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
