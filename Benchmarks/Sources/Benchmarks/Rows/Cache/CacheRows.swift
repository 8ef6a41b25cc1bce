import Foundation
import SluiceCache
import Synchronization

/// Hits in a cache with 1,000 entries, whose keys are as long as a URL.
enum CacheRows {
    static var all: [Row] {
        [againstDictionary, againstNSCache, fromTasks] + hitRates + onDisk + [
            misses(1 << 10), misses(16 << 10), herd, start, eviction,
        ]
    }

    private static let keys = (0..<1_000).map { "https://example.com/pictures/large/\($0).jpeg" }

    private static func row(
        against peer: String, figure: Figure, _ lookUp: @escaping () -> (Int) -> Int
    ) -> Row {
        Row("cache/hit in memory", .nanoseconds, against: peer, figure: figure, slices: 25) { stage, rounds in
            let passes = stage.count(10, quick: 4)
            let (count, total) = (passes * keys.count, passes * keys.count * (keys.count - 1) / 2)
            let cache = ours()
            let theirs = lookUp()
            try await rounds(
                { try await timed(count, expecting: total) { sum(passes) { cache.value(for: keys[$0]) ?? -1 } } },
                { try await timed(count, expecting: total) { sum(passes, theirs) } })
        }
    }

    private static func ours() -> MemoryCache<String, Int> {
        let cache = MemoryCache<String, Int>(maximumCost: .max, maximumCount: keys.count)
        for (index, key) in keys.enumerated() { cache.insert(index, for: key, cost: 1) }
        return cache
    }

    private static func dictionary() -> LockedDictionary {
        let cache = LockedDictionary()
        for (index, key) in keys.enumerated() { cache.insert(index, for: key) }
        return cache
    }

    private static var againstDictionary: Row {
        row(against: "Dictionary behind a Mutex", figure: .atMost(2)) {
            let cache = dictionary()
            return { cache.value(for: keys[$0]) ?? -1 }
        }
    }

    private static var fromTasks: Row {
        Row(
            "cache/hit in memory, 8 tasks", .nanoseconds, against: "Dictionary behind a Mutex", figure: .atMost(2)
        ) { stage, rounds in
            let (tasks, passes) = (8, stage.count(100, quick: 10))
            let count = tasks * passes * keys.count
            let total = count * (keys.count - 1) / 2
            let (cache, dictionary) = (ours(), dictionary())
            func inTasks(_ lookUp: @escaping @Sendable (Int) -> Int) async -> Int {
                await withTaskGroup(of: Int.self) { group in
                    for _ in 0..<tasks { group.addTask { sum(passes, lookUp) } }
                    return await group.reduce(0, &+)
                }
            }
            try await rounds(
                { try await timed(count, expecting: total) { await inTasks { cache.value(for: keys[$0]) ?? -1 } } },
                {
                    try await timed(count, expecting: total) {
                        await inTasks { dictionary.value(for: keys[$0]) ?? -1 }
                    }
                })
        }
    }

    private static var againstNSCache: Row {
        row(against: "NSCache", figure: .below(1_000)) {
            let cache = NSCache<NSString, Box>()
            let names = keys.map { NSString(string: $0) }
            for (index, name) in names.enumerated() { cache.setObject(Box(index), forKey: name) }
            return { cache.object(forKey: names[$0])?.value ?? -1 }
        }
    }

    private static func sum(_ passes: Int, _ lookUp: (Int) -> Int) -> Int {
        var sum = 0
        for _ in 0..<passes {
            for index in keys.indices { sum &+= lookUp(index) }
        }
        return sum
    }
}

private final class LockedDictionary: Sendable {
    private let entries = Mutex<[String: Int]>([:])

    func insert(_ value: Int, for key: String) { entries.withLock { $0[key] = value } }
    func value(for key: String) -> Int? { entries.withLock { $0[key] } }
}

private final class Box {
    let value: Int
    init(_ value: Int) { self.value = value }
}
