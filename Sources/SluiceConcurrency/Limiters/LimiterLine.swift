@usableFromInline
enum LimiterOutcome: Hashable, Sendable {
    case granted
    /// The task was cancelled, or ``ConcurrencyLimiter/cancelWaiting()`` was called.
    case cancelled
    case expired
    case tooHeavy
}

extension LimiterOutcome {
    /// Throws unless the limiter became idle.
    func checkIdle() throws {
        switch self {
        case .granted: return
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        case .tooHeavy: preconditionFailure("A task that waits for an idle limiter asks for no place.")
        }
    }
}

struct LimiterRequest: Hashable, Sendable {
    var weight: UInt64 = 1
    /// The priority with which the task joins the line; 0 for every task in a limiter without priorities.
    var priority: UInt8 = 0
    var isInterruptible = true
    /// Whether the task joins the line in front of all others, as every task of a limiter that admits the newest first does.
    var joinsAtFront = false
}

/// The waiting tasks, in the order in which they are admitted.
///
/// Tasks of a higher priority come first, and tasks of equal priority in the order of their arrival; in a limiter without priorities, all
/// tasks are equal. All of them are in one ``WaitingLine``, which is sorted. Each level, the tasks of one priority, knows its last task:
///
/// ```text
/// priority      25           17         9
/// line       a ─ b ─ c ─── d ─ e ───── f
/// last               └         └       └
/// ```
///
/// So a task whose priority is raised moves to the end of its new level in O(1). It keeps its ticket and never leaves the line.
///
/// **Aging.** A level that was passed over `patience` times in a row is next, so no level starves. Of any `patience + 1` places
/// in a row, at least one goes to each waiting level, or to another level that was passed over as often. Aging counts places,
/// not time.
struct LimiterLine<Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, LimiterOutcome>
    typealias Ticket = Line.Ticket

    fileprivate struct Level: Sendable {
        let priority: UInt8
        var count = 0
        /// The slot of the last task.
        var last = Line.none
        var passedOver = 0
    }

    static var patience: Int { 16 }

    private var line = Line()

    /// The highest priority first. Levels without tasks are kept.
    private var levels: [Level] = []

    var count: Int { line.count }

    var isEmpty: Bool { line.isEmpty }

    /// Includes tasks that were settled before they suspended and haven't read their outcome yet.
    var occupied: Int { line.occupied }

    var slotCount: Int { line.slotCount }

    var nextWeight: UInt64? {
        isEmpty ? nil : line.slots[firstSlot(of: nextLevel)].weight
    }

    /// Whether the task would be next if it joined now.
    func wouldBeNext(_ request: LimiterRequest) -> Bool {
        request.joinsAtFront || isEmpty
            || levels.allSatisfy {
                $0.count == 0 || ($0.priority < request.priority && $0.passedOver < Self.patience)
            }
    }

    /// Records that a task that would have been next was admitted without joining.
    mutating func passOver() {
        for level in levels.indices where levels[level].count > 0 { levels[level].passedOver += 1 }
    }

    /// If `waiter` isn't `nil`, the task is already suspended.
    mutating func join(_ request: LimiterRequest, _ waiter: Waiter?) -> Ticket {
        let ticket = line.join(
            waiter, isInterruptible: request.isInterruptible, priority: request.priority, weight: request.weight)
        if request.joinsAtFront { addAtFront(ticket.slot) } else { add(ticket.slot, request.priority) }
        return ticket
    }

    /// Stores the waiter, or returns the outcome if the wait has ended already.
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> LimiterOutcome? {
        line.suspend(ticket, waiter)
    }

    func contains(_ ticket: Ticket) -> Bool {
        line.contains(ticket)
    }

    /// Moves a task in line to the end of a higher level; returns whether it moved.
    @discardableResult
    mutating func raise(_ ticket: Ticket, to priority: UInt8) -> Bool {
        guard line.contains(ticket), line.slots[ticket.slot].priority < priority else { return false }
        remove(ticket.slot)
        line.slots[ticket.slot].priority = priority
        add(ticket.slot, priority)
        return true
    }

    /// Returns the waiter to resume, or `nil` if the task hasn't suspended yet.
    mutating func settleNext() -> Waiter? {
        let next = nextLevel
        let slot = firstSlot(of: next)
        remove(slot)
        // If an aged level goes first, it passes over the higher levels. A single level ages when tasks pass it over without joining.
        if levels.count > 1 || levels[next].passedOver > 0 {
            passOver()
            levels[next].passedOver = 0
        }
        return line.settle(at: slot, .granted)
    }

    /// Returns the waiter to resume, or `nil` if the task hasn't suspended yet or isn't in line.
    mutating func settle(_ ticket: Ticket, _ outcome: LimiterOutcome) -> Waiter? {
        guard contains(ticket) else { return nil }
        remove(ticket.slot)
        return line.settle(at: ticket.slot, outcome)
    }

    /// Returns the waiters to resume. O(n).
    mutating func settle(
        _ outcome: LimiterOutcome, where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool
    ) -> [Waiter] {
        var waiters: [Waiter] = []
        var slot = line.first
        while slot != Line.none {
            let next = line.slots[slot].next
            if predicate(line.slots[slot].isInterruptible, line.slots[slot].weight) {
                remove(slot)
                if let waiter = line.settle(at: slot, outcome) { waiters.append(waiter) }
            }
            slot = next
        }
        return waiters
    }

    // MARK: Machinery

    /// The index of the level that has the turn. At least one task must wait.
    private var nextLevel: Int {
        if levels.count == 1 { return 0 }
        var next = -1
        for level in levels.indices where levels[level].count > 0 {
            if next < 0 {
                next = level
            } else if levels[level].passedOver >= Self.patience && levels[level].passedOver > levels[next].passedOver {
                next = level
            }
        }
        return next
    }

    private func firstSlot(of level: Int) -> Int {
        if level == 0 { return line.first }
        let before = lastSlot(in: levels[..<level])
        return before == Line.none ? line.first : line.slots[before].next
    }

    private func lastSlot(in levels: ArraySlice<Level>) -> Int {
        levels.last { $0.count > 0 }?.last ?? Line.none
    }

    /// Moves a task from anywhere in line to the end of its level, which doesn't count it yet.
    private mutating func add(_ slot: Int, _ priority: UInt8) {
        let level = level(of: priority)
        if levels.count > 1 { line.move(slot, behind: lastSlot(in: levels[...level])) }
        levels[level].count += 1
        levels[level].last = slot
    }

    /// All tasks have the same level.
    private mutating func addAtFront(_ slot: Int) {
        let level = level(of: 0)
        line.move(slot, behind: Line.none)
        if levels[level].count == 0 { levels[level].last = slot }
        levels[level].count += 1
    }

    /// Takes a task out of its level, but not out of the line.
    private mutating func remove(_ slot: Int) {
        let level = level(of: line.slots[slot].priority)
        levels[level].count -= 1
        if levels[level].count == 0 {
            (levels[level].last, levels[level].passedOver) = (Line.none, 0)
        } else if levels[level].last == slot {
            levels[level].last = line.slots[slot].previous
        }
    }

    private mutating func level(of priority: UInt8) -> Int {
        if levels.first?.priority == priority { return 0 }
        if let level = levels.firstIndex(where: { $0.priority == priority }) { return level }
        let level = levels.firstIndex { $0.priority < priority } ?? levels.endIndex
        levels.insert(Level(priority: priority), at: level)
        return level
    }
}

// For the tests' interleaving explorer, which recognizes the states that it has visited.
extension LimiterLine: Hashable, Equatable where Waiter: Hashable {}
extension LimiterLine.Level: Hashable, Equatable where Waiter: Hashable {}
