@testable import SluiceConcurrency

/// A limiter's word and lock that let one task do one thing: a load, a compare-and-exchange, or taking the lock.
///
/// An operation of the shipped `LimiterSite` is run from its beginning each time; what it has done before is answered from
/// the task's log, then one new access is made, and at the one after that the operation is left by an error, to be
/// continued in the same way when it is that task's turn again. Letting go of the lock belongs to the last access before.
final class ExploredSite: LimiterSite {
    typealias Waiter = Int
    typealias Machine = LimiterStateMachine<Int>

    /// The operation was left before its next access.
    struct Pause: Error {}

    enum Answer: Hashable {
        case word(LimiterWord)
        case limit(UInt64)
        case stored
        case replaced
        case locked(Machine)
    }

    /// What all tasks share.
    struct Shared: Hashable {
        var word = LimiterWord(bits: 0)
        var limit: UInt64
        var peak: UInt64 = 0
        var machine: Machine
        var holder: Int?
    }

    /// A bug put in on purpose.
    enum Fault: CaseIterable, Sendable {
        /// The path with the lock stores the word without comparing.
        case lockedPathStores
        /// The path without the lock stores the word without comparing.
        case unlockedPathStores
        /// The path without the lock does not see that a task waits.
        case unlockedPathIsBlind
        /// The lock lets two in.
        case lockDoesNotExclude
        /// A change of the limit leaves the word unchanged.
        case resizeKeepsTheWord
        /// The path without the lock reads the limit only once, when the limiter is made.
        case limitIsStale
    }

    let fault: Fault?
    let firstLimit: UInt64
    var shared: Shared

    private var task = 0
    private var log: [Answer] = []
    private var position = 0
    private var allowance = 0
    private var isLocked = false

    init(limit: UInt64, fault: Fault?) {
        self.fault = fault
        firstLimit = limit
        shared = Shared(limit: limit, machine: Machine(limit: limit))
    }

    /// Runs one more access of the operation; returns its result, or nil if it is not done, and whether it could move.
    func advance<Result>(
        task: Int, log: inout [Answer], _ operation: (ExploredSite) throws(Pause) -> Result
    ) -> (result: Result?, moved: Bool) {
        (self.task, self.log, position, allowance, isLocked) = (task, log, 0, 1, false)
        do {
            let result = try operation(self)
            log = []
            return (result, true)
        } catch {
            let moved = self.log.count > log.count
            log = self.log
            return (nil, moved)
        }
    }

    private func access(_ perform: () -> Answer?) throws(Pause) -> Answer {
        if position == log.count {
            guard allowance > 0, let answer = perform() else { throw Pause() }
            allowance -= 1
            log.append(answer)
        }
        defer { position += 1 }
        return log[position]
    }

    // MARK: What the limiter's code calls

    func load() throws(Pause) -> LimiterWord {
        let answer = try access {
            let isBlind = fault == .unlockedPathIsBlind && !isLocked
            return .word(isBlind ? LimiterWord(bits: shared.word.bits & ~LimiterWord.crowded) : shared.word)
        }
        guard case .word(let word) = answer else { preconditionFailure("The operation is not deterministic.") }
        return word
    }

    func replace(_ expected: LimiterWord, with word: LimiterWord) throws(Pause) -> LimiterWord? {
        let answer = try access {
            if fault == .unlockedPathIsBlind && !isLocked {
                guard expected.running == shared.word.running else { return .word(shared.word) }
                shared.word = LimiterWord(bits: word.bits | shared.word.bits & LimiterWord.crowded)
                return .replaced
            }
            if fault == .resizeKeepsTheWord && isLocked && word.bits == expected.bits + LimiterWord.oneGranted {
                return .replaced
            }
            let stores = isLocked ? fault == .lockedPathStores : fault == .unlockedPathStores
            guard stores || expected == shared.word else { return .word(shared.word) }
            shared.word = word
            return .replaced
        }
        if case .word(let found) = answer { return found }
        return nil
    }

    func loadLimit() throws(Pause) -> UInt64 {
        let answer = try access { .limit(fault == .limitIsStale ? firstLimit : shared.limit) }
        guard case .limit(let limit) = answer else { preconditionFailure("The operation is not deterministic.") }
        return limit
    }

    func storeLimit(_ limit: UInt64) throws(Pause) {
        _ = try access {
            shared.limit = limit
            return .stored
        }
    }

    func note(running: UInt64) {
        shared.peak = max(shared.peak, running)
    }

    func withMachine<Value: Sendable, Failure: Error>(
        _ body: (inout Machine) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let answer: Answer
        do {
            answer = try access {
                guard shared.holder == nil || fault == .lockDoesNotExclude else { return nil }
                shared.holder = task
                return .locked(shared.machine)
            }
        } catch {
            throw error as! Failure
        }
        guard case .locked(var machine) = answer else { preconditionFailure("The operation is not deterministic.") }
        isLocked = true
        let value = try body(&machine)
        isLocked = false
        shared.machine = machine
        shared.holder = nil
        return value
    }
}
