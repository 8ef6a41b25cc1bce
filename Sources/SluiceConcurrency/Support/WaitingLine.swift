/// Waiters in the order in which they arrived. Joining, leaving at the front and leaving from the middle are O(1).
///
/// The line is a doubly linked list whose nodes are in one array and are linked by index. So it needs no allocation for each
/// waiter, and it's a value that tests can copy and compare. The slot of a waiter that has left is reused. The array shrinks only when it
/// is empty, so until then it has as many slots as waiters have ever waited at the same time.
///
/// A waiter joins before it suspends. In between, it's in line without a continuation. If it's settled in that time, the
/// outcome is kept until the waiter suspends.
///
/// ```text
/// join() -> ticket ──► in line, not suspended ──► suspend(ticket, waiter) ──► in line, suspended
///                                │ settle                                         │ settle
///                                ▼                                                ▼
///                      outcome kept, returned by suspend             waiter returned, to be resumed
/// ```
///
/// The code that takes a waiter out of the line under the lock owns the waiter, and no other code resumes it.
@usableFromInline
struct WaitingLine<Waiter, Outcome> {
    /// Slots are reused, but serial numbers aren't, so an old ticket matches no waiter.
    @usableFromInline
    struct Ticket: Hashable, Sendable {
        @usableFromInline let slot: Int
        @usableFromInline let serial: UInt64

        @inlinable
        init(slot: Int, serial: UInt64) {
            self.slot = slot
            self.serial = serial
        }
    }

    @usableFromInline
    enum State {
        case vacant
        case inLine(Waiter?)
        case settled(Outcome)
    }

    @usableFromInline
    struct Slot {
        @usableFromInline var serial: UInt64
        @usableFromInline var state: State
        /// The neighbors in line, or `none` at the ends. In a vacant slot, `next` is the next vacant slot.
        @usableFromInline var previous: Int
        @usableFromInline var next: Int
        /// Used by limiters only: whether the wait can be cancelled, its priority, and the weight of the request.
        @usableFromInline var isInterruptible: Bool
        @usableFromInline var priority: UInt8
        @usableFromInline var weight: UInt64

        @inlinable
        init(
            serial: UInt64, state: State, previous: Int, next: Int, isInterruptible: Bool, priority: UInt8,
            weight: UInt64
        ) {
            self.serial = serial
            self.state = state
            self.previous = previous
            self.next = next
            self.isInterruptible = isInterruptible
            self.priority = priority
            self.weight = weight
        }
    }

    /// The number of slots above which the line frees its memory when no waiter is left.
    @inlinable static var slotsKept: Int { 64 }
    @inlinable static var none: Int { -1 }

    @usableFromInline var slots: [Slot] = []
    @usableFromInline var first = none
    @usableFromInline var last = none
    @usableFromInline var firstVacant = none
    @usableFromInline var occupied = 0
    @usableFromInline var serials: UInt64 = 0

    @usableFromInline var count = 0

    @inlinable
    init() {}

    @inlinable var isEmpty: Bool { count == 0 }

    @inlinable var slotCount: Int { slots.count }

    /// Adds a waiter to the end of the line. If `waiter` isn't `nil`, it's already suspended.
    @inlinable
    mutating func join(
        _ waiter: Waiter? = nil, isInterruptible: Bool = true, priority: UInt8 = 0, weight: UInt64 = 1
    ) -> Ticket {
        serials += 1
        let slot = Slot(
            serial: serials, state: .inLine(waiter), previous: last, next: Self.none, isInterruptible: isInterruptible,
            priority: priority, weight: weight)
        let index: Int
        if firstVacant == Self.none {
            index = slots.count
            slots.append(slot)
        } else {
            index = firstVacant
            firstVacant = slots[index].next
            slots[index] = slot
        }
        if last == Self.none { first = index } else { slots[last].next = index }
        last = index
        count += 1
        occupied += 1
        return Ticket(slot: index, serial: serials)
    }

    /// Stores the waiter to resume later, or returns the outcome if it was settled before, and vacates the slot.
    @inlinable
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> Outcome? {
        precondition(isCurrent(ticket), "A waiter suspended with a ticket that is no longer valid.")
        switch slots[ticket.slot].state {
        case .inLine:
            slots[ticket.slot].state = .inLine(waiter)
            return nil
        case .settled(let outcome):
            vacate(ticket.slot)
            return outcome
        case .vacant:
            preconditionFailure("A waiter suspended in a vacant slot.")
        }
    }

