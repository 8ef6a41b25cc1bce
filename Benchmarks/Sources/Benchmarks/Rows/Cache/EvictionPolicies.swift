import DequeModule

/// A cache without values, for hit rates.
protocol EvictionPolicy {
    /// Looks up the key, and inserts it if it is missing. Returns whether it was there.
    mutating func use(_ key: Int) -> Bool
}

/// Evicts the least recently used key.
struct LeastRecentlyUsed: EvictionPolicy {
    private let maximumCount: Int
    /// The time of the last use.
    private var uses: [Int: Int] = [:]
    /// All uses in order. A use is skipped if its key was used again later.
    private var line: Deque<(key: Int, time: Int)> = []
    private var time = 0

    init(maximumCount: Int) { self.maximumCount = maximumCount }

    mutating func use(_ key: Int) -> Bool {
        time += 1
        line.append((key, time))
        let wasThere = uses.updateValue(time, forKey: key) != nil
        while uses.count > maximumCount {
            let oldest = line.removeFirst()
            if uses[oldest.key] == oldest.time { uses[oldest.key] = nil }
        }
        return wasThere
    }
}

/// S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023): a small queue with a tenth of the space for new
/// keys, a main queue for keys that are used again, and a list of the keys that have left the small queue.
struct S3FIFO: EvictionPolicy {
    private let smallCount: Int
    private let maximumCount: Int
    /// The number of uses since the insertion, at most 3.
    private var uses: [Int: Int] = [:]
    private var small: Deque<Int> = []
    private var main: Deque<Int> = []
    private var ghosts: Set<Int> = []
    private var ghostLine: Deque<Int> = []

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
        smallCount = maximumCount / 10
    }

    mutating func use(_ key: Int) -> Bool {
        if let count = uses[key] {
            uses[key] = min(count + 1, 3)
            return true
        }
        while small.count + main.count >= maximumCount { evict() }
        uses[key] = 0
        if ghosts.remove(key) != nil { main.append(key) } else { small.append(key) }
        return false
    }

    private mutating func evict() {
        guard small.count >= smallCount || main.isEmpty, let key = small.popFirst() else { return evictFromMain() }
        if uses[key, default: 0] > 1 {
            uses[key] = 0
            main.append(key)
        } else {
            uses[key] = nil
            ghosts.insert(key)
            ghostLine.append(key)
            while ghostLine.count > maximumCount - smallCount { ghosts.remove(ghostLine.removeFirst()) }
        }
    }

    private mutating func evictFromMain() {
        while let key = main.popFirst() {
            guard let count = uses[key], count > 0 else {
                uses[key] = nil
                return
            }
            uses[key] = count - 1
            main.append(key)
        }
    }
}
