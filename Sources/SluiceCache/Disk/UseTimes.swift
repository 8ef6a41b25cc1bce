import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// When entries were last used, gathered in memory until somebody writes to the index anyway.
final class UseTimes: Sendable {
    /// So many may be gathered before a lookup writes them down itself.
    static let batch = 64
    /// More are forgotten: the order of eviction is then a little less exact.
    private static let limit = 4096

    fileprivate struct State {
        var pending: [Int64: Int64] = [:]
        var last: Int64 = 0
    }

    private let state = Lock(State())

    /// Notes a use, and says whether there are enough to be written down.
    @discardableResult
    func note(_ row: Int64) -> Bool {
        let clock = Self.clock()
        return state.withLock { state in
            let time = state.next(clock)
            if state.pending[row] != nil || state.pending.count < Self.limit { state.pending[row] = time }
            return state.pending.count >= Self.batch
        }
    }

    /// A time later than all before: microseconds since 1970, or one more than the last.
    func next() -> Int64 {
        let clock = Self.clock()
        return state.withLock { $0.next(clock) }
    }

    /// Hands out what was gathered.
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
