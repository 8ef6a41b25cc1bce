/// Counts the operations on a shared descriptor and decides when it may be closed. A pure value.
///
/// After close(2) the kernel gives the descriptor's number to the next file that is opened, and an operation that was still running
/// would write into that file. So an operation counts from before it is queued until it has returned. Closing refuses new operations,
/// and the descriptor is closed when the count reaches 0:
///
/// ```text
/// task A                 task B                     task C
/// begin: 1
///                        close: no new operations,
///                        waits
///                                                   begin: refused
/// end: 0, wakes B
///                        closes the descriptor
///                        closed: wakes the other
///                        tasks that called close
/// ```
package struct DescriptorUse<Waiter> {
    private enum Phase {
        case open
        /// `closer` waits until the operations have ended. It's `nil` after it was woken.
        case closing(closer: Waiter?)
        case closed
    }

    private var phase = Phase.open
    private var operations = 0
    private var later: [Waiter] = []

    package init() {}

    /// Returns whether an operation may begin. If so, the caller must call ``end()``.
    package mutating func begin() -> Bool {
        guard case .open = phase else { return false }
        operations += 1
        return true
    }

    /// Notes the end of an operation. Returns the waiter that must now close the descriptor, if any.
    package mutating func end() -> Waiter? {
        precondition(operations > 0, "An operation may end only once.")
        operations -= 1
        guard operations == 0, case .closing(let closer) = phase else { return nil }
        phase = .closing(closer: nil)
        return closer
    }

    /// Refuses operations from now on. Returns what the caller must do, or `nil` if it must wait.
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

    /// Notes that the descriptor is closed. Returns the waiters to wake with ``ClosingTurn/nothing``.
    package mutating func closed() -> [Waiter] {
        phase = .closed
        defer { later = [] }
        return later
    }
}

package enum ClosingTurn: Sendable, Hashable {
    /// Close the descriptor, and then call ``DescriptorUse/closed()``.
    case close
    /// Nothing: the descriptor is closed.
    case nothing
}
