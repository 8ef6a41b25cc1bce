/// How a task's wait for a place ended.
@usableFromInline
enum LimiterOutcome: Hashable, Sendable {
    /// It has its place.
    case granted
    /// It was cancelled, or all that wait were.
    case cancelled
    /// Its deadline came.
    case expired
    /// The concurrency became smaller than its weight.
    case tooHeavy
    /// Its task's priority was raised: it joins the line again.
    case raised
}

/// The request of one task.
struct LimiterRequest: Hashable, Sendable {
    var weight: UInt64 = 1
    /// The line to join; the same for all where priorities do not count.
    var priority: UInt8 = 0
    /// Whether its wait can be cancelled.
    var isInterruptible = true
}

/// The tasks that wait for a place, in the order in which they get one.
///
/// One line for each priority, the highest first; where priorities do not count, there is one. Within a line, first come,
/// first served.
///
/// **Ageing.** A line that was passed over `patience` times in a row is next, so that no line starves: of any
/// `patience + 1` places in a row, at least one goes to each line that waits (or to another one that was passed over just
/// as often). It counts places, not time.
struct LimiterLine<Waiter: Sendable>: Sendable {
    typealias Line = WaitingLine<Waiter, LimiterOutcome>

    /// One wait of one task.
    struct Ticket: Hashable, Sendable {
        fileprivate let priority: UInt8
        fileprivate let place: Line.Ticket
    }

    fileprivate struct Level: Sendable {
        let priority: UInt8
        var line = Line()
        /// How often in a row others were preferred.
        var passedOver = 0
    }

    static var patience: Int { 16 }

    /// The highest priority first.
    private var levels: [Level] = []

    /// How many wait.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// How many are in line, or have been settled before they suspended and have not asked yet.
    var occupied: Int { levels.reduce(0) { $0 + $1.line.occupied } }

    /// How much memory is kept, in places.
    var slotCount: Int { levels.reduce(0) { $0 + $1.line.slotCount } }

    /// The weight of the next in line; nil if no task waits.
    var nextWeight: UInt64? {
        count == 0 ? nil : levels[nextLevel].line.firstWeight
    }

    /// Joins at the end of its priority's line; with a waiter, suspended from the start.
    mutating func join(_ request: LimiterRequest, _ waiter: Waiter?) -> Ticket {
        count += 1
        let place = levels[level(of: request.priority)].line.join(
            waiter, isInterruptible: request.isInterruptible, weight: request.weight)
        return Ticket(priority: request.priority, place: place)
    }

    /// Stores the waiter, or returns how its wait has ended meanwhile.
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> LimiterOutcome? {
        levels[level(of: ticket.priority)].line.suspend(ticket.place, waiter)
    }

    func contains(_ ticket: Ticket) -> Bool {
        levels.first { $0.priority == ticket.priority }?.line.contains(ticket.place) ?? false
    }

    /// Takes the next out of the line; returns the waiter to be resumed, or nil if it has not suspended yet.
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
        // An aged line goes before higher ones: those were passed over, too.
        for upper in levels.indices[..<next] where !levels[upper].line.isEmpty { levels[upper].passedOver += 1 }
        return waiter
    }

    /// Takes this one out of the line; returns the waiter to be resumed, or nil if it has not suspended yet or is gone.
    mutating func settle(_ ticket: Ticket, _ outcome: LimiterOutcome) -> Waiter? {
        guard contains(ticket) else { return nil }
        count -= 1
        let level = level(of: ticket.priority)
        let waiter = levels[level].line.settle(ticket.place, outcome)
        if levels[level].line.isEmpty { levels[level].passedOver = 0 }
        return waiter
    }

    /// How many of those in line satisfy a predicate. O(n).
    func count(where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool) -> Int {
        levels.reduce(0) { $0 + $1.line.count(where: predicate) }
    }

    /// Takes the tasks that satisfy a predicate out of the line; returns those to be resumed. O(n).
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

    /// The level whose turn it is, while at least one task waits.
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

// The explorer of interleavings recognises a state that it has seen.
extension LimiterLine: Hashable, Equatable where Waiter: Hashable {}
extension LimiterLine.Level: Hashable, Equatable where Waiter: Hashable {}
