/// An array of plain values with a single owner.
///
/// Each change of an `Array` checks whether a copy shares its memory. The parser of leaves changes a few values per node, and these checks
/// took a fifth of its time. Here, an access checks only its bounds.
struct GrowingBuffer<Element: BitwiseCopyable>: ~Copyable {
    private var start: UnsafeMutablePointer<Element>
    private var room: Int
    private(set) var count = 0

    init(capacity: Int = 16) {
        room = capacity
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    var isEmpty: Bool { count == 0 }

    subscript(index: Int) -> Element {
        @inline(__always) get {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count))
            return start[index]
        }
        @inline(__always) _modify {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count))
            yield &start[index]
        }
    }

    @inline(__always) mutating func append(_ element: Element) {
        if count == room { grow() }
        (start + count).initialize(to: element)
        count &+= 1
    }

    @inline(never) private mutating func grow() {
        room = max(2 * room, 16)
        let grown = UnsafeMutablePointer<Element>.allocate(capacity: room)
        grown.update(from: start, count: count)
        start.deallocate()
        start = grown
    }

    mutating func popLast() -> Element? {
        guard count > 0 else { return nil }
        count &-= 1
        return start[count]
    }

    /// Removes the elements from an index on, and keeps the memory.
    mutating func removeAll(from index: Int = 0) {
        precondition(index >= 0 && index <= count)
        count = index
    }

    func withUnsafeBufferPointer<Result>(_ body: (UnsafeBufferPointer<Element>) -> Result) -> Result {
        body(UnsafeBufferPointer(start: start, count: count))
    }
}
