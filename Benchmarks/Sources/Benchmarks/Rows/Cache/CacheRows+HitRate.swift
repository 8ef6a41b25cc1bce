import Foundation
import SluiceCache

/// The share of lookups that a full cache answers. The trace has keys whose popularity follows Zipf's law, and scans over keys that are
/// looked up once, as when a user scrolls through a long list.
extension CacheRows {
    static var hitRates: [Row] {
        [
            hitRate(against: "LRU", figure: .atLeast(1)) { LeastRecentlyUsed(maximumCount: $0) },
            hitRate(against: "S3-FIFO") { S3FIFO(maximumCount: $0) },
        ]
    }

    private static func hitRate(
        against peer: String, figure: Figure? = nil, _ make: @escaping (Int) -> any EvictionPolicy
    ) -> Row {
        Row("cache/hits of a Zipf trace with scans", .percent, against: peer, figure: figure) { stage, rounds in
            let trace = trace(stage.count(2_000_000, quick: 200_000))
            let capacity = 2_000
            try await rounds(
                {
                    let cache = MemoryCache<Int, Void>(maximumCost: .max, maximumCount: capacity)
                    return try await hits(of: trace) { key in
                        if cache.value(for: key) != nil { return true }
                        cache.insert((), for: key, cost: 1)
                        return false
                    }
                },
                {
                    var policy = make(capacity)
                    return try await hits(of: trace) { policy.use($0) }
                })
        }
    }

    /// Returns a sample whose bytes are the hits.
    private static func hits(of trace: [Int], _ use: (Int) -> Bool) async throws -> Sample {
        var hits = 0
        var sample = try await timed(trace.count, expecting: trace.count) {
            for key in trace where use(key) { hits += 1 }
            return trace.count
        }
        sample.bytes = hits
        return sample
    }

    /// Keys from 0 to 99,999 with an exponent of 0.9, and after each 20,000 of them a scan over 4,000 other keys.
    private static func trace(_ count: Int) -> [Int] {
        var cumulative: [Double] = []
        var sum = 0.0
        for rank in 1...100_000 {
            sum += pow(Double(rank), -0.9)
            cumulative.append(sum)
        }
        srand48(7)
        var trace: [Int] = []
        var scanned = 100_000
        trace.reserveCapacity(count + 24_000)
        while trace.count < count {
            for _ in 0..<20_000 {
                let place = drand48() * sum
                var (low, high) = (0, cumulative.count - 1)
                while low < high {
                    let middle = (low + high) / 2
                    if cumulative[middle] <= place { low = middle + 1 } else { high = middle }
                }
                trace.append(low)
            }
            trace += scanned..<scanned + 4_000
            scanned += 4_000
        }
        return trace
    }
}
