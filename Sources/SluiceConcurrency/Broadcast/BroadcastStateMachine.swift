@usableFromInline
enum BroadcastWakeUp: Hashable, Sendable {
    /// An element was sent or the broadcast has finished: the subscriber calls `next` again.
    case lookAgain
    case cancelled
}

/// The sent elements, the position of each subscriber, and the subscribers that wait.
///
/// It resumes no task. It returns removed elements, which the caller destroys after unlocking.
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
        @usableFromInline var wait: Line.Ticket?
        /// For a vacant place, the next vacant one or `none`.
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
    /// Vacant places are reused.
    @usableFromInline var places: [Place] = []
    @usableFromInline var firstVacant = none
    @usableFromInline var subscriberCount = 0

    @inlinable
    init(replay: Int) {
        log = BroadcastLog(replay: replay)
    }

    // MARK: Sending

    @inlinable
    mutating func send(_ element: Element) -> SendAction {
        if end != nil { return .refused }
        var removed = Removed(first: log.append(element))
        if log.isCrowded { removed.others = moveOnThoseWhoLag() }
        return .resume(line.isEmpty ? [] : line.settleAll(.lookAgain), removed)
    }

    /// Records the end, unless there is one, and returns the waiting subscribers, which look again.
    @inlinable
    mutating func finish(_ end: End) -> [Waiter] {
        if self.end != nil { return [] }
        self.end = end
        return line.settleAll(.lookAgain)
    }

    // MARK: Subscribing

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

    /// The subscriber must not be waiting. The caller destroys the returned values after unlocking.
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

    @inlinable
    mutating func next(_ index: Int) -> NextAction {
        if let wait = places[index].wait {
            precondition(!line.contains(wait), "Only one task at a time may iterate over a subscription.")
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

    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ waiter: Waiter) -> BroadcastWakeUp? {
        line.suspend(ticket, waiter)
    }

    /// Returns the continuation of a cancelled subscriber, which the caller resumes with `.cancelled`.
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
