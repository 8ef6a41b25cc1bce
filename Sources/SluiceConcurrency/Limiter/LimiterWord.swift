/// What a limiter must know to let a task in or out, packed so that one atomic operation reads or changes it together.
///
/// ```text
/// 63         62 ── 48   47        46        45        44 ── 0
/// isFull     granted    crowded   watched   tracked   running
/// ```
///
/// - `running`: the weights of the tasks that hold places, added up.
/// - `crowded`: a task waits. Then no task enters or leaves without the lock, so the word stands still for its holder.
/// - `watched`: a task waits for the limiter to be idle. Then no task leaves without the lock.
/// - `tracked`: holders are recorded. Then no task ever enters or leaves without the lock.
/// - `granted`: how many have entered since the locked machine last took the number over. When it is full, the next one
///   goes by the lock, which empties it: so the count is exact and costs nothing. It also makes the word of two moments
///   different when the limit was changed between them.
@usableFromInline
struct LimiterWord: Hashable, Sendable {
    @usableFromInline var bits: UInt64

    @inlinable
    init(bits: UInt64) {
        self.bits = bits
    }

    @usableFromInline static var weights: UInt64 { @inlinable get { 1 &<< 45 &- 1 } }
    @usableFromInline static var tracked: UInt64 { @inlinable get { 1 &<< 45 } }
    @usableFromInline static var watched: UInt64 { @inlinable get { 1 &<< 46 } }
    @usableFromInline static var crowded: UInt64 { @inlinable get { 1 &<< 47 } }
    @usableFromInline static var oneGranted: UInt64 { @inlinable get { 1 &<< 48 } }
    @usableFromInline static var full: UInt64 { @inlinable get { 1 &<< 63 } }

    /// The largest limit that fits.
    static var maximum: Int { Int(weights) }

    @inlinable var running: UInt64 { bits & Self.weights }
    var granted: UInt64 { bits &>> 48 }
    var isCrowded: Bool { bits & Self.crowded != 0 }
    var isWatched: Bool { bits & Self.watched != 0 }

    /// After one more has entered; nil if there is no place for it, or it has to be by the lock.
    @inlinable
    func entered(limit: UInt64, weight: UInt64) -> LimiterWord? {
        guard bits & (Self.crowded | Self.tracked | Self.full) == 0, running &+ weight <= limit else { return nil }
        return LimiterWord(bits: bits &+ Self.oneGranted &+ weight)
    }

    /// After one has left; nil if anyone must be told about it, or it has to be by the lock.
    @inlinable
    func left(weight: UInt64) -> LimiterWord? {
        guard bits & (Self.crowded | Self.watched | Self.tracked) == 0 else { return nil }
        return LimiterWord(bits: bits &- weight)
    }
}

/// Where the word is kept, and the operations on it.
///
/// The limiter runs over `Atomic`s; the explorer of interleavings over a cell that stops before each operation, by
/// throwing, which the shipped cell never does (`Interruption == Never`, and no code is left of it).
@usableFromInline
protocol LimiterWordCell: ~Copyable {
    associatedtype Interruption: Error

    func load() throws(Interruption) -> LimiterWord

    /// The limit at the time of the word that was loaded before it, or a newer one: a task that changes the limit changes the
    /// word after it, so with a limit that has become too old nothing is replaced.
    func loadLimit() throws(Interruption) -> UInt64

    func storeLimit(_ limit: UInt64) throws(Interruption)

    /// Replaces the word if it is what the caller expects; returns nil, or what is there instead.
    func replace(_ expected: LimiterWord, with word: LimiterWord) throws(Interruption) -> LimiterWord?

    /// So much runs now; the most there ever was is kept.
    func note(running: UInt64)
}

extension LimiterWordCell where Self: ~Copyable {
    /// Enters if there is a place and no task waits, without the lock.
    @inlinable
    func enterAtOnce(weight: UInt64) throws(Interruption) -> Bool {
        var word = try load()
        while let entered = word.entered(limit: try loadLimit(), weight: weight) {
            guard let found = try replace(word, with: entered) else {
                note(running: entered.running)
                return true
            }
            word = found
        }
        return false
    }

    /// Leaves if no task must be told, without the lock.
    @inlinable
    func leaveAtOnce(weight: UInt64) throws(Interruption) -> Bool {
        var word = try load()
        while let left = word.left(weight: weight) {
            guard let found = try replace(word, with: left) else { return true }
            word = found
        }
        return false
    }
}
