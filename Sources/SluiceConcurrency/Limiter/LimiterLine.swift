@usableFromInline
enum LimiterOutcome: Hashable, Sendable {
    case granted
    /// The task was cancelled, or ``ConcurrencyLimiter/cancelWaiting()`` was called.
    case cancelled
    case expired
    case tooHeavy
    /// The priority of the task was raised: the task joins the line again.
    case raised
}

extension LimiterOutcome {
    /// Throws unless the limiter became idle.
    func checkIdle() throws {
        switch self {
        case .granted: return
        case .expired: throw DeadlineExceeded()
        case .cancelled: throw CancellationError()
        case .tooHeavy, .raised: preconditionFailure("A task that waits for an idle limiter asks for no place.")
        }
    }
}

struct LimiterRequest: Hashable, Sendable {
    var weight: UInt64 = 1
    /// The priority of the line that the task joins; 0 for every task in a limiter without priorities.
    var priority: UInt8 = 0
    var isInterruptible = true
}

/// The waiting tasks, in the order in which they are admitted.
///
/// There is one line for each priority, the highest first, or a single line in a limiter without priorities. Within a line,
/// tasks are admitted first come, first served.
///
/// **Aging.** A line that was passed over `patience` times in a row is next, so no line starves. Of any `patience + 1` places
/// in a row, at least one goes to each waiting line, or to another line that was passed over as often. Aging counts places,
/// not time.
struct LimiterLine<Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, LimiterOutcome>

    struct Ticket: Hashable, Sendable {
        fileprivate let priority: UInt8
        fileprivate let place: Line.Ticket
    }

    fileprivate struct Level: Sendable {
        let priority: UInt8
        var line = Line()
        var passedOver = 0
    }

    static var patience: Int { 16 }

    /// The highest priority first.
    private var levels: [Level] = []

    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Includes tasks that were settled before they suspended and haven't read their outcome yet.
    var occupied: Int { levels.reduce(0) { $0 + $1.line.occupied } }

    var slotCount: Int { levels.reduce(0) { $0 + $1.line.slotCount } }

    var nextWeight: UInt64? {
        count == 0 ? nil : levels[nextLevel].line.firstWeight
    }

    /// If `waiter` isn't `nil`, the task is already suspended.
    mutating func join(_ request: LimiterRequest, _ waiter: Waiter?) -> Ticket {
        count += 1
        let place = levels[level(of: request.priority)].line.join(
            waiter, isInterruptible: request.isInterruptible, weight: request.weight)
        return Ticket(priority: request.priority, place: place)
    }

    /// Stores the waiter, or returns the outcome if the wait has ended already.
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> LimiterOutcome? {
        levels[level(of: ticket.priority)].line.suspend(ticket.place, waiter)
    }

    func contains(_ ticket: Ticket) -> Bool {
        levels.first { $0.priority == ticket.priority }?.line.contains(ticket.place) ?? false
    }

    /// Returns the waiter to resume, or `nil` if the task hasn't suspended yet.
    mutating func settleNext() -> Waiter? {
        if levels.count == 1 {
            count -= 1
            return levels[0].line.settleFirst(.granted)
        }
        let next = nextLevel
        let waiter = levels[next].line.settleFirst(.granted)
        count -= 1
        levels[next].passedOver = 0
        for lower in levels.indices[(next + 1)...] where !levels[lower].line.isEmpty { levels[lower].passedOver += 1 }
        // If an aged line goes first, the higher lines were passed over, too.
        for upper in levels.indices[..<next] where !levels[upper].line.isEmpty { levels[upper].passedOver += 1 }
        return waiter
    }

    /// Returns the waiter to resume, or `nil` if the task hasn't suspended yet or isn't in line.
    mutating func settle(_ ticket: Ticket, _ outcome: LimiterOutcome) -> Waiter? {
        guard contains(ticket) else { return nil }
        count -= 1
        let level = level(of: ticket.priority)
        let waiter = levels[level].line.settle(ticket.place, outcome)
        if levels[level].line.isEmpty { levels[level].passedOver = 0 }
        return waiter
    }

    func count(where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool) -> Int {
        levels.reduce(0) { $0 + $1.line.count(where: predicate) }
    }

    /// Returns the waiters to resume. O(n).
    mutating func settle(
        _ outcome: LimiterOutcome, where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool
    ) -> [Waiter] {
        var waiters: [Waiter] = []
        for level in levels.indices {
            let before = levels[level].line.count
            waiters += levels[level].line.settle(outcome, where: predicate)
            count -= before - levels[level].line.count
            if levels[level].line.isEmpty { levels[level].passedOver = 0 }
        }
        return waiters
    }

    // MARK: Machinery

    /// The index of the level that has the turn. At least one task must wait.
    private var nextLevel: Int {
        if levels.count == 1 { return 0 }
        var next = -1
        for level in levels.indices where !levels[level].line.isEmpty {
            if next < 0 {
                next = level
            } else if levels[level].passedOver >= Self.patience && levels[level].passedOver > levels[next].passedOver {
                next = level
            }
        }
        return next
    }

    private mutating func level(of priority: UInt8) -> Int {
        if levels.first?.priority == priority { return 0 }
        if let level = levels.firstIndex(where: { $0.priority == priority }) { return level }
        let level = levels.firstIndex { $0.priority < priority } ?? levels.endIndex
        levels.insert(Level(priority: priority), at: level)
        return level
    }
}

// The explorer of interleavings recognizes a state that it has seen.
extension LimiterLine: Hashable, Equatable where Waiter: Hashable {}
extension LimiterLine.Level: Hashable, Equatable where Waiter: Hashable {}
