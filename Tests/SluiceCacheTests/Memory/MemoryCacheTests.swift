import SluiceCache
import Synchronization
import TestSupport
import Testing

@Suite struct `Memory cache` {
    @Test func `a value is returned until it's removed`() {
        let cache = MemoryCache<String, Int>(maximumCost: 100, maximumCount: 10)
        #expect(cache.value(for: "a") == nil)
        #expect(cache.insert(1, for: "a", cost: 3))
        #expect(cache.insert(2, for: "b", cost: 4))
        #expect(cache.value(for: "a") == 1)
        #expect(cache.count == 2)
        #expect(cache.cost == 7)

        #expect(cache.removeValue(for: "a") == 1)
        #expect(cache.removeValue(for: "a") == nil)
        #expect(cache.value(for: "a") == nil)
        #expect(cache.count == 1)
        #expect(cache.cost == 4)
    }

    @Test func `a new value replaces the old one and its cost`() {
        let cache = MemoryCache<String, Int>(maximumCost: 100, maximumCount: 10)
        cache.insert(1, for: "a", cost: 3)
        cache.insert(2, for: "a", cost: 9)
        #expect(cache.value(for: "a") == 2)
        #expect(cache.count == 1)
        #expect(cache.cost == 9)
    }

    @Test func `statistics count lookups and evictions, and survive removals`() {
        let cache = MemoryCache<Int, Int>(maximumCost: 100, maximumCount: 2)
        for key in 1...3 { cache.insert(key, for: key, cost: 1) }
        _ = cache.value(for: 3)
        _ = cache.value(for: 1)
        cache.removeValue(for: 2)
        cache.removeAll()

        #expect(cache.count == 0)
        #expect(cache.cost == 0)
        #expect(cache.statistics.hits == 1)
        #expect(cache.statistics.misses == 1)
        #expect(cache.statistics.evictions == 1)
    }

    @Test func `limits can be read back`() {
        let cache = MemoryCache<Int, Int>(maximumCost: 105, maximumCount: 7)
        #expect(cache.maximumCost == 105)
        #expect(cache.maximumCount == 7)
        #expect(cache.maximumEntryCost == 10)
    }

    @Test func `all values are destroyed with the cache`() {
        let live = LiveCount()
        do {
            let cache = MemoryCache<Int, Counted>(maximumCost: .max, maximumCount: 5)
            for key in 0..<20 { cache.insert(Counted(key, live), for: key, cost: 1) }
            #expect(live.now == 5)
        }
        #expect(live.now == 0)
    }

    @Test func `concurrent tasks never see an exceeded limit or another key's value`() async {
        let live = LiveCount()
        let cache = MemoryCache<Int, Counted>(maximumCost: 500, maximumCount: 40)
        let (tasks, steps) = (8, 5_000)
        let lookups = await withTaskGroup(of: Int.self) { group in
            for task in 0..<tasks {
                group.addTask { @concurrent in
                    hammer(cache, live: live, steps: steps, seed: UInt64(task))
                }
            }
            return await group.reduce(0, +)
        }

        let statistics = cache.statistics
        #expect(statistics.hits + statistics.misses == lookups)
        #expect(live.now == cache.count)
        cache.removeAll()
        #expect(live.now == 0)
        #expect(cache.cost == 0)
    }
}

/// Makes random calls, and returns how many lookups it made.
private func hammer(_ cache: MemoryCache<Int, Counted>, live: LiveCount, steps: Int, seed: UInt64) -> Int {
    var random = SeededRandom(seed: seed)
    var lookups = 0
    for _ in 0..<steps {
        let key = Int.random(in: 0..<100, using: &random)
        switch Int.random(in: 0..<1_000, using: &random) {
        case 0..<600:
            lookups += 1
            if let value = cache.value(for: key), value.key != key { Issue.record("\(value.key) for \(key)") }
        case 600..<900: cache.insert(Counted(key, live), for: key, cost: Int.random(in: 0...60, using: &random))
        case 900..<990: cache.removeValue(for: key)
        case 990..<999: cache.trim(toCost: Int.random(in: 0...500, using: &random))
        default: cache.removeAll()
        }
        let (cost, count) = (cache.cost, cache.count)
        if cost > 500 || count > 40 { Issue.record("\(count) values of cost \(cost)") }
    }
    return lookups
}

/// The number of ``Counted`` objects that are alive.
private final class LiveCount: Sendable {
    private let count = Atomic(0)

