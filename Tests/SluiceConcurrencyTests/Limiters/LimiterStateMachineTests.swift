import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `The state machine of a limiter` {
    struct Wakeup: Equatable {
        var name: String
        var outcome: LimiterOutcome
    }

    var limiter = PlainLimiter<String>(limit: 1)

    @Test
    mutating func `a released place goes to the first task in line and is never free in between`() throws {
        try enter()
        try line("first")
        try line("second")

        #expect(leave() == [Wakeup(name: "first", outcome: .granted)])
        #expect(limiter.word.running == 1)
        #expect(limiter.word.isCrowded)
        #expect(leave() == [Wakeup(name: "second", outcome: .granted)])
        #expect(limiter.word.running == 1)
        #expect(!limiter.word.isCrowded)
        #expect(leave() == [])
        #expect(limiter.word.running == 0)
        #expect(limiter.granted == 3)
        #expect(limiter.peak == 1)
    }

    @Test
    mutating func `cancelling the first task in line admits the next`() throws {
        try enter()
        let first = try line("first")
        try line("second")

        #expect(
            wakes(limiter.change { $0.end(&$1, first, .cancelled) }) == [Wakeup(name: "first", outcome: .cancelled)])

        #expect(leave() == [Wakeup(name: "second", outcome: .granted)])
    }

    /// Pitfall: the tasks behind a cancelled head, which need less than it did, aren't considered.
    @Test
    mutating func `cancelling a heavy task at the head of the line admits the tasks behind it that fit`() throws {
        _ = resize(to: 4)
        try enter(weight: 2)
        let heavy = try line("heavy", weight: 3)
        try line("light")
        try line("another")
        try line("too many")

        let woken = wakes(limiter.change { $0.end(&$1, heavy, .cancelled) })

        #expect(
            woken == [
                Wakeup(name: "heavy", outcome: .cancelled), Wakeup(name: "light", outcome: .granted),
                Wakeup(name: "another", outcome: .granted),
            ])
        #expect(limiter.word.running == 4)
        #expect(limiter.machine.line.count == 1)
    }

    @Test
    mutating func `no task overtakes a heavy task at the head of the line, even if it would fit`() throws {
        _ = resize(to: 3)
        try enter(weight: 2)
        try line("heavy", weight: 3)
        try line("light")

        #expect(limiter.machine.line.count == 2)
        #expect(leave(weight: 2) == [Wakeup(name: "heavy", outcome: .granted)])
        #expect(leave(weight: 3) == [Wakeup(name: "light", outcome: .granted)])
    }

    @Test
    mutating func `a heavy task that leaves admits all tasks that fit`() throws {
        _ = resize(to: 3)
        try enter(weight: 3)
        for name in ["a", "b", "c", "d"] { try line(name) }

        #expect(leave(weight: 3).map(\.name) == ["a", "b", "c"])
        #expect(leave().map(\.name) == ["d"])
        #expect(!limiter.word.isCrowded)
    }

    @Test
    mutating func `a place granted before the waiter suspends is kept for it, even if it's cancelled then`() throws {
        try enter()
        let ticket = try #require(wait())

        #expect(leave() == [])
        #expect(wakes(limiter.change { $0.end(&$1, ticket, .cancelled) }) == [])
        #expect(limiter.machine.suspend(ticket, "late") == .granted)
        #expect(leave() == [])
        #expect(limiter.word.running == 0)
        #expect(limiter.machine.line.slotCount == 0)
    }

    @Test
    mutating func `a task cancelled before it suspends leaves no trace`() throws {
        try enter()
        let ticket = try #require(wait())

        #expect(wakes(limiter.change { $0.end(&$1, ticket, .cancelled) }) == [])
        #expect(limiter.machine.suspend(ticket, "late") == .cancelled)
        #expect(limiter.machine.line.slotCount == 0)
        #expect(!limiter.word.isCrowded)
    }

    /// Admission depends only on the limit and the running tasks, never on how the limit changed.
    @Test
    mutating func `a limit that falls and rises again admits no task too many`() throws {
        _ = resize(to: 4)
        for _ in 0..<4 { try enter() }
        for name in ["a", "b", "c"] { try line(name) }

        #expect(resize(to: 1) == [])
        #expect(resize(to: 4) == [])
        #expect(resize(to: 2) == [])
        #expect(leave() == [])
        #expect(leave() == [])
        #expect(leave() == [Wakeup(name: "a", outcome: .granted)])
        #expect(resize(to: 3) == [Wakeup(name: "b", outcome: .granted)])
        #expect(limiter.word.running == 3)
    }

    @Test
    mutating func `tasks that wait for more than the new limit fail, and the next one is considered`() throws {
        _ = resize(to: 3)
        try enter(weight: 2)
        try line("heavy", weight: 3)
        try line("light")

        let woken = resize(to: 2)
        #expect(woken == [Wakeup(name: "heavy", outcome: .tooHeavy)])
        #expect(leave(weight: 2) == [Wakeup(name: "light", outcome: .granted)])
    }

    @Test
    mutating func `watchers are resumed when the last task has left, not before`() throws {
        try enter()
        try line("next")
        let isIdle = limiter.change { $0.watch(&$1, "watcher") } == nil
        #expect(!isIdle)
        #expect(limiter.word.left(weight: 1) == nil, "no task may leave without the lock now")

        #expect(leave() == [Wakeup(name: "next", outcome: .granted)])
        #expect(leave() == [Wakeup(name: "watcher", outcome: .granted)])
        let isIdleNow = limiter.change { $0.watch(&$1, "late") } == nil
        #expect(isIdleNow)
    }

    @Test
    mutating func `a watch that ended early isn't resumed again, and one that hasn't suspended finds its outcome`()
        throws
    {
        try enter()
        let watches = (limiter.change { $0.watch(&$1) }, limiter.change { $0.watch(&$1) })
        let (early, late) = (try #require(watches.0), try #require(watches.1))
        let known = limiter.machine.suspendWatcher(early, "early")
        let ended = limiter.machine.endWatch(early, .expired)
        let endedAgain = limiter.machine.endWatch(early, .cancelled)
        #expect((known, ended, endedAgain) == (nil, "early", nil))

        #expect(leave() == [])
        let outcome = limiter.machine.suspendWatcher(late, "late")
        #expect(outcome == .granted)
    }

    @Test
    mutating func `cancelWaiting leaves uninterruptible tasks in line`() throws {
        try enter()
        try line("first")
        let request = LimiterRequest(isInterruptible: false)
        guard case .wait = limiter.change({ $0.enter(&$1, request, suspended: "stubborn") }) else { throw Unexpected() }
        try line("last")

        #expect(wakes(limiter.change { $0.cancelWaiting(&$1) }).map(\.name) == ["first", "last"])
        #expect(limiter.machine.line.count == 1)
        #expect(leave() == [Wakeup(name: "stubborn", outcome: .granted)])
    }

    @Test
    mutating func `one hundred thousand cancelled waiters leave no trace`() throws {
        try enter()
        var tickets: [LimiterStateMachine<String>.Ticket] = []
        for _ in 0..<100_000 { tickets.append(try line("waiter")) }

        var cancelled = 0
        for ticket in tickets where limiter.change({ $0.end(&$1, ticket, .cancelled) }).first != nil { cancelled += 1 }

        #expect(cancelled == 100_000)
        #expect(limiter.machine.line.slotCount == 0)
        #expect(limiter.word.running == 1)
        #expect(!limiter.word.isCrowded)
    }

    @Test
    mutating func `the count of entered tasks doesn't overflow into other fields`() throws {
        for number in 1...200_000 {
            if !limiter.enterImmediately(weight: 1) { try enter() }
            if number % 3 == 0 || !limiter.leaveImmediately(weight: 1) { if limiter.word.running == 1 { _ = leave() } }
        }

        #expect(limiter.granted == 200_000)
        #expect(limiter.word.running == 0)
        #expect(!limiter.word.isWatched && !limiter.word.isCrowded)
    }

    @Test
    mutating func `releasing a place twice traps with a message`() async {
        await #expect(processExitsWith: .failure) {
            var limiter = PlainLimiter<String>(limit: 1)
            _ = limiter.change { $0.leave(&$1, weight: 1) }
        }
    }

    // MARK: Shorthand

    private mutating func enter(weight: UInt64 = 1) throws {
        guard case .run = limiter.change({ $0.enter(&$1, LimiterRequest(weight: weight)) }) else { throw Unexpected() }
    }

    private mutating func wait(weight: UInt64 = 1) -> LimiterStateMachine<String>.Ticket? {
        guard case .wait(let ticket) = limiter.change({ $0.enter(&$1, LimiterRequest(weight: weight)) }) else {
            return nil
        }
        return ticket
    }

    @discardableResult
    private mutating func line(_ name: String, weight: UInt64 = 1) throws -> LimiterStateMachine<String>.Ticket {
        let ticket = try #require(wait(weight: weight))
        #expect(limiter.machine.suspend(ticket, name) == nil)
        return ticket
    }

    private mutating func leave(weight: UInt64 = 1) -> [Wakeup] {
        wakes(limiter.change { $0.leave(&$1, weight: weight) })
    }

    private mutating func resize(to limit: UInt64) -> [Wakeup] { wakes(limiter.change { $0.resize(&$1, to: limit) }) }

    private func wakes(_ wakeups: LimiterWakeups<String>) -> [Wakeup] {
        ([wakeups.first].compactMap(\.self) + wakeups.others).map { Wakeup(name: $0.waiter, outcome: $0.outcome) }
    }

    struct Unexpected: Error {}
}

