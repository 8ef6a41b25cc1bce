/// The state that decides whether a task can enter or leave without the lock, packed into one atomic word.
///
/// ```text
/// 63         62 ── 48   47        46        45        44 ── 0
/// full       granted    crowded   watched   tracked   running
/// ```
///
/// - `running`: the sum of the weights of the tasks that hold places. A task of weight zero doesn't show here, so it always enters and
///   leaves with the lock, and the machine counts it.
/// - `crowded`: a task waits. No task enters or leaves without the lock, so the word doesn't change while the lock is held.
/// - `watched`: a task waits for the limiter to become idle. No task leaves without the lock.
/// - `tracked`: holders are recorded. No task ever enters or leaves without the lock.
/// - `granted`: the number of tasks that have entered since the locked machine last took over the number.
/// - `full`: the top bit of `granted`. The next task enters through the lock, which moves the count to the machine, so the
///   count is exact and costs nothing. The count also makes two words different if the limit was changed between them.
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

    static var maximum: Int { Int(weights) }

    @inlinable var running: UInt64 { bits & Self.weights }
    var granted: UInt64 { bits &>> 48 }
    var isCrowded: Bool { bits & Self.crowded != 0 }
    var isWatched: Bool { bits & Self.watched != 0 }

    /// `nil` if there is no place, or the task must enter through the lock.
    @inlinable
    func entered(limit: UInt64, weight: UInt64) -> LimiterWord? {
        guard bits & (Self.crowded | Self.tracked | Self.full) == 0, weight > 0, running &+ weight <= limit else {
            return nil
        }
        return LimiterWord(bits: bits &+ Self.oneGranted &+ weight)
    }

    /// `nil` if another task must be resumed, or the task must leave through the lock.
    @inlinable
    func left(weight: UInt64) -> LimiterWord? {
        guard bits & (Self.crowded | Self.watched | Self.tracked) == 0, weight > 0 else { return nil }
        return LimiterWord(bits: bits &- weight)
    }
}

/// The storage of the word, with the operations on it.
///
/// The limiter uses `Atomic`s. The explorer of interleavings uses a cell that stops before each operation by throwing an error.
/// The cell of the limiter never throws (`Interruption == Never`), and the compiler removes the code for it.
@usableFromInline
protocol LimiterWordCell: ~Copyable {
    associatedtype Interruption: Error

    func load() throws(Interruption) -> LimiterWord

    /// The limit at the time of the previously loaded word, or a newer one. A task that changes the limit changes the word
    /// afterward, so `replace` fails for a task that has loaded an outdated limit.
    func loadLimit() throws(Interruption) -> UInt64

    func storeLimit(_ limit: UInt64) throws(Interruption)

    /// Replaces the word if it's the expected one, and returns `nil`; otherwise returns the current word.
    func replace(_ expected: LimiterWord, with word: LimiterWord) throws(Interruption) -> LimiterWord?

    func note(running: UInt64)
}

extension LimiterWordCell where Self: ~Copyable {
    /// Enters without the lock if there is a place and no task waits.
    @inlinable
    func enterImmediately(weight: UInt64) throws(Interruption) -> Bool {
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

    @inlinable
    func leaveImmediately(weight: UInt64) throws(Interruption) -> Bool {
        var word = try load()
        while let left = word.left(weight: weight) {
            guard let found = try replace(word, with: left) else { return true }
            word = found
        }
        return false
    }
}
