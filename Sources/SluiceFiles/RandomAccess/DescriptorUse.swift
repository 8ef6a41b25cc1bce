/// Who uses a shared descriptor, and when it may be closed. A pure value.
///
/// A number that the kernel has closed belongs to the next file that anybody opens, and an operation that still ran would
/// write into that. So an operation counts from before it is queued until it has returned; closing lets no new ones begin,
/// and the descriptor is closed when the count is nought:
///
/// ```text
/// task A                 task B                     task C
/// begin: 1
///                        close: no new ones,
///                        waits
///                                                   begin: refused
/// end: 0, wakes B
///                        closes the descriptor
///                        closed: wakes the tasks that
///                        closed meanwhile too
/// ```
///
/// All operations are O(1), but for ``closed()``.
package struct DescriptorUse<Waiter> {
    private enum Phase {
        case open
        /// `closer` waits until the operations have ended; nil once it was woken.
        case closing(closer: Waiter?)
        case closed
    }

    private var phase = Phase.open
    private var operations = 0
    private var later: [Waiter] = []

    package init() {}

    /// Whether an operation may begin. If so, ``end()`` follows.
    package mutating func begin() -> Bool {
        guard case .open = phase else { return false }
        operations += 1
        return true
    }

    /// An operation has ended. Gives who closes the descriptor now and is to be woken for it.
    package mutating func end() -> Waiter? {
        precondition(operations > 0, "An operation ended twice.")
        operations -= 1
        guard operations == 0, case .closing(let closer) = phase else { return nil }
        phase = .closing(closer: nil)
        return closer
    }

    /// From here on no operation begins. Gives the waiter's turn, or nil while it waits for others.
    package mutating func close(_ waiter: Waiter) -> ClosingTurn? {
        switch phase {
        case .open:
            let isFree = operations == 0
            phase = .closing(closer: isFree ? nil : waiter)
            return isFree ? .close : nil
        case .closing:
            later.append(waiter)
            return nil
        case .closed:
            return .nothing
        }
    }

    /// The descriptor is closed. Gives those who waited for that, whose turn is ``ClosingTurn/nothing``.
    package mutating func closed() -> [Waiter] {
        phase = .closed
        defer { later = [] }
        return later
    }
}

/// What someone who wants to close a shared descriptor is to do.
package enum ClosingTurn: Sendable, Hashable {
    /// Close it now, and say so with ``DescriptorUse/closed()``.
    case close
    /// Nothing: it is closed.
    case nothing
}
