internal import CSluiceFiles
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// One operation of the readiness lane. It makes non-blocking calls on the calling thread, and waits in between.
///
/// The engine's own descriptors are set to non-blocking. Calls on the caller's descriptors use one of the ``Access`` cases. O_NONBLOCK is
/// never set on these, because the flag belongs to the open file, which other processes share (as a shell shares its terminal).
///
/// Memory is copied on the calling thread, at most `maximumPerCall` bytes at a time. A transfer that never has to wait yields the thread
/// after every `maximumPerTurn` bytes.
final class ReadinessTransfer {
    enum Access {
        /// With a non-blocking call, on the descriptor itself or on its reopened file.
        case now(CInt, ReadinessCalls.Manner)
        /// With one bounded read or write on the pool each time the descriptor is ready, because there is no non-blocking call. If another
        /// process takes the bytes first, the pool thread waits for the next ones.
        case onceReady
    }

    let io: FileIO
    let descriptor: CInt
    let path: String
    /// Whether the engine owns the descriptor, so that no other code closes it.
    let isOurs: Bool
    let kind: CInt
    private let direction: SystemCalls.Direction
    private(set) var access: Access
    private var reopened: CInt?
    private var sinceTurn = 0

    private static var maximumPerCall: Int { 64 << 10 }
    private static var maximumPerTurn: Int { 1 << 20 }

    init(of file: OpenFile, for direction: SystemCalls.Direction) {
        io = file.io
        descriptor = file.descriptor
        path = file.path
        isOurs = true
        kind = CInt(file.status.mode & UInt32(S_IFMT))
        self.direction = direction
        access = .now(file.descriptor, .plain)
    }

    /// Creates a transfer for the caller's descriptor. Returns `nil` for a file that doesn't need waiting: a regular file, directory or
    /// disk.
    init?(
        of descriptor: CInt, for direction: SystemCalls.Direction, _ io: FileIO, _ path: String
    ) throws(FileError) {
        let system = io.system
        let calls = system.calls.readiness
        self.io = io
        self.descriptor = descriptor
        self.path = path
        self.direction = direction
        isOurs = false
        kind = system.retrying { calls.kind(descriptor) }
        access = .now(descriptor, .socket)
        try system.check(kind, "read the status of", path)
        if kind == CInt(S_IFSOCK) { return }
        switch kind {
        case CInt(S_IFREG), CInt(S_IFDIR), CInt(S_IFBLK), CInt(S_IFLNK): return nil
        case CInt(S_IFIFO): break
        default: if calls.canBeWaitedFor(descriptor) != 1 { return nil }
        }
        let flags = system.retrying { calls.flags(descriptor) }
        try system.check(flags, "read the status of", path)
        // read(2) and write(2) return EBADF here too. Reopening the file would open the other end of a pipe.
        if flags & O_ACCMODE == (direction == .reading ? O_WRONLY : O_RDONLY) {
            throw FileError(operation: direction == .reading ? "read" : "write", path: path, systemError: EBADF)
        }
        access = .now(descriptor, flags & O_NONBLOCK != 0 ? .plain : .noWait)
    }

    deinit {
        // Closes on this thread, which doesn't block, because the owner still has the FIFO or terminal open.
        if let reopened { io.system.closeQuietly(reopened) }
    }

    // MARK: Without waiting

    /// Makes one non-blocking call. Returns `nil` if there is none for this descriptor.
    private func attempt(_ call: (CInt, ReadinessCalls.Manner) -> Int) -> Int? {
        while true {
            guard case .now(let number, let manner) = access else { return nil }
            let result = io.system.retrying { call(number, manner) }
            guard manner == .noWait, Self.isMissing(result) else { return result }
            access = accessOnceMore()
        }
    }

    /// Returns whether this kernel, descriptor or sandbox lacks the non-blocking call. Sandboxes return EPERM.
    private static func isMissing(_ result: Int) -> Bool {
        [EOPNOTSUPP, ENOSYS, EPERM].contains(CInt(truncatingIfNeeded: -result))
    }

    /// Reopens the file as non-blocking: for FIFOs and terminals, and for pipes on older kernels.
    private func accessOnceMore() -> Access {
        let system = io.system
        let result = system.retrying {
            system.calls.readiness.reopen(descriptor, direction == .reading ? O_RDONLY : O_WRONLY)
        }
        guard result >= 0 else { return .onceReady }
        system.openCount.add(1, ordering: .relaxed)
        reopened = result
        return .now(result, .plain)
    }

