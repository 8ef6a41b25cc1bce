internal import CSluiceFiles
internal import Synchronization

/// One operation of the readiness lane: reads and writes what can be immediately, on whatever thread it runs, and waits in between.
///
///     let transfer = try ReadinessTransfer(of: descriptor, for: .reading, files, path)     // nil for a regular file
///     var bytes = Data()
///     try await transfer?.readToEnd(limit: 1 << 20, after: &bytes)
///
/// No call here waits: of descriptors of ours since they are non-blocking, of others' by one of the ``Access`` below. O_NONBLOCK is
/// never set on these: the flag belongs to the open file, which other processes share (a terminal with its shell).
///
/// Memory is copied on the calling thread, at most `maximumPerCall` bytes at a time; a transfer that never has to wait lets others
/// have the thread each `maximumPerTurn` bytes.
final class ReadinessTransfer {
    /// How it is read or written without waiting.
    enum Access {
        /// By a call that does not wait, on the descriptor itself or on its file opened once more.
        case now(CInt, ReadinessCalls.Manner)
        /// There is no such call: one bounded read or write on the pool each time the lane says that it is ready. If others take the
        /// bytes in between, the pool's thread waits for the next ones.
        case onceReady
    }

    let io: FileIO
    let descriptor: CInt
    let path: String
    /// Whether it stays open while it is used here.
    let isOurs: Bool
    let kind: CInt
    private let direction: SystemCalls.Direction
    private(set) var access: Access
    private var reopened: CInt?
    private var sinceTurn = 0

    static var maximumPerCall: Int { 64 << 10 }
    static var maximumPerTurn: Int { 1 << 20 }

    /// A file that this engine opened as non-blocking.
    init(of file: OpenFile, for direction: SystemCalls.Direction) {
        io = file.io
        descriptor = file.descriptor
        path = file.path
        isOurs = true
        kind = CInt(file.status.mode & UInt32(S_IFMT))
        self.direction = direction
        access = .now(file.descriptor, .plain)
    }

    /// A descriptor of the caller's; nil if it is not waited for, as it is a regular file, a directory or a disk.
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
        try kernel.check(kind, "look at", path)
        if kind == CInt(S_IFSOCK) { return }
        switch kind {
        case CInt(S_IFREG), CInt(S_IFDIR), CInt(S_IFBLK), CInt(S_IFLNK): return nil
        case CInt(S_IFIFO): break
        default: if calls.canBeWaitedFor(descriptor) != 1 { return nil }
        }
        let flags = kernel.retrying { calls.flags(descriptor) }
        try kernel.check(flags, "look at", path)
        // What read(2) and write(2) say. Opened once more, the other end of a pipe would be had.
        if flags & O_ACCMODE == (direction == .reading ? O_WRONLY : O_RDONLY) {
            throw FileError(operation: direction == .reading ? "read" : "write", path: path, systemError: EBADF)
        }
        access = .now(descriptor, flags & O_NONBLOCK != 0 ? .plain : .noWait)
    }

    deinit {
        // Of a FIFO or a terminal that its owner still has open: this waits for nothing.
        if let reopened { io.kernel.closeQuietly(reopened) }
    }

    // MARK: Without waiting

    /// Makes one call that does not wait; nil if there is no such call for this descriptor.
    func attempt(_ call: (CInt, ReadinessCalls.Manner) -> Int) -> Int? {
        while true {
            guard case .now(let number, let manner) = access else { return nil }
            let result = io.kernel.retrying { call(number, manner) }
            guard manner == .noWait, Self.isMissing(result) else { return result }
            access = accessOnceMore()
        }
    }

    /// Whether this kernel, this descriptor or this sandbox has no call that does not wait. Sandboxes say EPERM.
    private static func isMissing(_ result: Int) -> Bool {
        [EOPNOTSUPP, ENOSYS, EPERM].contains(CInt(truncatingIfNeeded: -result))
    }

    /// For FIFOs and terminals, and for pipes of older kernels: opened once more, the flag is our own.
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

    /// What the descriptor itself is ready for at this moment.
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
        try await io.readiness.wait(for: descriptor, direction, watching: !isOurs, path)
    }

    /// Before a call: looks whether the task was cancelled, and lets others have the thread if this transfer has had it for long.
    func takeTurns() async throws {
        if sinceTurn >= Self.maximumPerTurn {
            sinceTurn = 0
            await Task.yield()
        }
        try Task.checkCancellation()
    }

    func count(_ bytes: Int) { sinceTurn += bytes }

    /// Counts the operation as one of this lane's, however it ends.
    func counting<R>(_ body: () async throws -> R) async throws -> R {
        defer { io.readiness.completed.add(1, ordering: .relaxed) }
        return try await body()
    }
}
