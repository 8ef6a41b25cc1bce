public import DequeModule

/// The elements that some subscriber has still to get, each once, whatever the number of subscribers; and the last few,
/// for later subscribers.
///
/// A subscriber is a cursor: the number of the element that it gets next. Each slot counts the cursors that stand at it, so
/// that nothing has to be searched when the slowest moves on:
///
/// ```text
/// number    7    8    9   10   11 = end
/// element   a    b    c    d
/// cursors   1    0    2    0    3 = cursorsAtEnd      (three have got everything)
/// └ start
/// ```
///
/// The front slot goes as soon as no cursor stands at it and it is not among the last `replay`. So appending an element and
/// moving a cursor by one are O(1), and an element that all have got is released immediately.
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

    /// Elements that were let go, mostly one, which therefore costs no allocation.
    @usableFromInline
    struct Removed: Sendable {
        @usableFromInline var first: Element?
        @usableFromInline var others: [Element] = []

        @inlinable
        init(first: Element?) {
            self.first = first
        }
    }

    /// A log with more room than this gives its memory back when it holds little.
    @inlinable static var roomKept: Int { 64 }

    @usableFromInline var slots = Deque<Slot>()
    /// The number of the element in the front slot.
    @usableFromInline var start = 0
    @usableFromInline var cursorsAtEnd = 0
    /// How many elements are kept for later subscribers.
    @usableFromInline let replay: Int
    /// With so many elements, it is time to look for subscribers that lag behind further than they may.
    @usableFromInline var room = roomKept

    @inlinable
    init(replay: Int) {
        self.replay = replay
    }

    /// The number of the next element that comes.
    @inlinable var end: Int { start + slots.count }

    @inlinable
    subscript(number: Int) -> Element { slots[number - start].element }

    /// An element comes, which every subscriber has still to get.
    ///
    /// - Returns: The element that falls out of the log by this, to be destroyed after the unlock.
    @inlinable
    mutating func append(_ element: Element) -> Element? {
        slots.append(Slot(element: element, cursors: cursorsAtEnd))
        cursorsAtEnd = 0
        return popUnneeded()
    }

    /// A cursor appears, as far back as there is something to replay.
    @inlinable
    mutating func addCursor() -> Int {
        let number = max(start, end - replay)
        changeCursors(at: number, by: 1)
        return number
    }

    /// A cursor goes; `trim()` says what is let go by that.
    @inlinable
    mutating func removeCursor(at number: Int) {
        changeCursors(at: number, by: -1)
    }

    /// A cursor moves forward; `trim()` says what is let go by that.
    @inlinable
    mutating func moveCursor(from number: Int, to other: Int) {
        changeCursors(at: number, by: -1)
        changeCursors(at: other, by: 1)
    }

    /// Releases the elements that no subscriber needs any more.
    ///
    /// - Returns: That, to be destroyed after the unlock.
    /// - Complexity: O(number of elements that are let go).
    @inlinable
    mutating func trim() -> Removed {
        var removed = Removed(first: popUnneeded())
        if removed.first == nil { return removed }
        while let element = popUnneeded() { removed.others.append(element) }
        if room > Self.roomKept, slots.count <= room / 8 { giveMemoryBack() }
        return removed
    }

    /// Whether to look for subscribers that lag behind further than they may, so that what they hold can be let go.
    @inlinable var isCrowded: Bool { slots.count >= room }

    /// The subscribers that lag behind have been moved on; with much left that is needed, there must be more room.
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
        // The new deque holds each element before the old one lets go of it: none is destroyed here.
        var smaller = Deque<Slot>(minimumCapacity: room)
        smaller.append(contentsOf: slots)
        slots = smaller
    }
}
