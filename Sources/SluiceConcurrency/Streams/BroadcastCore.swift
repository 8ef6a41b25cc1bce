public import DequeModule
public import SluiceLock

// MARK: - The state machine

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
    struct Entry: Sendable {
        @usableFromInline var subscriber: Subscriber?
        @usableFromInline var wait: Line.Ticket?
        /// For a vacant entry, the next vacant one or `none`.
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
    /// Vacant entries are reused.
    @usableFromInline var entries: [Entry] = []
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
        let entry = Entry(Subscriber(buffering, cursor: log.addCursor()))
        subscriberCount += 1
        if firstVacant == Self.none {
            entries.append(entry)
            return entries.count - 1
        }
        let index = firstVacant
        firstVacant = entries[index].nextVacant
        entries[index] = entry
        return index
    }

    /// The subscriber must not be waiting. The caller destroys the returned values after unlocking.
    @inlinable
    mutating func unsubscribe(_ index: Int) -> (subscriber: Subscriber?, removed: Removed) {
        let subscriber = entries[index].subscriber
        if let subscriber { log.removeCursor(at: subscriber.cursor) }
        subscriberCount -= 1
        if subscriberCount == 0 {
            entries = []
            firstVacant = Self.none
        } else {
            entries[index].subscriber = nil
            entries[index].nextVacant = firstVacant
            firstVacant = index
        }
        return (subscriber, log.trim())
    }

    // MARK: Receiving

    @inlinable
    mutating func next(_ index: Int) -> NextAction {
        if let wait = entries[index].wait {
            precondition(!line.contains(wait), "Only one task at a time may iterate over a subscription.")
        }
        if let delivery = entries[index].subscriber?.take(&log) { return .deliver(delivery, log.trim()) }
        guard let end else {
            let ticket = line.join()
            entries[index].wait = ticket
            return .suspend(ticket)
        }
        if case .failed(let failure) = end, entries[index].subscriber?.hasEnded == false {
            entries[index].subscriber?.hasEnded = true
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
        for index in entries.indices { entries[index].subscriber?.settle(&log) }
        let removed = log.trim()
        log.makeRoom()
        return (removed.first.map { [$0] } ?? []) + removed.others
    }
}

// MARK: - The log

/// The elements that at least one subscriber hasn't received, each stored once, and the last elements for later subscribers.
///
/// A subscriber is a cursor: the number of the element that it receives next. Each slot counts the cursors at it, so that no search is
/// needed when the slowest subscriber advances:
///
/// ```text
/// number    7    8    9   10   11 = end
/// element   a    b    c    d
/// cursors   1    0    2    0    3 = cursorsAtEnd      (three have received everything)
/// └ start
/// ```
///
/// The front slot is removed as soon as no cursor is at it and it isn't among the last `replay` elements. Appending an element and
/// advancing a cursor by one are O(1), and an element that all subscribers have received is released immediately.
@usableFromInline
struct BroadcastLog<Element: Sendable>: Sendable {
    @usableFromInline
    struct Slot: Sendable {
        @usableFromInline let element: Element
        @usableFromInline var cursors: Int

        @inlinable
        init(element: Element, cursors: Int) {
            self.element = element
            self.cursors = cursors
        }
    }

    /// Elements removed from the log. Usually there is only one, which is stored without an allocation.
    @usableFromInline
    struct Removed: Sendable {
        @usableFromInline var first: Element?
        @usableFromInline var others: [Element] = []

        @inlinable
        init(first: Element?) {
            self.first = first
        }
    }

    /// A log with more room than this releases memory when it holds few elements.
    @inlinable static var roomKept: Int { 64 }

    @usableFromInline var slots = Deque<Slot>()
    @usableFromInline var start = 0
    @usableFromInline var cursorsAtEnd = 0
    @usableFromInline let replay: Int
    /// When the log has this many elements, slow subscribers skip the elements that exceed their limits.
    @usableFromInline var room = roomKept

    @inlinable
    init(replay: Int) {
        self.replay = replay
    }

    @inlinable var end: Int { start + slots.count }

    @inlinable
    subscript(number: Int) -> Element { slots[number - start].element }

