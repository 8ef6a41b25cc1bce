@testable import SluiceConcurrency

/// Runs the keyed limiter's machine and the naive one through every interleaving of a few tasks' programs.
///
/// Each event of the machine happens at one moment, as all are under one lock. So a step is an event, and entering is two:
/// joining the line and suspending in it. Both machines are copied wherever more than one task can continue.
struct KeyedLimiterExplorer {
    enum Operation: Hashable {
        case enter(String)
        /// Gives back what was taken last; nothing happens if nothing is held.
        case leave
        /// Cancels another task, if it waits.
        case cancel(Int)
    }

    typealias Machine = KeyedLimiterStateMachine<String, Int>

    struct Runner {
        var program: ArraySlice<Operation>
        var held: [String] = []
        /// In line, with the key that it waits for.
        var wait: (ticket: Machine.Ticket, key: String)?
        var isSuspended = false
    }

    struct State {
        var machine: Machine
        var naive: NaiveKeyedLimiter
        var runners: [Runner]
        /// How the naive limiter says that a wait ended, until the task has heard of it from the machine.
        var expected: [Int: LimiterOutcome] = [:]
    }

    private(set) var violation: String?
    private(set) var states = 0
    private var initial: State

    init(perKey: Int, total: Int, programs: [[Operation]]) {
        initial = State(
            machine: Machine(perKey: perKey, total: total), naive: NaiveKeyedLimiter(perKey: perKey, total: total),
            runners: programs.map { Runner(program: $0[...]) })
    }

    mutating func explore() {
        var stack = [initial]
        while let state = stack.popLast(), violation == nil {
            states += 1
            var isStuck = true
            for task in state.runners.indices where canStep(state.runners[task]) {
                isStuck = false
                var next = state
                step(task, &next)
                check(next)
                stack.append(next)
            }
            if isStuck { checkEnd(state) }
        }
    }

    private func canStep(_ runner: Runner) -> Bool {
        if runner.wait != nil { return !runner.isSuspended }
        return !runner.program.isEmpty
    }

    // MARK: Steps

    private mutating func step(_ task: Int, _ state: inout State) {
        if let (ticket, _) = state.runners[task].wait {
            let known = state.machine.suspend(ticket, task)
            state.runners[task].isSuspended = true
            if let outcome = known.outcome {
                resume(task, outcome, &state)
            } else if state.expected[task] != nil {
                violation = "task \(task) suspends, though its wait is over"
            }
            return
        }
        switch state.runners[task].program.removeFirst() {
        case .enter(let key):
            let mayRun = state.naive.enter(task, key)
            switch state.machine.enter(key) {
            case .run:
                if !mayRun { violation = "task \(task) runs and should wait" }
                state.runners[task].held.append(key)
            case .wait(let ticket):
                if mayRun { violation = "task \(task) waits and should run" }
                state.runners[task].wait = (ticket, key)
                state.runners[task].isSuspended = false
            }
        case .leave:
            guard let key = state.runners[task].held.popLast() else { return }
            let next = state.naive.leave(key)
            if let next { state.expected[next] = .granted }
            let action = state.machine.leave(key)
            if let resumed = action.next { resume(resumed, .granted, &state) }
        case .cancel(let other):
            guard let (ticket, _) = state.runners[other].wait else { return }
            if state.naive.cancel(other) { state.expected[other] = .cancelled }
            if let resumed = state.machine.settle(ticket, .cancelled).waiter { resume(resumed, .cancelled, &state) }
        }
    }

    private mutating func resume(_ task: Int, _ outcome: LimiterOutcome, _ state: inout State) {
        guard let (_, key) = state.runners[task].wait, state.runners[task].isSuspended else {
            return violation = "task \(task) is resumed, and does not wait"
        }
        if state.expected[task] != outcome {
            violation = "task \(task) gets \(outcome), not \(String(describing: state.expected[task]))"
        }
        state.expected[task] = nil
        state.runners[task].wait = nil
        if outcome == .granted { state.runners[task].held.append(key) }
    }

    // MARK: What must hold

    private mutating func check(_ state: State) {
        let (machine, naive) = (state.machine, state.naive)
        if machine.running != naive.running.count { violation = "\(machine.running) run, not \(naive.running.count)" }
        if machine.waiting != naive.line.count { violation = "\(machine.waiting) wait, not \(naive.line.count)" }
        for key in ["a", "b"] where machine.waiting(for: key) != naive.line.filter({ $0.key == key }).count {
            violation = "\(machine.waiting(for: key)) wait for \(key)"
        }
        for key in ["a", "b"] where machine.running(for: key) != naive.running.filter({ $0 == key }).count {
            violation = "\(machine.running(for: key)) run for \(key)"
        }
        for (task, outcome) in state.expected where state.runners[task].isSuspended {
            violation = "task \(task) was not resumed with \(outcome)"
        }
    }

    private mutating func checkEnd(_ state: State) {
        let known = Set(state.naive.running + state.naive.line.map(\.key)).count
        if state.machine.traces.keys != known { violation = "\(state.machine.traces.keys) keys are kept, not \(known)" }
        if state.naive.line.isEmpty, state.machine.traces.turns != 0 { violation = "turns are kept, and no task waits" }
    }
}
