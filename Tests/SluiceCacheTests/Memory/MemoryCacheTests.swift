import SluiceCache
import Synchronization
import TestSupport
import Testing

@Suite struct `Memory cache` {
    @Test func `a value comes back until it is removed`() {
        let cache = MemoryCache<String, Int>(maximumCost: 100, maximumCount: 10)
        #expect(cache.value(for: "a") == nil)
        #expect(cache.insert(1, for: "a", cost: 3))
        #expect(cache.insert(2, for: "b", cost: 4))
        #expect(cache.value(for: "a") == 1)
        #expect(cache.count == 2)
        #expect(cache.cost == 7)

        #expect(cache.remove("a") == 1)
        #expect(cache.remove("a") == nil)
        #expect(cache.value(for: "a") == nil)
        #expect(cache.count == 1)
        #expect(cache.cost == 4)
    }

    @Test func `a new value takes the place of the old one, and its cost too`() {
        let cache = MemoryCache<String, Int>(maximumCost: 100, maximumCount: 10)
        cache.insert(1, for: "a", cost: 3)
        cache.insert(2, for: "a", cost: 9)
        #expect(cache.value(for: "a") == 2)
        #expect(cache.count == 1)
        #expect(cache.cost == 9)
    }

    @Test func `statistics count lookups and evictions, and outlive what they count`() {
        let cache = MemoryCache<Int, Int>(maximumCost: 100, maximumCount: 2)
        for key in 1...3 { cache.insert(key, for: key, cost: 1) }
        _ = cache.value(for: 3)
        _ = cache.value(for: 1)
        cache.remove(2)
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

    @Test func `tasks that use it concurrently never see a limit exceeded or another key's value`() async {
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

/// Returns how many lookups it made.
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
        case 900..<990: cache.remove(key)
        case 990..<999: cache.trim(toCost: Int.random(in: 0...500, using: &random))
        default: cache.removeAll()
        }
        let (cost, count) = (cache.cost, cache.count)
        if cost > 500 || count > 40 { Issue.record("\(count) values of cost \(cost)") }
    }
    return lookups
}

/// How many ``Counted`` are alive.
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