// MARK: - A limiter without threads

/// A limiter's word and machine, used by one thread.
struct PlainLimiter<Waiter: Sendable> {
    private(set) var word = LimiterWord(bits: 0)
    var machine: LimiterStateMachine<Waiter>
    private(set) var peak: UInt64 = 0

    init(limit: UInt64) {
        machine = LimiterStateMachine(limit: limit)
    }

    var granted: UInt64 { machine.granted(word) }

    mutating func change<Value>(_ event: (inout LimiterStateMachine<Waiter>, inout LimiterWord) -> Value) -> Value {
        let value = event(&machine, &word)
        word = machine.opened(word)
        peak = max(peak, word.running)
        return value
    }

    mutating func enterImmediately(weight: UInt64) -> Bool {
        guard let entered = word.entered(limit: machine.limit, weight: weight) else { return false }
        word = entered
        return true
    }

    mutating func leaveImmediately(weight: UInt64) -> Bool {
        guard let left = word.left(weight: weight) else { return false }
        word = left
        return true
    }
}

// MARK: - Any order of events

/// Compares thousands of random events with a naive limiter that has priorities, weights of zero and watchers.
@Suite struct `Any order of events matches the naive limiter` {
    typealias Machine = LimiterStateMachine<Int>
    typealias Wakeup = NaiveLimiter.Wakeup

