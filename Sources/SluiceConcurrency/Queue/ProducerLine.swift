@usableFromInline
enum SendOutcome: Hashable, Sendable {
    case enqueued
    /// When the producer was admitted, an element with an equal key was pending.
    case alreadyPending
    case finished
    case cancelled
    case expired

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

/// The producers that wait for space, with the elements that they offer.
///
/// An offered element isn't pending until its producer is admitted. It is stored under the number of the producer's slot, so that leaving
/// the line is O(1) and releases the element.
@usableFromInline
struct ProducerLine<Item: Sendable, Producer: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Producer, SendOutcome>

    @usableFromInline var line = Line()
    /// Indexed by the slots of the line.
    @usableFromInline var offers: [Item?] = []

    @inlinable
    init() {}

    @inlinable var isEmpty: Bool { line.isEmpty }
    @inlinable var count: Int { line.count }

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

    /// Removes the first producer from the line. Returns its offer, and its continuation if it has suspended.
    @inlinable
    mutating func settleFirst(_ outcome: SendOutcome) -> (item: Item, producer: Producer?) {
        defer { shrink() }
        guard let item = offers[line.first].take() else { preconditionFailure("A waiting producer has no offer.") }
        return (item, line.settleFirst(outcome))
    }

    /// Does nothing if the producer has left the line.
    @inlinable
    mutating func settle(_ ticket: Line.Ticket, _ outcome: SendOutcome) -> (item: Item, producer: Producer?)? {
        guard line.contains(ticket), let item = offers[ticket.slot].take() else { return nil }
        defer { shrink() }
        return (item, line.settle(ticket, outcome))
    }

    /// Releases the offers when the line has released its slots, which it does when it becomes empty.
    @inlinable
    mutating func shrink() {
        if line.slotCount == 0 { offers.removeAll(keepingCapacity: offers.count <= Line.slotsKept) }
    }
}
