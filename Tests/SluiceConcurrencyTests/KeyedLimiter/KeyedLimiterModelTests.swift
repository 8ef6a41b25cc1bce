import TestSupport
import Testing

@testable import SluiceConcurrency

/// Thousands of random events, each compared with a naive limiter: with priorities, watchers, and tasks that suspend late.
@Suite struct `Any order of events leaves the keyed limiter as the naive one` {
    typealias Machine = KeyedLimiterStateMachine<String, Int>

    struct Naive {
        let perKey: Int
        let total: Int
        var lines: [String: NaiveLine] = [:]
        /// The keys of the bodies that run.
        var running: [String] = []
        /// The keys with waiting tasks below their limits; the one that has waited longest for its turn comes first.
        var turns: [String] = []
        var watchers: [Int] = []

        var waitingCount: Int { lines.values.reduce(0) { $0 + $1.waiters.count } }

        func runningCount(_ key: String) -> Int { running.filter { $0 == key }.count }

        /// Returns whether the task runs immediately.
        mutating func enter(_ task: Int, _ key: String, _ priority: UInt8, isInterruptible: Bool) -> Bool {
            if running.count < total, runningCount(key) < perKey {
                running.append(key)
                return true
            }
            lines[key, default: NaiveLine()]
                .join(.init(task: task, priority: priority, weight: 1, isInterruptible: isInterruptible))
            arrange(key)
            return false
        }

        /// Returns the task that takes over the place, and the watchers.
        mutating func leave(_ key: String) -> (next: Int?, watchers: [Int]) {
            running.remove(at: running.firstIndex(of: key)!)
            arrange(key)
            if let key = turns.first {
                turns.removeFirst()
                running.append(key)
                let next = lines[key]!.takeNext()!.task
                arrange(key)
                return (next, [])
            }
            defer { if running.isEmpty { watchers = [] } }
            return (nil, running.isEmpty ? watchers : [])
        }

        mutating func remove(_ key: String, where predicate: (NaiveLine.Waiter) -> Bool) -> [Int] {
            defer { arrange(key) }
            return lines[key]?.remove(where: predicate).map(\.task) ?? []
        }

        private mutating func arrange(_ key: String) {
            let wantsTurn = lines[key]?.next != nil && runningCount(key) < perKey
            if !wantsTurn { turns.removeAll { $0 == key } } else if !turns.contains(key) { turns.append(key) }
        }
    }

    @Test(arguments: UInt64(0)..<30)
    func `after each event the same tasks run, wait, and are told`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (perKey, total) = (Int.random(in: 1...2, using: &random), Int.random(in: 1...4, using: &random))
        var machine = Machine(perKey: perKey, total: total)
        var naive = Naive(perKey: perKey, total: total)
        var tickets: [Int: Machine.Ticket] = [:]
        var watches: [Int: Machine.Watch] = [:]
        /// The tasks that are in line, or were, and haven't suspended.
        var awake: Set<Int> = []
        var outcomes: [Int: LimiterOutcome] = [:]

        func compare(_ actual: [Int], _ expected: [Int], _ outcome: LimiterOutcome) {
            for task in expected where awake.contains(task) { outcomes[task] = outcome }
            let suspended = expected.filter { !awake.contains($0) }.sorted()
            if actual.sorted() != suspended { Issue.record("\(outcome): \(actual), not \(suspended)") }
        }

        for task in 0..<1_000 {
            switch Int.random(in: 0..<18, using: &random) {
            case 0..<6:
                let key = ["a", "b", "c"].randomElement(using: &random)!
                let priority: UInt8 = [9, 17, 25].randomElement(using: &random)!
                let isInterruptible = Bool.random(using: &random)
                let runs = naive.enter(task, key, priority, isInterruptible: isInterruptible)
                switch machine.enter(key, LimiterRequest(priority: priority, isInterruptible: isInterruptible)) {
                case .run: #expect(runs)
                case .wait(let ticket):
                    #expect(!runs)
                    tickets[task] = ticket
                    if Bool.random(using: &random) {
                        awake.insert(task)
                    } else {
                        #expect(machine.suspend(ticket, task).outcome == nil)
                    }
                }
            case 6..<11:
                guard let key = naive.running.randomElement(using: &random) else { continue }
                let expected = naive.leave(key)
                let action = machine.leave(key)
                compare([action.next].compactMap(\.self), [expected.next].compactMap(\.self), .granted)
                #expect(action.watchers == expected.watchers)
            case 11, 12:
                guard
                    let (task, ticket) = tickets.sorted(by: { $0.key < $1.key }).suffix(60).randomElement(
                        using: &random)
                else {
                    continue
                }
                let expected = naive.remove(ticket.key) { $0.task == task }
                compare([machine.settle(ticket, .cancelled).waiter].compactMap(\.self), expected, .cancelled)
            case 13:
                guard
                    let (task, ticket) = tickets.sorted(by: { $0.key < $1.key }).suffix(60).randomElement(
                        using: &random)
                else {
                    continue
                }
                let priority: UInt8 = [17, 25, 33].randomElement(using: &random)!
                naive.lines[ticket.key]?.raise(task, to: priority)
                machine.raise(ticket, to: priority)
            case 14:
                guard let task = awake.sorted().randomElement(using: &random), let ticket = tickets[task] else {
                    continue
                }
                awake.remove(task)
                #expect(machine.suspend(ticket, task).outcome == outcomes.removeValue(forKey: task))
            case 15 where Int.random(in: 0..<10, using: &random) == 0:
                let key = ["a", "b", nil].randomElement(using: &random)!
                let expected = (key.map { [$0] } ?? ["a", "b", "c"]).flatMap {
                    naive.remove($0, where: \.isInterruptible)
                }
                compare(machine.settleInterruptible(key, .cancelled).waiters, expected, .cancelled)
            case 16:
                let watch = machine.watch(task)
                watches[task] = watch
                #expect((watch == nil) == (naive.running.isEmpty && naive.waitingCount == 0))
                if watch != nil { naive.watchers.append(task) }
            case 17:
                guard let watcher = watches.keys.sorted().randomElement(using: &random), let watch = watches[watcher]
                else {
                    continue
                }
                let expected = naive.watchers.contains(watcher) ? watcher : nil
                naive.watchers.removeAll { $0 == watcher }
                #expect(machine.endWatch(watch, .expired) == expected)
            default: continue
            }
            let counts = (["a", "b", "c"].flatMap { [machine.running(for: $0), machine.waiting(for: $0)] })
            let expected = (["a", "b", "c"].flatMap { [naive.runningCount($0), naive.lines[$0]?.waiters.count ?? 0] })
            let isRight =
                counts == expected && machine.running == naive.running.count && machine.waiting == naive.waitingCount
            if !isRight { Issue.record("\(counts), \(naive)") }
        }

        // All leave, one after the other: no task may be left.
        while let key = naive.running.first {
            let expected = naive.leave(key)
            let action = machine.leave(key)
            compare([action.next].compactMap(\.self), [expected.next].compactMap(\.self), .granted)
            #expect(action.watchers == expected.watchers)
        }
        for task in awake { #expect(machine.suspend(tickets[task]!, task).outcome == outcomes[task]) }
        #expect((naive.waitingCount, naive.watchers) == (0, []))
        #expect((machine.waiting, machine.traces.keys, machine.traces.turns) == (0, 0, 0))
    }
}
