/// Why a subscriber that waited is resumed.
@usableFromInline
enum BroadcastWakeUp: Hashable, Sendable {
    /// There is something to take, or nothing ever will be: it asks again.
    case lookAgain
    case cancelled
}

/// What was sent, how far each subscriber has come, and which of them wait.
///
/// Events in, actions out; it resumes no task itself. Elements that are let go are handed out, to be destroyed after the unlock.
@usableFromInline
struct BroadcastStateMachine<Element: Sendable, Failure: Error, Waiter: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Waiter, BroadcastWakeUp>
    @usableFromInline typealias Removed = BroadcastLog<Element>.Removed
    @usableFromInline typealias Subscriber = BroadcastSubscriber<Element, Failure>

    @usableFromInline
    enum NextAction: Sendable {
        case deliver(Broadcast<Element, Failure>.Delivery, Removed)
        case finished
        case failed(Failure)
        /// The subscriber is in line, and suspends with this ticket.
        case suspend(Line.Ticket)
    }

    @usableFromInline
    enum SendAction: Sendable {
        case resume([Waiter], Removed)
        case refused
    }

    @usableFromInline
    enum End: Sendable {
        case finished
        case failed(Failure)
    }

    @usableFromInline
    struct Place: Sendable {
        @usableFromInline var subscriber: Subscriber?
        /// The wait that it is in, or was in last.
        @usableFromInline var wait: Line.Ticket?
        /// For a vacant place the next vacant one, or `none`.
        @usableFromInline var nextVacant = none

        @inlinable
        init(_ subscriber: Subscriber) {
            self.subscriber = subscriber
        }
    }

    @inlinable static var none: Int { -1 }

    @usableFromInline var log: BroadcastLog<Element>
    @usableFromInline var line = Line()
    @usableFromInline var end: End?
    /// The places of subscribers, which are used again.
    @usableFromInline var places: [Place] = []
    @usableFromInline var firstVacant = none
    @usableFromInline var subscriberCount = 0

    @inlinable
    init(replay: Int) {
        log = BroadcastLog(replay: replay)
    }

    // MARK: Sending

    /// An element comes; the waiting subscribers look again.
    @inlinable
    mutating func send(_ element: Element) -> SendAction {
        if end != nil { return .refused }
        var removed = Removed(first: log.append(element))
        if log.isCrowded { removed.others = moveOnThoseWhoLag() }
        return .resume(line.isEmpty ? [] : line.settleAll(.lookAgain), removed)
    }

    /// No more elements come; returns the waiting subscribers, to look again. Only the first end counts.
    @inlinable
    mutating func finish(_ end: End) -> [Waiter] {
        if self.end != nil { return [] }
        self.end = end
        return line.settleAll(.lookAgain)
    }

    // MARK: Subscribing

    /// A subscriber comes, and has still to get what is there to be replayed; returns its place.
    @inlinable
    mutating func subscribe(_ buffering: Broadcast<Element, Failure>.Buffering) -> Int {
        let place = Place(Subscriber(buffering, cursor: log.addCursor()))
        subscriberCount += 1
        if firstVacant == Self.none {
            places.append(place)
            return places.count - 1
        }
        let index = firstVacant
        firstVacant = places[index].nextVacant
        places[index] = place
        return index
    }

    /// A subscriber goes, which does not wait; returns what it had still to get, to be destroyed after the unlock.
    @inlinable
    mutating func unsubscribe(_ index: Int) -> (subscriber: Subscriber?, removed: Removed) {
        let subscriber = places[index].subscriber
        if let subscriber { log.removeCursor(at: subscriber.cursor) }
        subscriberCount -= 1
        if subscriberCount == 0 {
            places = []
            firstVacant = Self.none
        } else {
            places[index].subscriber = nil
            places[index].nextVacant = firstVacant
            firstVacant = index
        }
        return (subscriber, log.trim())
    }

    // MARK: Receiving

    /// A subscriber wants the next, and waits for it if need be.
    @inlinable
    mutating func next(_ index: Int) -> NextAction {
        if let wait = places[index].wait {
            precondition(!line.contains(wait), "Two tasks iterate one subscription; each must subscribe for itself.")
        }
        if let delivery = places[index].subscriber?.take(&log) { return .deliver(delivery, log.trim()) }
        guard let end else {
            let ticket = line.join()
            places[index].wait = ticket
            return .suspend(ticket)
        }
        if case .failed(let failure) = end, places[index].subscriber?.hasEnded == false {
            places[index].subscriber?.hasEnded = true
            return .failed(failure)
        }
        return .finished
    }

    /// A subscriber in line suspends; returns what it is resumed with if that is known by now.
    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> BroadcastWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// A subscriber in line was cancelled; returns it to be resumed with `.cancelled`.
    @inlinable
    mutating func cancel(_ ticket: Line.Ticket) -> Waiter? {
        line.settle(ticket, .cancelled)
    }

    // MARK: Machinery

    @inlinable
    mutating func moveOnThoseWhoLag() -> [Element] {
        for index in places.indices { places[index].subscriber?.settle(&log) }
        let removed = log.trim()
        log.makeRoom()
        return (removed.first.map { [$0] } ?? []) + removed.others
    }
}