    /// Appends an element that no subscriber has received. Returns an element that the log no longer needs; the caller destroys it after
    /// unlocking.
    @inlinable
    mutating func append(_ element: Element) -> Element? {
        slots.append(Slot(element: element, cursors: cursorsAtEnd))
        cursorsAtEnd = 0
        return popUnneeded()
    }

    /// Adds a cursor at the first element to replay.
    @inlinable
    mutating func addCursor() -> Int {
        let number = max(start, end - replay)
        changeCursors(at: number, by: 1)
        return number
    }

    /// Removes a cursor. Call `trim()` afterwards.
    @inlinable
    mutating func removeCursor(at number: Int) {
        changeCursors(at: number, by: -1)
    }

    /// Moves a cursor forward. Call `trim()` afterwards.
    @inlinable
    mutating func moveCursor(from number: Int, to other: Int) {
        changeCursors(at: number, by: -1)
        changeCursors(at: other, by: 1)
    }

    /// Removes the elements that no subscriber needs, and returns them. The caller destroys them after unlocking. O(n) in their number.
    @inlinable
    mutating func trim() -> Removed {
        var removed = Removed(first: popUnneeded())
        if removed.first == nil { return removed }
        while let element = popUnneeded() { removed.others.append(element) }
        if room > Self.roomKept, slots.count <= room / 8 { giveMemoryBack() }
        return removed
    }

    @inlinable var isCrowded: Bool { slots.count >= room }

    @inlinable
    mutating func makeRoom() {
        while slots.count > room / 2 { room *= 2 }
    }

    // MARK: Machinery

    @inlinable
    mutating func changeCursors(at number: Int, by difference: Int) {
        if number == end { cursorsAtEnd += difference } else { slots[number - start].cursors += difference }
    }

    @inlinable
    mutating func popUnneeded() -> Element? {
        guard slots.count > replay, let front = slots.first, front.cursors == 0 else { return nil }
        start += 1
        return slots.removeFirst().element
    }

    @inlinable
    mutating func giveMemoryBack() {
        room = max(Self.roomKept, room / 4)
        // The new deque has all elements before the old one releases them, so none is destroyed here, under the lock.
        var smaller = Deque<Slot>(minimumCapacity: room)
        smaller.append(contentsOf: slots)
        slots = smaller
    }
}

// MARK: - The subscribers

/// The position of one subscriber, and the number of elements that it has missed.
///
/// It receives its backlog first, then the number of missed elements, then the log from its cursor on.
///
/// Most subscribers have no backlog. Only a full subscriber that keeps the oldest elements has a gap in the middle of the log. The
/// elements before the gap move to its backlog, so that the log needn't keep the elements after them.
///
/// ```text
/// keeps oldest 3:   a b c │ d e │ f g          a, b, c are buffered; d and e are missed
/// backlog: a b c, missed 2 ─┘     └─ cursor    a is taken: there is room for f
/// ```
@usableFromInline
struct BroadcastSubscriber<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Delivery = Broadcast<Element, Failure>.Delivery

    @usableFromInline let bound: Int
    @usableFromInline let keepsOldest: Bool
    /// The number of the next element in the log.
    @usableFromInline var cursor: Int
    /// The number of elements missed just before the cursor.
    @usableFromInline var missed = 0
    @usableFromInline var backlog = Deque<Delivery>()
    /// The number of elements in the backlog, which also holds gap reports.
    @usableFromInline var backlogValues = 0
    /// Whether the subscriber has received the error of the broadcast.
    @usableFromInline var hasEnded = false

    @inlinable
    init(_ buffering: Broadcast<Element, Failure>.Buffering, cursor: Int) {
        self.cursor = cursor
        switch buffering {
        case .newest(let bound): (self.bound, keepsOldest) = (bound, false)
        case .oldest(let bound): (self.bound, keepsOldest) = (bound, true)
        case .unbounded: (self.bound, keepsOldest) = (.max, false)
        }
        precondition(bound >= 1, "A subscription's buffering limit must be at least 1; it is \(bound).")
    }

    /// Skips the elements that exceed the bound.
    ///
    /// The subscriber receives the same deliveries whenever this is called, if it is called before each element is taken.
    @inlinable
    mutating func settle(_ log: inout BroadcastLog<Element>) {
        let room = bound - backlogValues
        guard log.end - cursor > room else { return }
        keepsOldest ? missNewest(room, &log) : missOldest(&log)
    }

    /// The caller must trim the log afterward.
    @inlinable
    mutating func take(_ log: inout BroadcastLog<Element>) -> Delivery? {
        settle(&log)
        if let delivery = backlog.popFirst() {
            if case .value = delivery { backlogValues -= 1 }
            return delivery
        }
        if missed > 0 {
            defer { missed = 0 }
            return .missed(missed)
        }
        guard cursor < log.end else { return nil }
        let element = log[cursor]
        move(to: cursor + 1, &log)
        return .value(element)
    }

    @inlinable
    mutating func missOldest(_ log: inout BroadcastLog<Element>) {
        let target = log.end - bound
        missed += target - cursor
        move(to: target, &log)
    }

    /// Moves the elements for which there is room to the backlog, and skips the others.
    @inlinable
    mutating func missNewest(_ room: Int, _ log: inout BroadcastLog<Element>) {
        if room > 0 {
            if missed > 0 { backlog.append(.missed(missed)) }
            missed = 0
            for number in cursor..<cursor + room { backlog.append(.value(log[number])) }
            backlogValues += room
        }
        missed += log.end - cursor - room
        move(to: log.end, &log)
    }

    @inlinable
    mutating func move(to target: Int, _ log: inout BroadcastLog<Element>) {
        log.moveCursor(from: cursor, to: target)
        cursor = target
    }
}

