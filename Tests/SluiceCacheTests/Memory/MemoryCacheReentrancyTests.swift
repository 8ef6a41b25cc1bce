import SluiceCache
import Synchronization
import Testing

/// A lock that is taken twice by one thread traps or hangs, so each of these tests would not return if a key or a value
/// were destroyed under the cache's lock.
@Suite struct `Keys and values that use the cache while they are destroyed` {
    typealias Cache = MemoryCache<ProbeKey, Probe>

    /// The ways for a key and a value to leave.
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
    func `they are destroyed after the lock is given back`(_ exit: Exit) {
        let log = DestructionLog()
        let cache = Cache(maximumCost: 100, maximumCount: exit == .evictionByCost ? .max : 2)
        let use: @Sendable () -> Void = {
            cache.insert(Probe {}, for: ProbeKey(100) {}, cost: 1)
            _ = cache.value(for: ProbeKey(1) {})
            cache.remove(ProbeKey(100) {})
            _ = (cache.count, cache.cost, cache.statistics)
            log.add()
        }
        let kept = exit == .evictionByCost ? 1...10 : 1...2
        for id in kept { cache.insert(Probe(use), for: ProbeKey(id, use), cost: 10) }
        #expect(log.count == 0)

        switch exit {
        case .removal: cache.remove(ProbeKey(1) {})
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
