@testable import SluiceConcurrency

/// Runs up to three tasks on one limiter in every possible order of their single steps.
///
/// A step is one atomic operation, or one critical section up to the next atomic operation in it. The limiter's own code
/// runs, over an `ExploredSite`; only what surrounds it in the shipped limiter (the continuation and the cancellation
/// handler) is written again here, as the phases of a task. Whenever an operation completes, its result must be that of
/// the naive limiter, and when nobody can move, nobody may be waiting for a place that is free.
struct LimiterExplorer {
    enum Operation: Hashable {
        case acquire
        case acquireUninterrupted
        /// Nothing happens if the task holds no place, because it was cancelled.
        case release
        /// Cancels another task, given as the distance to it.
        case cancel(Int)
    }

    enum Phase: Hashable {
        case ready
        case entering
        case enteringUninterrupted
        /// In line; the cancellation handler is not installed.
        case joined(LimiterStateMachine<Int>.Ticket)
        /// The handler found the task cancelled, and runs in the task itself.
        case cancellingItself(LimiterStateMachine<Int>.Ticket)
        case suspending(LimiterStateMachine<Int>.Ticket)
        case suspended
        case resumed(Bool)
        case leaving
        /// Runs the handler of another task.
        case cancelling(Int, LimiterStateMachine<Int>.Ticket)
    }

    struct TaskState: Hashable {
        var operations: ArraySlice<Operation>
        var phase = Phase.ready
        var log: [ExploredSite.Answer] = []
        var held = 0
        var isCancelled = false
        var handler: LimiterStateMachine<Int>.Ticket?
    }

    struct State: Hashable {
        var shared: ExploredSite.Shared
        var naive: NaiveLimiter
        var tasks: [TaskState]
    }

    private(set) var statesSeen = 0
    /// The first thing that went wrong.
    private(set) var violation: String?

    private let site: ExploredSite
    private var state: State
    private var seen: Set<Int> = []

    init(limit: Int, programs: [[Operation]], fault: ExploredSite.Fault? = nil) {
        site = ExploredSite(limit: UInt64(limit), fault: fault)
        state = State(
            shared: site.shared, naive: NaiveLimiter(limit: limit),
            tasks: programs.map { TaskState(operations: $0[...]) })
    }

    /// Visits each state that can be reached, once.
    mutating func explore() {
        var open = [state]
        while let next = open.popLast(), violation == nil {
            statesSeen += 1
            var canMove = false
            for task in next.tasks.indices {
                state = next
                guard step(task) else { continue }
                canMove = true
                if seen.insert(state.hashValue).inserted { open.append(state) }
            }
            if !canMove {
                state = next
                checkRest()
            }
        }
    }

    // MARK: One step of one task

