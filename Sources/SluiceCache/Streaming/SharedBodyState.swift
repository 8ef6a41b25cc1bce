import SluiceConcurrency

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The state of a ``SharedBody``, without a lock.
///
/// ```text
/// 0                     windowStart                    spooled        received
/// ├── in the file only ──┼── in the file and in memory ──┼── in memory ──┤
/// ```
///
/// While the body is written to a file, the slowest reader doesn't limit the speed: a chunk leaves the memory as soon as the file has it. If
/// there is no file, or it can't be written, a chunk leaves the memory when all readers have read it, and the transfer waits until then.
struct SharedBodyState {
    /// The bytes in memory above which the transfer waits.
    static let window = 1 << 20
    /// The largest number of bytes that a reader reads from the file in one step.
    static let piece: Int64 = 256 << 10

    /// What a reader does next.
    enum Step {
        case chunks([Data])
        /// Read these bytes from the file, and then report them with ``read(_:upTo:)``.
        case file(Range<Int64>)
        case end((any Error)?)
        case wait(Condition)
    }

    private var chunks: [Data] = []
    private var bytes = 0
    private(set) var windowStart: Int64 = 0
    private(set) var received: Int64 = 0
    private var spooled: Int64 = 0
    private(set) var isSpooling: Bool
    private var positions: [Int: Int64] = [:]
    private var lastReader = 0
    private var ending: (any Error)??
    private var arrival = Condition.makeCondition()
    private var room = Condition.makeCondition()

    init(isSpooling: Bool) { self.isSpooling = isSpooling }

    // MARK: The transfer. The signals must be sent after the lock is released.

    mutating func append(_ new: [Data]) -> Signal {
        for chunk in new {
            bytes += chunk.count
            received += Int64(chunk.count)
        }
        chunks += new.filter { !$0.isEmpty }
        trim()
        return arrived()
    }

    /// The file has all bytes that were received so far.
    mutating func spool() {
        spooled = received
        trim()
    }

    /// No further bytes are written to the file. Readers may have read what the file lacks, and wait for more.
    mutating func stopSpooling() {
        isSpooling = false
        trim()
    }

    /// Returns a condition to wait for if the transfer must not receive more bytes yet.
    var fullness: Condition? { bytes > Self.window ? room.condition : nil }

    mutating func finish(_ error: (any Error)?) -> Signal {
        if ending == nil { ending = .some(error) }
        return arrived()
    }

    var hasEnded: Bool { ending != nil }

    private mutating func arrived() -> Signal {
        defer { arrival = Condition.makeCondition() }
        return arrival.signal
    }

    // MARK: Readers

    /// Adds a reader at the beginning of the body, unless the beginning is lost.
    mutating func join() -> Int? {
        guard windowStart == 0 || spooled >= windowStart else { return nil }
        lastReader += 1
        positions[lastReader] = 0
        return lastReader
    }

    mutating func leave(_ reader: Int) -> Signal? {
        positions[reader] = nil
        return makeRoom()
    }

    mutating func next(_ reader: Int) -> (Step, Signal?) {
        guard let position = positions[reader] else { return (.end(nil), nil) }
        if position < windowStart {
            return (.file(position..<min(windowStart, position + Self.piece)), nil)
        }
        guard position < received else {
            if let ending { return (.end(ending), nil) }
            return (.wait(arrival.condition), nil)
        }
        var start = windowStart
        // A reader is always at the beginning of a chunk.
        let unread = chunks.drop { chunk in
            defer { start += Int64(chunk.count) }
            return start < position
        }
        positions[reader] = received
        return (.chunks(Array(unread)), makeRoom())
    }

    mutating func read(_ reader: Int, upTo position: Int64) { positions[reader] = position }

    // MARK: The window

    private mutating func makeRoom() -> Signal? {
        let wasFull = bytes > Self.window
        trim()
        guard wasFull, bytes <= Self.window else { return nil }
        defer { room = Condition.makeCondition() }
        return room.signal
    }

    private mutating func trim() {
        // Without a reader, the next one needs the bytes.
        let needed = positions.values.min() ?? windowStart
        let limit = isSpooling ? spooled : min(received, max(spooled, needed))
        var dropped = 0
        while bytes > Self.window, dropped < chunks.count {
            let end = windowStart + Int64(chunks[dropped].count)
            guard end <= limit else { break }
            bytes -= chunks[dropped].count
            windowStart = end
            dropped += 1
        }
        chunks.removeFirst(dropped)
    }
}
