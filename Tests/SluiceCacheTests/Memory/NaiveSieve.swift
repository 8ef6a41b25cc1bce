/// SIEVE as one would write it down: an array from the oldest to the newest, searched from the start each time.
struct NaiveSieve {
    struct Entry {
        var key: Int
        var value: Int
        var cost: Int
        var isMarked: Bool
    }

    let maximumCost: Int
    let maximumCount: Int
    private(set) var entries: [Entry] = []
    private(set) var evictions = 0
    private var hand = 0

    init(maximumCost: Int, maximumCount: Int) {
        self.maximumCost = maximumCost
        self.maximumCount = maximumCount
    }

    var cost: Int { entries.reduce(0) { $0 + $1.cost } }

    mutating func value(for key: Int) -> Int? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        entries[index].isMarked = true
        return entries[index].value
    }

    mutating func insert(_ value: Int, for key: Int, cost: Int) -> (isKept: Bool, discarded: [Int]) {
        let replaced = remove(key)
        var discarded = replaced.map { [$0] } ?? []
        guard cost * 10 <= maximumCost, maximumCount > 0 else { return (false, discarded) }
        while self.cost + cost > maximumCost || entries.count + 1 > maximumCount { discarded.append(evict()) }
        entries.append(Entry(key: key, value: value, cost: cost, isMarked: replaced != nil))
        return (true, discarded)
    }

    mutating func remove(_ key: Int) -> Int? {
        entries.firstIndex { $0.key == key }.map { remove(at: $0) }
    }

    mutating func removeAll() -> [Int] {
        defer { (entries, hand) = ([], 0) }
        return entries.map(\.value)
    }

    mutating func trim(toCost limit: Int) -> [Int] {
        var discarded: [Int] = []
        while cost > limit { discarded.append(evict()) }
        return discarded
    }

    private mutating func evict() -> Int {
        while entries[hand].isMarked {
            entries[hand].isMarked = false
            hand = (hand + 1) % entries.count
        }
        evictions += 1
        return remove(at: hand)
    }

    private mutating func remove(at index: Int) -> Int {
        let value = entries.remove(at: index).value
        if hand > index { hand -= 1 }
        if hand == entries.count { hand = 0 }
        return value
    }
}