    var now: Int { count.load(ordering: .sequentiallyConsistent) }

    func add(_ difference: Int) {
        count.add(difference, ordering: .sequentiallyConsistent)
    }
}

private final class Counted: Sendable {
    let key: Int
    private let live: LiveCount

    init(_ key: Int, _ live: LiveCount) {
        self.key = key
        self.live = live
        live.add(1)
    }

    deinit { live.add(-1) }
}

// MARK: - Reentrancy

/// A lock traps or hangs if one thread takes it twice, so these tests wouldn't return if a key or value were destroyed under the lock.
@Suite struct `Keys and values that use the cache while they are destroyed` {
    typealias Cache = MemoryCache<ProbeKey, Probe>

    /// The ways in which a key and a value leave the cache.
    enum Exit: CaseIterable {
        case removal
        case removalOfAll
        case replacement
        case replacementByTooLarge
        case eviction
        case evictionByCost
        case trim
        case refusal
    }

    @Test(arguments: Exit.allCases)
    func `values are destroyed after the lock is released`(_ exit: Exit) {
        let log = DestructionLog()
        let cache = Cache(maximumCost: 100, maximumCount: exit == .evictionByCost ? .max : 2)
        let use: @Sendable () -> Void = {
            cache.insert(Probe {}, for: ProbeKey(100) {}, cost: 1)
            _ = cache.value(for: ProbeKey(1) {})
            cache.removeValue(for: ProbeKey(100) {})
            _ = (cache.count, cache.cost, cache.statistics)
            log.add()
        }
        let kept = exit == .evictionByCost ? 1...10 : 1...2
        for id in kept { cache.insert(Probe(use), for: ProbeKey(id, use), cost: 10) }
        #expect(log.count == 0)

        switch exit {
        case .removal: cache.removeValue(for: ProbeKey(1) {})
        case .removalOfAll: cache.removeAll()
        case .replacement: cache.insert(Probe {}, for: ProbeKey(1) {}, cost: 1)
        case .replacementByTooLarge: cache.insert(Probe {}, for: ProbeKey(1) {}, cost: 90)
        case .eviction: cache.insert(Probe {}, for: ProbeKey(3) {}, cost: 1)
        case .evictionByCost: cache.insert(Probe {}, for: ProbeKey(11) {}, cost: 10)
        case .trim: cache.trim(toCost: 10)
        case .refusal: cache.insert(Probe(use), for: ProbeKey(3, use), cost: 90)
        }

        #expect(log.count >= 2, "the key and the value")
        cache.removeAll()
        #expect(cache.count == 0)
    }
}

final class DestructionLog: Sendable {
    private let destroyed = Atomic(0)

    var count: Int { destroyed.load(ordering: .sequentiallyConsistent) }

    func add() {
        destroyed.add(1, ordering: .sequentiallyConsistent)
    }
}

final class Probe: Sendable {
    private let whenDestroyed: @Sendable () -> Void

    init(_ whenDestroyed: @escaping @Sendable () -> Void) {
        self.whenDestroyed = whenDestroyed
    }

    deinit { whenDestroyed() }
}

final class ProbeKey: Hashable, Sendable {
    private let id: Int
    private let whenDestroyed: @Sendable () -> Void

    init(_ id: Int, _ whenDestroyed: @escaping @Sendable () -> Void) {
        self.id = id
        self.whenDestroyed = whenDestroyed
    }

    deinit { whenDestroyed() }

    static func == (left: ProbeKey, right: ProbeKey) -> Bool { left.id == right.id }

    func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}

// MARK: - State

@Suite struct `State of a memory cache` {
    typealias State = SieveState<Int, Int>

    @Test func `values without lookups are evicted first, oldest before newest`() {
        var state = State(maximumCost: .max, maximumCount: 3)
        for key in 1...3 { _ = state.insert(key, for: key, cost: 1) }
        _ = state.value(for: 1)

        #expect(state.insert(4, for: 4, cost: 1).discarded.map(\.key) == [2])
        #expect(state.insert(5, for: 5, cost: 1).discarded.map(\.key) == [3])
    }

    @Test func `if all values were looked up, the oldest is evicted`() {
        var state = State(maximumCost: .max, maximumCount: 3)
        for key in 1...3 { _ = state.insert(key, for: key, cost: 1) }
        for key in 1...3 { _ = state.value(for: key) }

        #expect(state.insert(4, for: 4, cost: 1).discarded.map(\.key) == [1])
    }