    private func readinessNow(for operation: String) throws(FileError) -> Readiness {
        let system = io.system
        let bits = system.retrying { system.calls.readiness.readiness(descriptor) }
        try system.check(bits, operation, path)
        let readiness = Readiness(rawValue: UInt32(bits))
        if readiness.contains(.notOpen) { throw FileError(operation: operation, path: path, systemError: EBADF) }
        return readiness
    }

    // MARK: Waiting

    func wait() async throws {
        sinceTurn = 0
        let readiness: Readiness = direction == .reading ? .reading : .writing
        try await io.readiness.wait(for: descriptor, readiness, watching: !isOurs, path)
    }

    /// Checks for cancellation before a call, and yields the thread if this transfer has used it for a while.
    private func takeTurns() async throws {
        if sinceTurn >= Self.maximumPerTurn {
            sinceTurn = 0
            await Task.yield()
        }
        try Task.checkCancellation()
    }

    func count(_ bytes: Int) { sinceTurn += bytes }

    func counting<R>(_ body: () async throws -> R) async throws -> R {
        defer { io.readiness.completed.add(1, ordering: .relaxed) }
        return try await body()
    }
}

// MARK: - Reading

extension ReadinessTransfer {
    /// Reads the available bytes, up to `count`. Waits if there are none. Returns an empty `Data` only at the end.
    func readSome(upToCount count: Int) async throws -> Data {
        if count == 0 { return Data() }
        var buffer = ReadBuffer(expected: min(count, Self.maximumPerCall))
        _ = try await append(atMost: count, to: &buffer)
        return buffer.data()
    }

    /// Reads until `start`, which may already hold the first bytes, has `count` bytes. Stops earlier only at the end. After an error or a
    /// cancellation, `start` has all bytes read so far.
    func read(upToCount count: Int, after start: inout Data) async throws {
        if start.count >= count { return }
        var buffer = ReadBuffer(expected: min(count - start.count, Self.maximumPerCall))
        let wanted = count - start.count
        var failure: (any Error)?
        do {
            while buffer.count < wanted {
                if try await append(atMost: wanted - buffer.count, to: &buffer) == 0 { break }
            }
        } catch {
            failure = error
        }
        if start.isEmpty { start = buffer.data() } else { start += buffer.data() }
        if let failure { throw failure }
    }

    func readToEnd(limit: Int, after start: inout Data) async throws {
        // One byte more than the limit detects an excess.
        try await read(upToCount: limit == .max ? limit : limit + 1, after: &start)
        if start.count > limit { throw SystemInterface.excess(over: limit, path) }
    }

    /// Appends the available bytes. Waits if there are none. Returns their number, 0 only at the end.
    private func append(atMost most: Int, to buffer: inout ReadBuffer) async throws -> Int {
        let most = min(most, Self.maximumPerCall)
        let calls = io.system.calls.readiness
        try await takeTurns()
        while true {
            var result = -Int(EAGAIN)
            var isLeftToPool = false
            let filled = buffer.append(atMost: most) { free in
                guard let found = attempt({ calls.read($0, free, $1) }) else {
                    isLeftToPool = true
                    return 0
                }
                result = found
                return max(0, found)
            }
            guard filled != nil else { throw SystemInterface.outOfMemory(path) }
            if isLeftToPool { result = try await appendOnceReady(atMost: min(most, buffer.room), to: &buffer) }
            if result > 0 {
                count(result)
                return result
            }
            if try isEnd(result) { return 0 }
            try await wait()
        }
    }

    /// Waits until bytes are available, and reads them on a pool thread. The caller limits `most` to the room in the buffer, so no byte is
    /// lost.
    private func appendOnceReady(atMost most: Int, to buffer: inout ReadBuffer) async throws -> Int {
        try await wait()
        let (data, result) = try await io.run { [system = io.system, descriptor] _ in
            var piece = ReadBuffer(expected: most)
            var result = -Int(ENOMEM)
            piece.append(atMost: most) { free in
                result = system.retrying { system.calls.readiness.read(descriptor, free, .plain) }
                return max(0, result)
            }
            return (piece.data(), result)
        }
        var rest = data[...]
        while !rest.isEmpty {
            let copied = buffer.append(atMost: rest.count) { free in rest.copyBytes(to: free, count: free.count) }
            guard let copied else { throw SystemInterface.outOfMemory(path) }
            rest = rest.dropFirst(copied)
        }
        return result
    }