// MARK: - The storage

@usableFromInline
final class BroadcastStorage<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Machine = BroadcastStateMachine<Element, Failure, Waiter>
    @usableFromInline typealias Waiter = UnsafeContinuation<BroadcastWakeUp, Never>

    @usableFromInline let machine: Lock<Machine>

    @inlinable
    init(replay: Int) {
        machine = Lock(Machine(replay: replay))
    }

    @inlinable var subscriberCount: Int { machine.withLock { $0.subscriberCount } }

    @inlinable
    func send(_ element: Element) -> Bool {
        guard case .resume(let waiters, _) = machine.withLock({ $0.send(element) }) else { return false }
        for waiter in waiters { waiter.resume(returning: .lookAgain) }
        return true
    }

    @inlinable
    func finish(_ end: Machine.End) {
        for waiter in machine.withLock({ $0.finish(end) }) { waiter.resume(returning: .lookAgain) }
    }

    @inlinable
    func subscribe(_ buffering: Broadcast<Element, Failure>.Buffering) -> Int {
        machine.withLock { $0.subscribe(buffering) }
    }

    @inlinable
    func unsubscribe(_ index: Int) {
        _ = machine.withLock { $0.unsubscribe(index) }
    }

    @inlinable
    func next(_ index: Int) async throws(Failure) -> Broadcast<Element, Failure>.Delivery? {
        while !Task.isCancelled {
            switch machine.withLock({ $0.next(index) }) {
            case .deliver(let delivery, _): return delivery
            case .finished: return nil
            case .failed(let failure): throw failure
            case .suspend(let ticket): if await wait(ticket) == .cancelled { return nil }
            }
        }
        return nil
    }

    @inlinable
    func wait(_ ticket: Machine.Line.Ticket) async -> BroadcastWakeUp {
        await suspending { waiter in
            machine.withLock { $0.suspend(ticket, waiter) }
        } onCancel: {
            machine.withLock { $0.cancel(ticket) }?.resume(returning: .cancelled)
        }
    }
}

/// Releasing the last reference unsubscribes.
@usableFromInline
final class BroadcastRegistration<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline let storage: BroadcastStorage<Element, Failure>
    @usableFromInline let index: Int

    @inlinable
    init(storage: BroadcastStorage<Element, Failure>, buffering: Broadcast<Element, Failure>.Buffering) {
        self.storage = storage
        index = storage.subscribe(buffering)
    }

    @inlinable
    deinit {
        storage.unsubscribe(index)
    }

    @inlinable
    func next() async throws(Failure) -> Broadcast<Element, Failure>.Delivery? {
        try await storage.next(index)
    }
}
