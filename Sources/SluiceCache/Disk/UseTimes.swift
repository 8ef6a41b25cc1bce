import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The times of the last uses of entries, collected in memory until the next write to the index.
final class UseTimes: Sendable {
    /// The number of collected uses after which a lookup writes them to the index.
    static let batch = 512
    /// The largest number of collected uses. Further ones are dropped, and the order of eviction is slightly less exact.
    private static let limit = 4096

    fileprivate struct State {
        var pending: [Int64: Int64] = [:]
        var last: Int64 = 0
    }

    private let state = Lock(State())

    @discardableResult
    func note(_ row: Int64) -> Bool {
        let clock = Self.clock()
        return state.withLock { state in
            let time = state.next(clock)
            if state.pending[row] != nil || state.pending.count < Self.limit { state.pending[row] = time }
            return state.pending.count >= Self.batch
        }
    }

    /// Whether the collected uses should be written to the index.
    var isDue: Bool { state.withLock { $0.pending.count >= Self.batch } }

    /// Returns a time that is later than all earlier ones: microseconds since 1970, or one more than the last time.
    func next() -> Int64 {
        let clock = Self.clock()
        return state.withLock { $0.next(clock) }
    }

    func take() -> [Int64: Int64] {
        state.withLock { state in
            defer { state.pending = [:] }
            return state.pending
        }
    }

    private static func clock() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }
}

extension UseTimes.State {
    fileprivate mutating func next(_ clock: Int64) -> Int64 {
        last = max(last + 1, clock)
        return last
    }
}
