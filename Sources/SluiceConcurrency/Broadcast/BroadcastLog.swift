public import DequeModule

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

    /// Elements removed from the log. Mostly there is one, which is stored without an allocation.
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
    /// The number of elements at which slow subscribers are made to miss the elements that exceed their limits.
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
        // The new deque holds all elements before the old one releases them, so none is destroyed here, under the lock.
        var smaller = Deque<Slot>(minimumCapacity: room)
        smaller.append(contentsOf: slots)
        slots = smaller
    }
}