    struct Naive {
        var limit: Int
        var line = NaiveLine()
        /// The weights of the tasks that hold places.
        var held: [Int: Int] = [:]
        var watchers: [Int] = []

        var running: Int { held.values.reduce(0, +) }

        mutating func enter(_ task: Int, _ weight: Int, _ priority: UInt8, isInterruptible: Bool) -> NaiveLimiter.Entry
        {
            if weight > limit { return .refuse }
            if line.wouldBeNext(priority), running + weight <= limit {
                held[task] = weight
                line.passOver()
                return .run
            }
            line.join(.init(task: task, priority: priority, weight: weight, isInterruptible: isInterruptible))
            return .wait
        }

        /// Admits all tasks that fit, in order, and wakes the watchers if the limiter is idle.
        mutating func settle() -> [Wakeup] {
            var wakes: [Wakeup] = []
            while let next = line.next, running + next.weight <= limit {
                _ = line.takeNext()
                held[next.task] = next.weight
                wakes.append(Wakeup(task: next.task, outcome: .granted))
            }
            if held.isEmpty, line.waiters.isEmpty {
                wakes += watchers.map { Wakeup(task: $0, outcome: .granted) }
                watchers = []
            }
            return wakes
        }
    }

    @Test(arguments: UInt64(0)..<30)
    func `after each event, the same tasks run, wait and are resumed`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var limiter = PlainLimiter<Int>(limit: 4)
        var naive = Naive(limit: 4)
        /// The last tickets of all tasks, including tasks that have left.
        var tickets: [Int: Machine.Ticket] = [:]
        var watches: [Int: Machine.Watch] = [:]
        /// The tasks that are or were in line and haven't suspended.
        var awake: Set<Int> = []
        var outcomes: [Int: LimiterOutcome] = [:]
        let priorities: [UInt8] = seed % 4 == 0 ? [0] : [9, 17, 25]