    /// Returns false if the task cannot move: it is done, suspended, or the lock is held.
    private mutating func step(_ index: Int) -> Bool {
        switch state.tasks[index].phase {
        case .ready:
            return begin(index)
        case .entering:
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.enter()
            } then: { explorer, action in
                switch action {
                case .run: explorer.entered(index, atOnce: true)
                case .wait(let ticket):
                    explorer.entered(index, atOnce: false)
                    explorer.state.tasks[index].phase = .joined(ticket)
                }
            }
        case .enteringUninterrupted:
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.enterAtOnce(limit: site.limit) ? true : try site.enter(uninterrupted: index)
            } then: { explorer, atOnce in
                explorer.entered(index, atOnce: atOnce)
                if !atOnce { explorer.state.tasks[index].phase = .suspended }
            }
        case .joined(let ticket):
            if state.tasks[index].isCancelled {
                state.tasks[index].phase = .cancellingItself(ticket)
            } else {
                state.tasks[index].handler = ticket
                state.tasks[index].phase = .suspending(ticket)
            }
            return true
        case .cancellingItself(let ticket):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.cancel(ticket)
            } then: { explorer, waiter in
                explorer.cancelled(index, waiter, wait: ticket, current: ticket)
                explorer.state.tasks[index].phase = .suspending(ticket)
            }
        case .suspending(let ticket):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.suspend(ticket, index)
            } then: { explorer, outcome in
                explorer.check(outcome == explorer.state.naive.outcomes[index], "suspend returned another outcome")
                explorer.state.tasks[index].phase = outcome.map { .resumed($0) } ?? .suspended
            }
        case .suspended:
            return false
        case .resumed(let entered):
            check(state.naive.outcomes.removeValue(forKey: index) == entered, "a task was resumed with another outcome")
            state.tasks[index].handler = nil
            finish(index, entered: entered)
            return true
        case .leaving:
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.leave()
            } then: { explorer, action in
                explorer.left(index, action)
            }
        case .cancelling(let victim, let ticket):
            return advance(index) { site throws(ExploredSite.Pause) in
                try site.cancel(ticket)
            } then: { explorer, waiter in
                explorer.cancelled(victim, waiter, wait: ticket, current: explorer.state.tasks[victim].handler)
                explorer.next(index)
            }
        }
    }

    private mutating func begin(_ index: Int) -> Bool {
        guard let operation = state.tasks[index].operations.first else { return false }
        switch operation {
        case .acquire:
            if state.tasks[index].isCancelled { next(index) } else { state.tasks[index].phase = .entering }
        case .acquireUninterrupted:
            state.tasks[index].phase = .enteringUninterrupted
        case .release:
            if state.tasks[index].held == 0 { next(index) } else { state.tasks[index].phase = .leaving }
        case .cancel(let distance):
            let victim = (index + distance) % state.tasks.count
            state.tasks[victim].isCancelled = true
            if let ticket = state.tasks[victim].handler {
                state.tasks[index].phase = .cancelling(victim, ticket)
            } else {
                next(index)
            }
        }
        return true
    }

    private mutating func advance<Result>(
        _ index: Int, _ operation: (ExploredSite) throws(ExploredSite.Pause) -> Result,
        then complete: (inout LimiterExplorer, Result) -> Void
    ) -> Bool {
        site.shared = state.shared
        let (result, moved) = site.advance(task: index, log: &state.tasks[index].log, operation)
        state.shared = site.shared
        if let result { complete(&self, result) }
        return moved
    }

    // MARK: Comparing with the naive limiter

    private mutating func entered(_ index: Int, atOnce: Bool) {
        check(state.naive.enter(index) == atOnce, atOnce ? "a task overtook" : "a task waits for a place that is free")
        if atOnce { finish(index, entered: true) }
    }

    private mutating func left(_ index: Int, _ action: LimiterStateMachine<Int>.LeaveAction) {
        let expected = state.naive.leave().flatMap { state.tasks[$0].phase == .suspended ? $0 : nil }
        switch action {
        case .grant(let waiter):
            check(waiter == expected, "another task got the place")
            state.tasks[waiter].phase = .resumed(true)
        case .none:
            check(expected == nil, "the first in line was not woken")
        case .announceIdle:
            check(false, "nobody waited for the limiter to be idle")
        }
        state.tasks[index].held -= 1
        next(index)
    }

    /// A handler may come late, when the victim waits again, or does no more: then it must have no effect.
    private mutating func cancelled(
        _ victim: Int, _ waiter: Int?, wait: LimiterStateMachine<Int>.Ticket, current: LimiterStateMachine<Int>.Ticket?
    ) {
        let wasInLine = wait == current && state.naive.cancel(victim)
        let expected = wasInLine && state.tasks[victim].phase == .suspended ? victim : nil
        check(waiter == expected, "cancelling resumed another task, or none")
        if let waiter { state.tasks[waiter].phase = .resumed(false) }
    }

    private mutating func finish(_ index: Int, entered: Bool) {
        if entered { state.tasks[index].held += 1 }
        check(state.tasks.reduce(0) { $0 + $1.held } <= state.naive.limit, "more tasks hold a place than may")
        next(index)
    }

    private mutating func next(_ index: Int) {
        state.tasks[index].operations.removeFirst()
        state.tasks[index].phase = .ready
    }

    private mutating func checkRest() {
        let held = state.tasks.reduce(0) { $0 + $1.held }
        let suspended = state.tasks.indices.filter { state.tasks[$0].phase == .suspended }
        check(suspended.isEmpty || held == state.naive.limit, "a task waits for ever for a place that is free")
        check(Set(suspended) == Set(state.naive.line), "a task waits for ever that is not in line")
        check(state.tasks.indices.allSatisfy { suspended.contains($0) || state.tasks[$0].operations.isEmpty }, "stuck")
        check(state.shared.word == LimiterWord(running: held, waiting: suspended.count), "the counts are wrong")
        check(state.shared.machine.line.count == suspended.count, "the line has a trace of somebody who is gone")
    }

    private mutating func check(_ holds: Bool, _ complaint: String) {
        if !holds && violation == nil { violation = complaint }
    }
}
