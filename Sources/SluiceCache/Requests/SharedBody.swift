import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A streaming body for any number of readers, each of which reads all bytes.
///
/// This isn't a `SharedSequence`, because bytes that have left the memory are in a file: a late reader still gets all of them, and a slow
/// reader doesn't slow the others down.
final class SharedBody: Sendable {
    private let state: Lock<SharedBodyState>
    /// The file that the body is written to.
    private let file: RandomAccessFile?
    /// The URL that errors name.
    private let url: URL

    init(spoolingTo file: RandomAccessFile?, of url: URL) {
        self.file = file
        self.url = url
        state = Lock(SharedBodyState(isSpooling: file != nil))
    }

    // MARK: The transfer

    func append(_ chunks: [Data]) {
        state.withLock { $0.append(chunks) }.signal()
    }

    func spool() { state.withLock { $0.spool() } }

    func stopSpooling() { state.withLock { $0.stopSpooling() } }

    func waitForRoom() async throws {
        while let fullness = state.withLock({ $0.fullness }) { try await fullness.waitUnlessCancelled() }
    }

    /// Ends the body. Only the first call counts.
    func finish(throwing error: (any Error)? = nil) {
        state.withLock { $0.finish(error) }.signal()
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    var isSpooling: Bool { state.withLock { $0.isSpooling } }

    // MARK: Readers

    func join() -> Int? { state.withLock { $0.join() } }

    func leave(_ reader: Int) { state.withLock { $0.leave(reader) }?.signal() }

    func nextBatch(_ reader: Int) async throws -> [Data]? {
        while true {
            try Task.checkCancellation()
            let (step, signal) = state.withLock { $0.next(reader) }
            signal?.signal()
            switch step {
            case .chunks(let chunks): return chunks
            case .end(let error?): throw error
            case .end(nil): return nil
            case .wait(let arrival): try await arrival.waitUnlessCancelled()
            case .file(let range):
                let data = try await file?.readBody(range, of: url)
                guard let data else { preconditionFailure("Bytes leave the memory only if they are in a file.") }
                state.withLock { $0.read(reader, upTo: range.lowerBound + Int64(data.count)) }
                return [data]
            }
        }
    }
}

/// A running transfer. It is cancelled when its last reader is gone.
final class SharedTransfer: Sendable {
    let response: CachedResponse
    let cacheStatus: CacheStatus
    private let body: SharedBody
    private let task: Task<Void, Never>

    init(_ response: CachedResponse, _ cacheStatus: CacheStatus, _ body: SharedBody, _ task: Task<Void, Never>) {
        self.response = response
        self.cacheStatus = cacheStatus
        self.body = body
        self.task = task
    }

    deinit { task.cancel() }

    func isOf(_ body: SharedBody) -> Bool { self.body === body }

    /// Whether the body is written to the cache's file.
    var isSpooling: Bool { body.isSpooling }

    /// Returns a new reader of the whole body, or `nil` if its beginning is lost.
    func makeReader() -> SharedBodyReader? {
        body.join().map { SharedBodyReader(self, body, $0) }
    }
}

/// One reader of a ``SharedBody``. It leaves when it is released or its task is cancelled.
final class SharedBodyReader: ResponseBodySource {
    private let body: SharedBody
    private let number: Int
    /// `nil` after the end.
    private let transfer: Lock<SharedTransfer?>

    fileprivate init(_ transfer: SharedTransfer, _ body: SharedBody, _ number: Int) {
        self.body = body
        self.number = number
        self.transfer = Lock(transfer)
    }

    deinit { body.leave(number) }

    func nextBatch() async throws -> [Data]? {
        let isOpen = transfer.withLock { $0 != nil }
        guard isOpen else { return nil }
        do {
            if let batch = try await body.nextBatch(number) { return batch }
            end()
            return nil
        } catch {
            end()
            throw error
        }
    }

    private func end() {
        body.leave(number)
        // The last reference cancels the transfer, which must not happen under the lock.
        let last = transfer.withLock { $0.take() }
        _ = last
    }
}

// MARK: - State

/// The state of a ``SharedBody``, without a lock.
///
/// ```text
/// 0                     windowStart                    spooled        received
/// ├── in the file only ──┼── in the file and in memory ──┼── in memory ──┤
/// ```
///
/// While the body is written to a file, the slowest reader doesn't limit the speed: a chunk leaves the memory as soon as it is in the file.
/// If there is no file, or it can't be written, a chunk leaves the memory when all readers have read it, and the transfer waits until then.
struct SharedBodyState {
    /// How many bytes may be in memory before the transfer waits.
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

    /// Notes that the file has all bytes received so far.
    mutating func spool() {
        spooled = received
        trim()
    }

    /// Notes that nothing more is written to the file. Readers may already have read what the file lacks, and be waiting for more.
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

// MARK: - Running transfers

/// A cache's running transfers, keyed by request and held weakly.
final class RunningTransfers: Sendable {
    private struct Entry {
        weak var transfer: SharedTransfer?
    }

    private let entries = Lock<[ResponseKey: Entry]>([:])

    func insert(_ transfer: SharedTransfer, for key: ResponseKey) {
        entries.withLock { $0[key] = Entry(transfer: transfer) }
    }

    /// Returns a new reader of the transfer for the key, if there is one whose beginning isn't lost.
    func makeReader(for key: ResponseKey) -> (SharedTransfer, SharedBodyReader)? {
        // This may be the last reference, which must not be released under the lock.
        let transfer = entries.withLock { entries in entries.isEmpty ? nil : entries[key]?.transfer }
        guard let transfer, let reader = transfer.makeReader() else { return nil }
        return (transfer, reader)
    }

    /// Removes the transfer of an ended body, but not a newer one.
    func remove(_ body: SharedBody, for key: ResponseKey) {
        let transfer: SharedTransfer? = entries.withLock { entries in
            let current = entries[key]?.transfer
            if current.map({ $0.isOf(body) }) ?? true { entries[key] = nil }
            return current
        }
        _ = transfer
    }
}