        func compare(_ wakeups: LimiterWakeups<Int>, _ expected: [Wakeup], _ event: String) {
            let actual = ([wakeups.first].compactMap(\.self) + wakeups.others)
                .map { Wakeup(task: $0.waiter, outcome: $0.outcome) }
            for wake in expected where awake.contains(wake.task) { outcomes[wake.task] = wake.outcome }
            let suspended = expected.filter { !awake.contains($0.task) }
            if actual != suspended { Issue.record("\(event): \(actual), not \(suspended)") }
        }

        for task in 0..<1_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<7:
                let weight = [0, 0, 1, 1, 2, 3, 5].randomElement(using: &random)!
                let priority = priorities.randomElement(using: &random)!
                let isInterruptible = Bool.random(using: &random)
                let expected = naive.enter(task, weight, priority, isInterruptible: isInterruptible)
                if limiter.enterImmediately(weight: UInt64(weight)) {
                    #expect(expected == .run)
                    continue
                }
                let request = LimiterRequest(
                    weight: UInt64(weight), priority: priority, isInterruptible: isInterruptible)
                switch limiter.change({ $0.enter(&$1, request) }) {
                case .run(let wakeups):
                    #expect(expected == .run)
                    compare(wakeups, naive.settle(), "enter")
                case .refuse: #expect(expected == .refuse)
                case .wait(let ticket):
                    #expect(expected == .wait)
                    tickets[task] = ticket
                    if Bool.random(using: &random) {
                        awake.insert(task)
                    } else {
                        #expect(limiter.machine.suspend(ticket, task) == nil)
                    }
                }
            case 7..<13:
                guard let (holder, weight) = naive.held.sorted(by: { $0.key < $1.key }).randomElement(using: &random)
                else { continue }
                naive.held[holder] = nil
                let expected = naive.settle()
                if limiter.leaveImmediately(weight: UInt64(weight)) {
                    #expect(expected == [])
                } else {
                    compare(limiter.change { $0.leave(&$1, weight: UInt64(weight)) }, expected, "leave")
                }
            case 13:
                guard let task = tickets.keys.sorted().suffix(60).randomElement(using: &random),
                    let ticket = tickets[task]
                else {
                    continue
                }
                let ended = naive.line.remove { $0.task == task }.map { Wakeup(task: $0.task, outcome: .cancelled) }
                compare(limiter.change { $0.end(&$1, ticket, .cancelled) }, ended + naive.settle(), "cancel")
            case 14:
                guard let task = tickets.keys.sorted().suffix(60).randomElement(using: &random),
                    let ticket = tickets[task]
                else {
                    continue
                }
                let priority = ([33] + priorities).randomElement(using: &random)!
                naive.line.raise(task, to: priority)
                compare(limiter.change { $0.raise(&$1, ticket, to: priority) }, naive.settle(), "raise")
            case 15:
                guard let task = awake.sorted().randomElement(using: &random), let ticket = tickets[task] else {
                    continue
                }
                awake.remove(task)
                #expect(limiter.machine.suspend(ticket, task) == outcomes.removeValue(forKey: task))
            case 16:
                let limit = Int.random(in: 1...6, using: &random)
                naive.limit = limit
                let ended = naive.line.remove { $0.weight > limit }.map { Wakeup(task: $0.task, outcome: .tooHeavy) }
                compare(limiter.change { $0.resize(&$1, to: UInt64(limit)) }, ended + naive.settle(), "resize")
            case 17 where Int.random(in: 0..<10, using: &random) == 0:
                let ended = naive.line.remove(where: \.isInterruptible).map {
                    Wakeup(task: $0.task, outcome: .cancelled)
                }
                compare(limiter.change { $0.cancelWaiting(&$1) }, ended + naive.settle(), "cancelWaiting")
            case 18:
                let watch = limiter.change { $0.watch(&$1, task) }
                watches[task] = watch
                #expect((watch == nil) == naive.held.isEmpty)
                if watch != nil { naive.watchers.append(task) }
            case 19:
                guard let watcher = watches.keys.sorted().randomElement(using: &random), let watch = watches[watcher]
                else {
                    continue
                }
                let expected = naive.watchers.contains(watcher) ? watcher : nil
                naive.watchers.removeAll { $0 == watcher }
                #expect(limiter.machine.endWatch(watch, .expired) == expected)
            default: continue
            }
            let counts = [Int(limiter.word.running), limiter.machine.line.count, limiter.machine.watchers.count]
            let isRight =
                counts == [naive.running, naive.line.waiters.count, naive.watchers.count]
                && limiter.word.isCrowded == !naive.line.waiters.isEmpty
                && (limiter.word.isWatched || naive.watchers.isEmpty)
            if !isRight { Issue.record("\(counts), \(limiter.word), \(naive)") }
        }

        // All tasks leave, one after the other. None may remain.
        while let (holder, weight) = naive.held.first {
            naive.held[holder] = nil
            let expected = naive.settle()
            if limiter.leaveImmediately(weight: UInt64(weight)) {
                #expect(expected == [])
            } else {
                compare(limiter.change { $0.leave(&$1, weight: UInt64(weight)) }, expected, "leave")
            }
        }
        for task in awake { #expect(limiter.machine.suspend(tickets[task]!, task) == outcomes[task]) }
        #expect(
            (
                limiter.machine.line.count, limiter.machine.line.slotCount, limiter.machine.watchers.count,
                limiter.machine.weightless
            ) == (0, 0, 0, 0))
        #expect(!limiter.word.isWatched && !limiter.word.isCrowded && limiter.word.running == 0)
    }
}

