import Foundation
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `What is found for a resource` {
    private let memory = ResourceMemory<Int>(maximumCost: 1000)
    private let key = ResourceKey(text: "a")

    private func keep(_ value: Int, _ visit: ResourceMemory<Int>.Visit, cost: Int = 1) {
        memory.keep(visit) { _ in [(value, cost)] }
    }

    @Test func `is kept if nothing has changed since`() {
        let visit = memory.visit(key)
        memory.invalidate(ResourceKey(text: "another"))
        keep(1, visit)
        #expect(memory.value(for: key) == 1 && visit.isCurrent)
    }

    @Test(arguments: [true, false]) func `isn't kept after an invalidation`(isOfAll: Bool) {
        keep(1, memory.visit(key))
        let visit = memory.visit(key)
        if isOfAll { memory.invalidateAll() } else { memory.invalidate(key) }
        #expect(memory.value(for: key) == nil && !visit.isCurrent)
        keep(2, visit)
        memory.endChange(memory.beginChange(visit), keeping: [(2, 1)])
        #expect(memory.value(for: key) == nil)
        let later = memory.visit(key)
        #expect(later.generation != visit.generation && later.isCurrent)
        keep(3, later)
        #expect(memory.value(for: key) == 3)
    }

    @Test func `isn't kept if the visit began before or during a change`() {
        let before = memory.visit(key)
        let change = memory.beginChange(memory.visit(key))
        let during = memory.visit(key)
        memory.endChange(change, keeping: [(2, 1)])
        #expect(memory.value(for: key) == 2)
        for visit in [before, during] {
            keep(1, visit)
            #expect(memory.value(for: key) == 2 && visit.isCurrent)
        }
        keep(3, memory.visit(key))
        #expect(memory.value(for: key) == 3)
    }

    /// After two concurrent changes, we don't know which one the disk has.
    @Test(arguments: [true, false]) func `isn't kept after concurrent changes`(isFirstDoneFirst: Bool) {
        let (one, other) = (memory.beginChange(memory.visit(key)), memory.beginChange(memory.visit(key)))
        let order = isFirstDoneFirst ? [(one, 1), (other, 2)] : [(other, 2), (one, 1)]
        for (change, value) in order { memory.endChange(change, keeping: [(value, 1)]) }
        #expect(memory.value(for: key) == nil)
    }

    @Test func `is kept without its optional parts if they make it too large`() {
        memory.keep(memory.visit(key)) { _ in [(1, 101), (2, 100), (3, 1)] }
        #expect(memory.value(for: key) == 2)
        memory.keep(memory.visit(key)) { _ in [(4, 101)] }
        #expect(memory.value(for: key) == nil, "the older value is out of date")
    }

    @Test func `takes state only during its visits`() {
        for number in 0..<100 {
            let visits = (0..<3).map { _ in memory.visit(ResourceKey(text: "\(number)")) }
            #expect(memory.visitedCount == 1)
            memory.invalidate(visits[0].key)
            memory.invalidateAll()
        }
        #expect(memory.visitedCount == 0)
    }
}

// MARK: - Memory pressure

@Suite struct `Memory pressure` {
    @Test func `evicts responses and decoded values, but nothing on disk`() async throws {
        let transport = ClosureTransport { _, _ in .bytes(pattern(10_000)) }
        let configuration = ResourceCache.Configuration(maximumMemorySize: 200_000)
        try await withCache(transport, configuration) { (cache) async throws in
            let sizes = cache.decoded(maximumMemorySize: 200_000, cost: { $0 }) { $0.count }
            for number in 0..<10 {
                _ = try await cache.data(for: url("\(number)"))
                _ = try await sizes.value(for: url("\(number)"))
            }
            cache.trimMemory(toFraction: 0.25)
            #expect((1...50_000).contains(cache.memory.cost))
            #expect((0..<10).count { sizes.valueInMemory(for: url("\($0)")) != nil } == 4)
            cache.trimMemory(toFraction: 0)
            #expect(cache.memory.count == 0 && sizes.valueInMemory(for: url("9")) == nil)
            try await expectConsistent(cache, entries: 10)
        }
    }
}
