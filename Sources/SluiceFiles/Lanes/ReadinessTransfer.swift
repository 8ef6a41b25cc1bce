internal import CSluiceFiles
internal import Synchronization

/// One operation of the readiness lane. It makes calls that don't block, on the calling thread, and waits in between.
///
/// Calls on the engine's own descriptors don't block because these are non-blocking. Calls on the caller's descriptors use one of the
/// ``Access`` cases. O_NONBLOCK is never set on those: the flag belongs to the open file, which other processes share (a terminal
/// with its shell).
///
/// Memory is copied on the calling thread, at most `maximumPerCall` bytes at a time. A transfer that never has to wait yields the
/// thread after each `maximumPerTurn` bytes.
final class ReadinessTransfer {
    enum Access {
        /// With a call that doesn't block, on the descriptor itself or on its file opened a second time.
        case now(CInt, ReadinessCalls.Manner)
        /// With one bounded read or write on the pool each time the descriptor is ready, because there is no call that doesn't block.
        /// If another process takes the bytes in between, the pool's thread waits for the next ones.
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

    static var maximumPerCall: Int { 64 << 10 }
    static var maximumPerTurn: Int { 1 << 20 }

    init(of file: OpenFile, for direction: SystemCalls.Direction) {
        io = file.io
        descriptor = file.descriptor
        path = file.path
        isOurs = true
        kind = CInt(file.status.mode & UInt32(S_IFMT))
        self.direction = direction
        access = .now(file.descriptor, .plain)
    }

    /// Creates a transfer of the caller's descriptor. Returns `nil` for a file that isn't waited for: a regular file, directory or disk.
    init?(
        of descriptor: CInt, for direction: SystemCalls.Direction, _ io: FileIO, _ path: String
    ) throws(FileError) {
        let kernel = io.kernel
        let calls = kernel.calls.readiness
        self.io = io
        self.descriptor = descriptor
        self.path = path
        self.direction = direction
        isOurs = false
        kind = kernel.retrying { calls.kind(descriptor) }
        access = .now(descriptor, .socket)
        try kernel.check(kind, "read the status of", path)
        if kind == CInt(S_IFSOCK) { return }
        switch kind {
        case CInt(S_IFREG), CInt(S_IFDIR), CInt(S_IFBLK), CInt(S_IFLNK): return nil
        case CInt(S_IFIFO): break
        default: if calls.canBeWaitedFor(descriptor) != 1 { return nil }
        }
        let flags = kernel.retrying { calls.flags(descriptor) }
        try kernel.check(flags, "read the status of", path)
        // read(2) and write(2) return EBADF here too. Opening the file a second time would open the other end of a pipe.
        if flags & O_ACCMODE == (direction == .reading ? O_WRONLY : O_RDONLY) {
            throw FileError(operation: direction == .reading ? "read" : "write", path: path, systemError: EBADF)
        }
        access = .now(descriptor, flags & O_NONBLOCK != 0 ? .plain : .noWait)
    }

    deinit {
        // On this thread: closing doesn't wait, because the owner still has the FIFO or terminal open.
        if let reopened { io.kernel.closeQuietly(reopened) }
    }

    // MARK: Without waiting

    /// Makes one call that doesn't block. Returns `nil` if there is no such call for this descriptor.
    func attempt(_ call: (CInt, ReadinessCalls.Manner) -> Int) -> Int? {
        while true {
            guard case .now(let number, let manner) = access else { return nil }
            let result = io.kernel.retrying { call(number, manner) }
            guard manner == .noWait, Self.isMissing(result) else { return result }
            access = accessOnceMore()
        }
    }

    /// Returns whether this kernel, descriptor or sandbox lacks the call that doesn't block. Sandboxes return EPERM.
    private static func isMissing(_ result: Int) -> Bool {
        [EOPNOTSUPP, ENOSYS, EPERM].contains(CInt(truncatingIfNeeded: -result))
    }

    /// Opens the file a second time, as non-blocking: for FIFOs and terminals, and for pipes of older kernels.
    private func accessOnceMore() -> Access {
        let kernel = io.kernel
        let result = kernel.retrying {
            kernel.calls.readiness.reopen(descriptor, direction == .reading ? O_RDONLY : O_WRONLY)
        }
        guard result >= 0 else { return .onceReady }
        kernel.openCount.add(1, ordering: .relaxed)
        reopened = result
        return .now(result, .plain)
    }

    func readinessNow(for operation: String) throws(FileError) -> Readiness {
        let kernel = io.kernel
        let bits = kernel.retrying { kernel.calls.readiness.readiness(descriptor) }
        try kernel.check(bits, operation, path)
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

    /// Checks for cancellation before a call, and yields the thread if this transfer has used it for long.
    func takeTurns() async throws {
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