// MARK: - The naive line

/// The waiting tasks of a limiter, as a plain list that is searched from the beginning each time. Random tests compare with it.
struct NaiveLine {
    struct Waiter {
        let task: Int
        var priority: UInt8
        let weight: Int
        let isInterruptible: Bool
    }

    /// In the order in which they joined their priority.
    private(set) var waiters: [Waiter] = []
    private var passedOver: [UInt8: Int] = [:]

    private var priorities: [UInt8] { Set(waiters.map(\.priority)).sorted(by: >) }

    var next: Waiter? {
        guard var next = priorities.first else { return nil }
        for priority in priorities where passes(priority) >= 16 && passes(priority) > passes(next) { next = priority }
        return waiters.first { $0.priority == next }
    }

    func wouldBeNext(_ priority: UInt8) -> Bool {
        priorities.allSatisfy { $0 < priority && passes($0) < 16 }
    }

    mutating func join(_ waiter: Waiter) { waiters.append(waiter) }

    mutating func passOver() {
        for priority in priorities { passedOver[priority, default: 0] += 1 }
    }

    mutating func takeNext() -> Waiter? {
        guard let next else { return nil }
        waiters.removeAll { $0.task == next.task }
        passOver()
        passedOver[next.priority] = 0
        tidy()
        return next
    }

    /// Returns the removed waiters, in the order of the line.
    mutating func remove(where predicate: (Waiter) -> Bool) -> [Waiter] {
        let removed = priorities.flatMap { priority in waiters.filter { $0.priority == priority && predicate($0) } }
        waiters.removeAll(where: predicate)
        tidy()
        return removed
    }

    mutating func raise(_ task: Int, to priority: UInt8) {
        guard let index = waiters.firstIndex(where: { $0.task == task && $0.priority < priority }) else { return }
        var waiter = waiters.remove(at: index)
        waiter.priority = priority
        tidy()
        waiters.append(waiter)
    }

    private func passes(_ priority: UInt8) -> Int { passedOver[priority] ?? 0 }

    private mutating func tidy() {
        let priorities = priorities
        passedOver = passedOver.filter { priorities.contains($0.key) }
    }
}
