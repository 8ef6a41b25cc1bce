/// How the wait of a suspended producer ended.
@usableFromInline
enum SendOutcome: Hashable, Sendable {
    /// Its element is in the queue, or with a consumer.
    case enqueued
    /// When its turn came, an equal element was pending.
    case alreadyPending
    case finished
    case cancelled
    case expired

    /// What `send` returns or throws.
    @inlinable
    func result<Item>() throws -> SendResult<Item> {
        switch self {
        case .enqueued: return .enqueued
        case .alreadyPending: return .alreadyPending
        case .finished: throw QueueFinished()
        case .cancelled, .expired: throw CancellationError()
        }
    }
}

/// The producers that wait for a place, each with what it offers.
///
/// What a producer offers is its own until it is admitted: it lies here, beside the line, by the number of the producer's
/// slot, so that leaving is O(1) and leaves nothing behind.
@usableFromInline
struct ProducerLine<Item: Sendable, Producer: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Producer, SendOutcome>

    @usableFromInline var line = Line()
    /// As many as the line has slots.
    @usableFromInline var offers: [Item?] = []

    @inlinable
    init() {}

    @inlinable var isEmpty: Bool { line.isEmpty }
    @inlinable var count: Int { line.count }

    /// What the first in line offers.
    @inlinable var firstOffer: Item? { line.isEmpty ? nil : offers[line.first] }

    @inlinable
    mutating func join(_ item: Item) -> Line.Ticket {
        let ticket = line.join()
        if ticket.slot == offers.count { offers.append(item) } else { offers[ticket.slot] = item }
        return ticket
    }

    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ producer: Producer) -> SendOutcome? {
        defer { shrink() }
        return line.suspend(ticket, producer)
    }

    /// Takes the first out of the line; returns its offer, and whom to resume if it has suspended.
    @inlinable
    mutating func settleFirst(_ outcome: SendOutcome) -> (item: Item, producer: Producer?) {
        defer { shrink() }
        guard let item = offers[line.first].take() else { preconditionFailure("A producer that offers nothing.") }
        return (item, line.settleFirst(outcome))
    }

    /// Takes this one out of the line, unless it is gone; returns its offer, and whom to resume if it has suspended.
    @inlinable
    mutating func settle(_ ticket: Line.Ticket, _ outcome: SendOutcome) -> (item: Item, producer: Producer?)? {
        guard line.contains(ticket), let item = offers[ticket.slot].take() else { return nil }
        defer { shrink() }
        return (item, line.settle(ticket, outcome))
    }

    /// The line forgets its slots when the last is left.
    @inlinable
    mutating func shrink() {
        if line.slotCount == 0 { offers.removeAll(keepingCapacity: offers.count <= Line.slotsKept) }
    }
}
