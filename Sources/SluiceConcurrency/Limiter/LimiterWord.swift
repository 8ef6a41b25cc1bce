/// The counts of a limiter, packed so that one atomic operation reads or changes them together.
///
///     63 ────────── 32   31        30 ────────── 0
///     waiting            watched   running
///
/// `waiting` only changes under the limiter's lock. While it is not zero, nobody enters or leaves without the lock, so
/// the word stands still for whoever holds it. `watched` says that somebody waits for the limiter to be idle: then
/// nobody leaves without the lock.
@usableFromInline
struct LimiterWord: Hashable, Sendable {
    @usableFromInline var bits: UInt64

    @inlinable
    init(bits: UInt64) {
        self.bits = bits
    }

    init(running: Int, waiting: Int, isWatched: Bool = false) {
        bits = UInt64(running) | UInt64(waiting) &<< 32 | (isWatched ? Self.watchedBit : 0)
    }

    /// The largest limit that fits.
    static var maximum: Int { Int(watchedBit - 1) }

    @usableFromInline static var watchedBit: UInt64 {
        @inlinable get { 1 &<< 31 }
    }

    @inlinable var running: UInt64 { bits & (Self.watchedBit &- 1) }
    @inlinable var waiting: UInt64 { bits &>> 32 }
    @inlinable var isWatched: Bool { bits & Self.watchedBit != 0 }

    /// After one more has entered; nil if no place is free or anyone waits.
    @inlinable
    func entered(limit: UInt64) -> LimiterWord? {
        waiting == 0 && running < limit ? LimiterWord(bits: bits &+ 1) : nil
    }

    /// After one has left; nil if anyone must be told about it.
    @inlinable
    func left() -> LimiterWord? {
        bits < Self.watchedBit ? LimiterWord(bits: bits &- 1) : nil
    }
}

/// Where the word is kept, and the two operations on it.
///
/// The limiter runs over an `Atomic`; the explorer of interleavings over a cell that stops before each operation, by
/// throwing, which the shipped cell never does (`Interruption == Never`, and no code is left of it).
@usableFromInline
protocol LimiterWordCell: ~Copyable {
    associatedtype Interruption: Error

    func load() throws(Interruption) -> LimiterWord

    /// Replaces the word if it is what the caller expects; returns nil, or what is there instead.
    func replace(_ expected: LimiterWord, with word: LimiterWord) throws(Interruption) -> LimiterWord?
}

extension LimiterWordCell where Self: ~Copyable {
    /// Enters if a place is free and nobody waits, without the lock.
    @inlinable
    func enterAtOnce(limit: UInt64) throws(Interruption) -> Bool {
        var word = try load()
        while let entered = word.entered(limit: limit) {
            guard let found = try replace(word, with: entered) else { return true }
            word = found
        }
        return false
    }

    /// Leaves if nobody must be told, without the lock.
    @inlinable
    func leaveAtOnce() throws(Interruption) -> Bool {
        var word = try load()
        while let left = word.left() {
            guard let found = try replace(word, with: left) else { return true }
            word = found
        }
        return false
    }
}