    /// Takes the first waiter out of the line; returns the waiter to resume, or `nil` if it hasn't suspended yet.
    @inlinable
    mutating func settleFirst(_ outcome: consuming Outcome) -> Waiter? {
        precondition(first != Self.none, "The waiting line is empty.")
        return settle(at: first, outcome)
    }

    @inlinable
    mutating func settleAll(_ outcome: Outcome) -> [Waiter] {
        var waiters: [Waiter] = []
        waiters.reserveCapacity(count)
        while first != Self.none {
            if let waiter = settle(at: first, outcome) { waiters.append(waiter) }
        }
        return waiters
    }

    /// O(n).
    mutating func settle(
        _ outcome: Outcome, where predicate: (_ isInterruptible: Bool, _ weight: UInt64) -> Bool
    ) -> [Waiter] {
        var waiters: [Waiter] = []
        var index = first
        while index != Self.none {
            let next = slots[index].next
            if predicate(slots[index].isInterruptible, slots[index].weight), let waiter = settle(at: index, outcome) {
                waiters.append(waiter)
            }
            index = next
        }
        return waiters
    }

    var firstWeight: UInt64? { first == Self.none ? nil : slots[first].weight }

    @inlinable
    func contains(_ ticket: Ticket) -> Bool {
        guard isCurrent(ticket), case .inLine = slots[ticket.slot].state else { return false }
        return true
    }

    /// Takes a waiter out of the line; returns the waiter to resume, or `nil` if it hasn't suspended yet or isn't in line.
    @inlinable
    mutating func settle(_ ticket: Ticket, _ outcome: consuming Outcome) -> Waiter? {
        contains(ticket) ? settle(at: ticket.slot, outcome) : nil
    }

    /// Moves the waiter in a slot behind the waiter in another slot, or to the front if that is `none`.
    mutating func move(_ index: Int, behind other: Int) {
        guard slots[index].previous != other else { return }
        unlink(index)
        let next = other == Self.none ? first : slots[other].next
        slots[index].previous = other
        slots[index].next = next
        if other == Self.none { first = index } else { slots[other].next = index }
        if next == Self.none { last = index } else { slots[next].previous = index }
    }

    // MARK: Machinery

    @inlinable
    func isCurrent(_ ticket: Ticket) -> Bool {
        ticket.slot < slots.count && slots[ticket.slot].serial == ticket.serial
    }

    @inlinable
    mutating func settle(at index: Int, _ outcome: consuming Outcome) -> Waiter? {
        guard case .inLine(let waiter) = slots[index].state else { preconditionFailure("The waiter isn't in line.") }
        unlink(index)
        count -= 1
        if waiter == nil {
            slots[index].state = .settled(outcome)
        } else {
            vacate(index)
        }
        return waiter
    }

    @inlinable
    mutating func unlink(_ index: Int) {
        let (previous, next) = (slots[index].previous, slots[index].next)
        if previous == Self.none { first = next } else { slots[previous].next = next }
        if next == Self.none { last = previous } else { slots[next].previous = previous }
    }

    @inlinable
    mutating func vacate(_ index: Int) {
        occupied -= 1
        if occupied == 0 {
            slots.removeAll(keepingCapacity: slots.count <= Self.slotsKept)
            firstVacant = Self.none
        } else {
            slots[index].state = .vacant
            slots[index].serial = 0
            slots[index].next = firstVacant
            firstVacant = index
        }
    }
}

extension WaitingLine {
    @inlinable
    var firstTicket: Ticket? { ticket(at: first) }

    /// The first waiter in line; `nil` if the line is empty or the waiter hasn't suspended yet.
    var firstWaiter: Waiter? {
        guard first != Self.none, case .inLine(let waiter) = slots[first].state else { return nil }
        return waiter
    }

    @inlinable
    func ticket(after ticket: Ticket) -> Ticket? { self.ticket(at: slots[ticket.slot].next) }

    @inlinable
    func ticket(at index: Int) -> Ticket? {
        index == Self.none ? nil : Ticket(slot: index, serial: slots[index].serial)
    }
}

extension WaitingLine: Sendable where Waiter: Sendable, Outcome: Sendable {}
extension WaitingLine.State: Sendable where Waiter: Sendable, Outcome: Sendable {}
extension WaitingLine.Slot: Sendable where Waiter: Sendable, Outcome: Sendable {}

// For the tests' interleaving explorer, which recognizes the states that it has visited.
extension WaitingLine: Hashable, Equatable where Waiter: Hashable, Outcome: Hashable {}
extension WaitingLine.State: Hashable, Equatable where Waiter: Hashable, Outcome: Hashable {}
extension WaitingLine.Slot: Hashable, Equatable where Waiter: Hashable, Outcome: Hashable {}
