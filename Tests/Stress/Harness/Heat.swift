import Synchronization
import TestSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A batch of rounds of a scenario that are prepared together, and their progress.
final class Heat: Sendable {
    let scenario: String
    let number: Int
    let rounds: Int
    let seed: UInt64
    let lead: Lead

    let firstWon = Counter()
    let secondWon = Counter()
    /// The rounds of the two racers, which the watchdog reports.
    let firstAt = Counter()
    let secondAt = Counter()
    /// The number of waits that have ended.
    let ended = Counter()
    /// How often a racer waited at a starting line for the other, and how often the other arrived soon, on another thread. On two free
    /// processors, the two counts are equal.
    let linedUp = Counter()
    let sideBySide = Counter()
    /// A remark about the scenario, for the table.
    let remark = Remark()

    init(scenario: String, number: Int, rounds: Int, seed: UInt64, lead: Lead) {
        self.scenario = scenario
        self.number = number
        self.rounds = rounds
        self.seed = seed
        self.lead = lead
    }

    /// Increases with every step of a racer or waiter.
    var steps: Int { firstAt.value &+ secondAt.value &+ ended.value &+ firstWon.value &+ secondWon.value }

    var description: String {
        """
        \(scenario), heat \(number) of \(rounds) rounds: the racers are at \(firstAt.value) and \(secondAt.value), \
        \(ended.value) waits ended, won \(firstWon.value) to \(secondWon.value)
        """
    }

    /// Runs all rounds in two tasks side by side, which line up before each round.
    ///
    ///     first    ── 0 ─┬──── 1 ─┬── 2 ─ …        a random delay on either side of each line, so that either may be
    ///     second   ──── 0 ┴─ 1 ───┴─── 2 ─ …       ahead by some nanoseconds, or by its lead
    func race(
        _ first: @escaping @Sendable (Int) async -> Void, against second: @escaping @Sendable (Int) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.lane(.first, self.firstAt, self.secondAt, first) }
            group.addTask { await self.lane(.second, self.secondAt, self.firstAt, second) }
        }
    }

    /// The number of turns that a racer waits for the other. If no second processor is free, it waits long only in some rounds.
    func patience(_ round: Int, found: Bool) -> Int {
        found || round.isMultiple(of: 16) ? 100_000 : 1_000
    }

    private func lane(
        _ side: Side, _ mine: Counter, _ other: Counter, _ body: @Sendable (Int) async -> Void
    ) async {
        var random = SeededRandom(seed: seed &* 2 &+ side.rawValue)
        var found = true
        for round in 0..<rounds {
            mine.add()
            linedUp.add()
            found = await spin(patience: patience(round, found: found)) { other.value > round }
            if found { sideBySide.add() }
            await holdBack(side, &random)
            await body(round)
        }
    }
}

/// Spins until another thread has acted. Yields its thread if that takes long, so that it works on one processor, if slowly.
/// Returns whether the wait was short.
@discardableResult
func spin(patience: Int = 1_000, until happened: () -> Bool) async -> Bool {
    var turns = 0
    while !happened() {
        turns += 1
        if turns > patience {
            // The other thread has no processor, or the other task has no thread.
            sched_yield()
            await Task.yield()
        }
    }
    return turns <= patience
}

/// Spins for a random time, up to about as long as one side of a race takes.
func delay(_ random: inout SeededRandom) {
    let turns = random.next() % 4 == 0 ? 0 : random.next() % 300
    for turn in 0..<turns { blackHole(turn) }
}

@inline(never) @_optimize(none)
func blackHole<Value>(_ value: Value) {}

/// A number that any thread may add to.
final class Counter: Sendable {
    private let atomic = Atomic(0)

    var value: Int { atomic.load(ordering: .sequentiallyConsistent) }

    /// Adds and returns the sum.
    @discardableResult
    func add(_ amount: Int = 1) -> Int { atomic.add(amount, ordering: .sequentiallyConsistent).newValue }

    /// Keeps the larger of the two values.
    func keepMaximum(_ value: Int) { _ = atomic.max(value, ordering: .sequentiallyConsistent) }
}

/// Text that is rarely written.
final class Remark: Sendable {
    private let state = Guarded("")

    var text: String {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

// MARK: - A value that any thread can drop

/// A reference that any thread can drop.
final class Slot<Value: Sendable>: Sendable {
    private let value: Guarded<Value?>

    init(_ value: Value?) { self.value = Guarded(value) }

    func take() -> Value? {
        value.withLock { value in
            defer { value = nil }
            return value
        }
    }

    var copy: Value? { value.withLock { $0 } }

    func drop() { _ = take() }

    func change(_ body: (inout Value?) -> Void) { value.withLock { body(&$0) } }
}

// MARK: - Counting visits

/// The number of running bodies, and the largest number that ran concurrently.
final class Occupancy: Sendable {
    let now = Counter()
    let most = Counter()

    func enter() { most.keepMaximum(now.add()) }
    func leave() { now.add(-1) }

    /// Enters, yields, and leaves.
    func visit() async {
        enter()
        // Part of the race: without it, no two visits overlap on one thread.
        await Task.yield()
        leave()
    }
}