    @Test func `a long scan doesn't evict values with many lookups`() {
        var state = State(maximumCost: .max, maximumCount: 100)
        for key in 0..<50 { _ = state.insert(key, for: key, cost: 1) }
        for key in 0..<50 { _ = state.value(for: key) }

        for key in 1_000..<11_000 { _ = state.insert(key, for: key, cost: 1) }

        let kept = (0..<50).count { state.value(for: $0) != nil }
        #expect(kept == 50)
    }

    @Test func `a value of up to a tenth of the limit is kept, a larger one isn't`() {
        var state = State(maximumCost: 1_009, maximumCount: 10)
        #expect(state.insert(1, for: 1, cost: 100).isKept)
        #expect(!state.insert(2, for: 2, cost: 101).isKept)
        #expect(state.value(for: 2) == nil)
    }

    @Test func `a value that is too large removes the older value for its key`() {
        var state = State(maximumCost: 100, maximumCount: 10)
        _ = state.insert(1, for: 7, cost: 5)

        let (isKept, discarded) = state.insert(2, for: 7, cost: 50)

        #expect(!isKept)
        #expect(discarded.map(\.value) == [1])
        #expect(state.value(for: 7) == nil)
        #expect(state.cost == 0)
        #expect(state.counts.evictions == 0)
    }

    @Test func `a count limit of zero keeps nothing`() {
        var state = State(maximumCost: .max, maximumCount: 0)
        #expect(!state.insert(1, for: 1, cost: 0).isKept)
        #expect(state.count == 0)
    }

    @Test func `values without cost are limited by the count`() {
        var state = State(maximumCost: 0, maximumCount: 2)
        for key in 1...3 { _ = state.insert(key, for: key, cost: 0) }
        #expect(state.count == 2)
    }

    @Test func `the largest costs don't overflow`() {
        var state = State(maximumCost: .max, maximumCount: .max)
        for key in 0..<100 {
            #expect(state.insert(key, for: key, cost: .max / 10).isKept)
        }
        #expect(state.count == 10)
    }

    @Test func `trimming stops as soon as the cost fits`() {
        var state = State(maximumCost: 100, maximumCount: 100)
        for key in 1...5 { _ = state.insert(key, for: key, cost: 10) }

        #expect(state.trim(toCost: 35).map(\.key) == [1, 2])
        #expect(state.trim(toCost: 35).isEmpty)
        #expect(state.cost == 30)
        #expect(state.counts.evictions == 2)
    }

    @Test(arguments: [(100, 12), (100, 1_000), (60, 4), (1_000, 1), (0, 5), (Int.max, 20)], UInt64(1)...4)
    func `random operations behave like the naive model`(_ limits: (cost: Int, count: Int), _ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var state = State(maximumCost: limits.cost, maximumCount: limits.count)
        // The model multiplies by ten.
        var model = NaiveSieve(maximumCost: min(limits.cost, .max / 10), maximumCount: limits.count)
        var (lookups, hits) = (0, 0)
        for step in 0..<4_000 {
            let key = Int.random(in: 0..<30, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let found = state.value(for: key)
                lookups += 1
                hits += found == nil ? 0 : 1
                #expect(found == model.value(for: key))
            case 45..<88:
                let cost = Int.random(in: 0...12, using: &random)
                let (isKept, discarded) = state.insert(step, for: key, cost: cost)
                let expected = model.insert(step, for: key, cost: cost)
                #expect(isKept == expected.isKept)
                #expect(discarded.map(\.value) == expected.discarded)
            case 88..<97:
                #expect(state.remove(key)?.value == model.remove(key))
            case 97..<99:
                let limit = Int.random(in: 0...80, using: &random)
                #expect(state.trim(toCost: limit).map(\.value) == model.trim(toCost: limit))
            default:
                #expect(Set(state.removeAll().map(\.value)) == Set(model.removeAll()))
            }
            #expect(state.cost <= limits.cost && state.count <= limits.count)
            #expect(state.cost == model.cost && state.count == model.entries.count)
        }
        #expect(state.counts.hits == hits)
        #expect(state.counts.misses == lookups - hits)
        #expect(state.counts.evictions == model.evictions)
    }
}

/// The obvious implementation of SIEVE: an array from oldest to newest, searched from the start each time.
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
