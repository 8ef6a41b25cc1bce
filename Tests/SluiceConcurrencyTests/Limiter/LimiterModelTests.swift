import TestSupport
import Testing

@testable import SluiceConcurrency

/// Thousands of random events, each compared with a naive limiter with priorities, weights of zero and watchers.
@Suite struct `Any order of events leaves the limiter as the naive one` {
    typealias Machine = LimiterStateMachine<Int>
    typealias Wake = NaiveLimiter.Wake

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

        /// Admits all that fit, in order, and tells the watchers if nothing is left.
        mutating func settle() -> [Wake] {
            var wakes: [Wake] = []
            while let next = line.next, running + next.weight <= limit {
                _ = line.takeNext()
                held[next.task] = next.weight
                wakes.append(Wake(task: next.task, outcome: .granted))
            }
            if held.isEmpty, line.waiters.isEmpty {
                wakes += watchers.map { Wake(task: $0, outcome: .granted) }
                watchers = []
            }
            return wakes
        }
    }

    @Test(arguments: UInt64(0)..<30)
    func `after each event the same tasks run, wait, and are told`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let cell = `The state machine of a limiter`.PlainCell()
        cell.limit = 4
        var machine = Machine(limit: 4)
        var naive = Naive(limit: 4)
        /// The last tickets of all tasks, also of those that have left.
        var tickets: [Int: Machine.Ticket] = [:]
        var watches: [Int: Machine.Watch] = [:]
        /// The tasks that are in line, or were, and haven't suspended.
        var awake: Set<Int> = []
        var outcomes: [Int: LimiterOutcome] = [:]
        let priorities: [UInt8] = seed % 4 == 0 ? [0] : [9, 17, 25]

        func compare(_ wakeups: LimiterWakeups<Int>, _ expected: [Wake], _ event: String) {
            let actual = ([wakeups.first].compactMap(\.self) + wakeups.others)
                .map { Wake(task: $0.waiter, outcome: $0.outcome) }
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
                if cell.enterImmediately(weight: UInt64(weight)) {
                    #expect(expected == .run)
                    continue
                }
                let request = LimiterRequest(
                    weight: UInt64(weight), priority: priority, isInterruptible: isInterruptible)
                switch machine.enter(cell, request) {
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
                        #expect(machine.suspend(ticket, task) == nil)
                    }
                }
            case 7..<13:
                guard let (holder, weight) = naive.held.sorted(by: { $0.key < $1.key }).randomElement(using: &random)
                else { continue }
                naive.held[holder] = nil
                let expected = naive.settle()
                if cell.leaveImmediately(weight: UInt64(weight)) {
                    #expect(expected == [])
                } else {
                    compare(machine.leave(cell, weight: UInt64(weight)), expected, "leave")
                }
            case 13:
                guard let task = tickets.keys.sorted().suffix(60).randomElement(using: &random),
                    let ticket = tickets[task]
                else {
                    continue
                }
                let ended = naive.line.remove { $0.task == task }.map { Wake(task: $0.task, outcome: .cancelled) }
                compare(machine.end(ticket, .cancelled, cell), ended + naive.settle(), "cancel")
            case 14:
                guard let task = tickets.keys.sorted().suffix(60).randomElement(using: &random),
                    let ticket = tickets[task]
                else {
                    continue
                }
                let priority = ([33] + priorities).randomElement(using: &random)!
                naive.line.raise(task, to: priority)
                compare(machine.raise(ticket, to: priority, cell), naive.settle(), "raise")
            case 15:
                guard let task = awake.sorted().randomElement(using: &random), let ticket = tickets[task] else {
                    continue
                }
                awake.remove(task)
                #expect(machine.suspend(ticket, task) == outcomes.removeValue(forKey: task))
            case 16:
                let limit = Int.random(in: 1...6, using: &random)
                naive.limit = limit
                let ended = naive.line.remove { $0.weight > limit }.map { Wake(task: $0.task, outcome: .tooHeavy) }
                compare(machine.resize(to: UInt64(limit), cell), ended + naive.settle(), "resize")
            case 17 where Int.random(in: 0..<10, using: &random) == 0:
                let ended = naive.line.remove(where: \.isInterruptible).map { Wake(task: $0.task, outcome: .cancelled) }
                compare(machine.cancelWaiting(cell), ended + naive.settle(), "cancelWaiting")
            case 18:
                let watch = machine.watch(cell, task)
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
                #expect(machine.endWatch(watch, .expired) == expected)
            default: continue
            }
            let counts = [Int(cell.word.running), machine.line.count, machine.watchers.count]
            let isRight =
                counts == [naive.running, naive.line.waiters.count, naive.watchers.count]
                && cell.word.isCrowded == !naive.line.waiters.isEmpty
                && (cell.word.isWatched || naive.watchers.isEmpty)
            if !isRight { Issue.record("\(counts), \(cell.word), \(naive)") }
        }

        // All leave, one after the other: no task may be left.
        while let (holder, weight) = naive.held.first {
            naive.held[holder] = nil
            let expected = naive.settle()
            if cell.leaveImmediately(weight: UInt64(weight)) {
                #expect(expected == [])
            } else {
                compare(machine.leave(cell, weight: UInt64(weight)), expected, "leave")
            }
        }
        for task in awake { #expect(machine.suspend(tickets[task]!, task) == outcomes[task]) }
        #expect(
            (machine.line.count, machine.line.slotCount, machine.watchers.count, machine.weightless) == (0, 0, 0, 0))
        #expect(!cell.word.isWatched && !cell.word.isCrowded && cell.word.running == 0)
    }
}