    /// Returns whether a result of 0 or less is the end. If it isn't, the caller must wait for the descriptor.
    ///
    /// Reading a FIFO also returns 0 before the first writer has opened it, where a blocking open would wait. In that case poll(2) doesn't
    /// report a hang-up. After a result of 0, it may report bytes from a writer that came and went in between. On Linux, reading a terminal
    /// fails with EIO once the other side is gone. See fifo(7), poll(2).
    private func isEnd(_ result: Int) throws(FileError) -> Bool {
        switch result {
        case 0:
            guard kind == CInt(S_IFIFO) else { return true }
            let now = try readinessNow(for: "read")
            return now.contains(.hungUp) && !now.contains(.reading)
        case -Int(EAGAIN):
            return false
        case -Int(EIO) where kind == CInt(S_IFCHR):
            if try readinessNow(for: "read").contains(.hungUp) { return true }
            throw FileError(operation: "read", path: path, systemError: EIO)
        default:
            throw FileError(operation: "read", path: path, systemError: CInt(-result))
        }
    }
}

// MARK: - Writing

/// The bytes of a write. They aren't moved or freed during the write.
enum BytesToWrite: Sendable {
    case data(Data)
    case borrowed(BorrowedBytes)

    var pieces: [BytesToWrite] {
        switch self {
        case .data: [self]
        case .borrowed(let bytes): bytes.pieces.map { .borrowed(BorrowedBytes(pieces: [$0])) }
        }
    }

    var count: Int {
        switch self {
        case .data(let data): data.count
        case .borrowed(let bytes): bytes.pieces.reduce(0) { $0 + $1.count }
        }
    }

    fileprivate func withBytes<R>(from start: Int, atMost most: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        func part(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start).prefix(most))
        }
        switch self {
        case .data(let data): return data.withUnsafeBytes { body(part($0)) }
        case .borrowed(let bytes): return body(part(bytes.pieces[0]))
        }
    }
}

extension ReadinessTransfer {
    /// Writes all bytes. An error counts the bytes that were written. A cancelled write throws `CancellationError` if it wrote none,
    /// otherwise a ``FileError`` with ``FileError/Code/cancelled``.
    func write(_ bytes: [BytesToWrite]) async throws {
        var written = 0
        do {
            for piece in bytes.lazy.flatMap(\.pieces) {
                let count = piece.count
                var done = 0
                while done < count {
                    let result = try await writeSome(of: piece, from: done)
                    done += result
                    written += result
                }
            }
        } catch let error as CancellationError {
            if written == 0 { throw error }
            throw FileError(
                code: .cancelled, operation: "write", path: path,
                remedy: "Write the remaining bytes if they are still needed.", bytesWritten: written)
        } catch let error as FileError {
            throw FileError(
                code: error.code, operation: error.operation, path: error.subject, systemError: error.systemError,
                remedy: error.remedy, bytesWritten: written)
        }
    }

    /// Writes as much of a piece as there is room for, at least one byte. Waits for room if there is none.
    private func writeSome(of piece: BytesToWrite, from start: Int) async throws -> Int {
        let calls = io.system.calls.readiness
        try await takeTurns()
        while true {
            let attempted: Int? = piece.withBytes(from: start, atMost: Self.maximumPerCall) { bytes in
                attempt { calls.write($0, bytes, $1) }
            }
            let result: Int
            if let attempted { result = attempted } else { result = try await writeOnceReady(piece, from: start) }
            if result > 0 {
                count(result)
                return result
            }
            if result != -Int(EAGAIN) {
                throw FileError(operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result))
            }
            try await wait()
        }
    }

    /// Waits until there is room, and writes on a pool thread. A pipe that is ready has room for at least PIPE_BUF bytes. See pipe(7).
    private func writeOnceReady(_ piece: BytesToWrite, from start: Int) async throws -> Int {
        try await wait()
        return try await io.run { [system = io.system, descriptor] _ in
            piece.withBytes(from: start, atMost: Self.maximumPerPoolWrite) { bytes in
                system.retrying { system.calls.readiness.write(descriptor, bytes, .plain) }
            }
        }
    }

    /// PIPE_BUF on Linux; elsewhere, the minimum that POSIX guarantees.
    private static var maximumPerPoolWrite: Int {
        #if os(Linux)
        4096
        #else
        512
        #endif
    }
}

extension [Data] {
    /// The same bytes in fewer pieces. Small ones are joined, because each piece costs a system call.
    var piecesToWrite: [BytesToWrite] {
        var pieces: [BytesToWrite] = []
        var small = Data()
        for chunk in self {
            if small.count + chunk.count > 64 << 10, !small.isEmpty {
                pieces.append(.data(small))
                small = Data()
            }
            if chunk.count > 16 << 10 {
                if !small.isEmpty { pieces.append(.data(small)) }
                small = Data()
                pieces.append(.data(chunk))
            } else {
                small += chunk
            }
        }
        if !small.isEmpty { pieces.append(.data(small)) }
        return pieces
    }
}
