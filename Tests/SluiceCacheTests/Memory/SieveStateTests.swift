import SluiceCache
import TestSupport
import Testing

@Suite struct `State of a memory cache` {
    typealias State = SieveState<Int, Int>

    @Test func `values without lookups leave first, oldest before newest`() {
        var state = State(maximumCost: .max, maximumCount: 3)
        for key in 1...3 { _ = state.insert(key, for: key, cost: 1) }
        _ = state.value(for: 1)

        #expect(state.insert(4, for: 4, cost: 1).discarded.map(\.key) == [2])
        #expect(state.insert(5, for: 5, cost: 1).discarded.map(\.key) == [3])
    }

    @Test func `when all were asked for, the oldest leaves`() {
        var state = State(maximumCost: .max, maximumCount: 3)
        for key in 1...3 { _ = state.insert(key, for: key, cost: 1) }
        for key in 1...3 { _ = state.value(for: key) }

        #expect(state.insert(4, for: 4, cost: 1).discarded.map(\.key) == [1])
    }

    @Test func `a long list that is seen once does not evict values with many lookups`() {
        var state = State(maximumCost: .max, maximumCount: 100)
        for key in 0..<50 { _ = state.insert(key, for: key, cost: 1) }
        for key in 0..<50 { _ = state.value(for: key) }

        for key in 1_000..<11_000 { _ = state.insert(key, for: key, cost: 1) }

        let kept = (0..<50).count { state.value(for: $0) != nil }
        #expect(kept == 50)
    }

    @Test func `a value of a tenth of the limit is kept, one above it is not`() {
        var state = State(maximumCost: 1_009, maximumCount: 10)
        #expect(state.insert(1, for: 1, cost: 100).isKept)
        #expect(!state.insert(2, for: 2, cost: 101).isKept)
        #expect(state.value(for: 2) == nil)
    }

    @Test func `a value that is too large takes the older one of its key away`() {
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

    @Test func `values without cost are held back by the count`() {
        var state = State(maximumCost: 0, maximumCount: 2)
        for key in 1...3 { _ = state.insert(key, for: key, cost: 0) }
        #expect(state.count == 2)
    }

    @Test func `the greatest costs do not overflow`() {
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
    func `it behaves like the naive model`(_ limits: (cost: Int, count: Int), _ seed: UInt64) {
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
