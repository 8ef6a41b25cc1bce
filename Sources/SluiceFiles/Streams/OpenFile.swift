internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A descriptor that belongs to one stream and is closed exactly once. The stream and its jobs hold references. If the file isn't closed
/// when the last one is dropped, it is closed on a lane.
final class OpenFile: Sendable {
    let io: FileIO
    let descriptor: CInt
    let path: String
    let status: RawStatus
    /// Whether the readiness lane reads and writes the file: a FIFO, terminal or socket.
    let isWaitedFor: Bool
    let isLocked: Bool
    /// For a file that is waited for: the bytes that a failed or cancelled read has taken. The next read starts with them.
    private let unread = Lock(Data())
    private let isClosed = Atomic(false)
    /// Whether the first inline read found that the file system doesn't support non-blocking reads.
    private let isRefusingInline = Atomic(false)

    init(_ opened: RawFile, _ io: FileIO) {
        self.io = io
        descriptor = opened.descriptor
        path = opened.path
        status = opened.status
        isWaitedFor = opened.isWaitedFor
        isLocked = opened.isLocked
    }

    deinit {
        guard takeDescriptor() else { return }
        // close(2) may block (NFS, a slow disk), and this may be a thread of the cooperative pool.
        io.runDetached { [system = io.system, descriptor, isLocked] in
            system.closeQuietly(descriptor, isLocked: isLocked)
        }
    }

    /// Returns whether the caller must close the descriptor. Returns true only once.
    func takeDescriptor() -> Bool {
        !isClosed.exchange(true, ordering: .acquiringAndReleasing)
    }

    var isOpen: Bool { !isClosed.load(ordering: .relaxed) }

    var mayReadInline: Bool { status.isRegularFile && !isRefusingInline.load(ordering: .relaxed) }

    func refuseInline() { isRefusingInline.store(true, ordering: .relaxed) }

    /// Closes the file if it is still open. An error names `path`, or the path that was opened.
    func closeOnce(as path: String? = nil) throws(FileError) {
        if takeDescriptor() { try io.system.close(descriptor, isLocked: isLocked, path ?? self.path) }
    }

    func closeOnceQuietly() {
        if takeDescriptor() { io.system.closeQuietly(descriptor, isLocked: isLocked) }
    }

    /// Closes the file in a job that runs even if the task is cancelled. A FIFO is closed on this thread: its close never waits.
    func close() async throws {
        if isWaitedFor, status.isFIFO {
            try closeOnce()
            return
        }
        try await io.run(mustRun: true) { [self] _ in try closeOnce() }
    }
}

// MARK: - Waited for

extension OpenFile {
    /// Reads on the readiness lane. If the read fails or is cancelled, the next read starts with the bytes that it has taken.
    func readWhenReady(_ body: (ReadinessTransfer, inout Data) async throws -> Void) async throws -> Data {
        var taken = unread.withLock { unread in
            defer { unread = Data() }
            return unread
        }
        do {
            let transfer = ReadinessTransfer(of: self, for: .reading)
            try await transfer.counting { try await body(transfer, &taken) }
            return taken
        } catch {
            unread.withLock { $0 = taken + $0 }
            throw error
        }
    }

    func readWhenReady(upToCount count: Int) async throws -> Data {
        let taken = try await readWhenReady { try await $0.read(upToCount: count, after: &$1) }
        if taken.count <= count { return taken }
        // An earlier read asked for more bytes.
        unread.withLock { $0 = Data(taken.dropFirst(count)) }
        return taken.prefix(count)
    }

    func writeWhenReady(_ bytes: [BytesToWrite]) async throws {
        let transfer = ReadinessTransfer(of: self, for: .writing)
        try await transfer.counting { try await transfer.write(bytes) }
    }
}

// MARK: - Opening

// Opening a file without waiting for another process.
extension SystemInterface {
    /// Opens a file for reading, even a FIFO without a writer. See fifo(7).
    func openToRead(_ path: String) throws(FileError) -> RawFile {
        let opened = try openWithoutWaiting(path, O_RDONLY)
        if opened.status.isDirectory {
            closeQuietly(opened.descriptor)
            throw FileError(operation: "open", path: path, systemError: EISDIR)
        }
        return opened
    }

    /// Opens a file for writing. Returns `nil` for a FIFO that has no reader.
    func openToWrite(
        _ path: String, _ existing: WriteOpening, _ permissions: UInt32, locked: Bool
    ) throws(FileError) -> RawFile? {
        var flags = O_WRONLY | O_CREAT
        switch existing {
        case .replace: flags |= locked ? 0 : O_TRUNC
        case .append: flags |= O_APPEND
        case .fail: flags |= O_EXCL
        }
        if locked {
            return try openLocked(
                path, flags: flags, permissions: permissions, truncating: existing == .replace, for: "open")
        }
        do throws(FileError) {
            return try openWithoutWaiting(path, flags, permissions: permissions)
        } catch {
            // For a socket or a device, ENXIO means that nothing is behind it.
            if error.systemError == ENXIO, try status(of: path)?.isFIFO == true { return nil }
            throw error
        }
    }

    /// Opens without waiting for a FIFO's other side or a terminal's carrier, and finds out whether the file must be waited for.
    ///
    /// The kind of a file is known only once it is open, so O_NONBLOCK is always set first. On a FIFO, a terminal or a socket it stays set:
    /// no other process shares the flags of this open file. Otherwise it is cleared. It affects opening a regular file only if another
    /// process holds a lease. Then the file is reopened without the flag, to wait for the lease to end.
    func openWithoutWaiting(
        _ path: String, _ flags: CInt, permissions: UInt32 = 0
    ) throws(FileError) -> RawFile {
        let descriptor: CInt
        do throws(FileError) {
            descriptor = try open(path, flags | O_NONBLOCK | O_NOCTTY, permissions: permissions)
        } catch {
            guard error.systemError == EWOULDBLOCK, try status(of: path)?.isRegularFile == true else { throw error }
            return try withStatus(try open(path, flags, permissions: permissions), path)
        }
        var opened = try withStatus(descriptor, path)
        opened.isWaitedFor = isWaitedFor(opened)
        // A failure doesn't matter, because reads and writes check for EAGAIN.
        if !opened.isWaitedFor { _ = calls.readiness.setFlags(descriptor, flags) }
        return opened
    }

    private func isWaitedFor(_ file: RawFile) -> Bool {
        switch file.status.mode & UInt32(S_IFMT) {
        case UInt32(S_IFIFO), UInt32(S_IFSOCK): true
        // Terminals and similar devices, but not /dev/null, /dev/zero or a disk.
        case UInt32(S_IFCHR): calls.readiness.canBeWaitedFor(file.descriptor) == 1
        default: false
        }
    }

    private func withStatus(_ descriptor: CInt, _ path: String) throws(FileError) -> RawFile {
        do {
            return RawFile(descriptor: descriptor, path: path, status: try status(ofDescriptor: descriptor, path))
        } catch {
            closeQuietly(descriptor)
            throw error
        }
    }
}

/// An open descriptor and what is known about its file. Nothing closes it, until an ``OpenFile`` owns it.
struct RawFile: Sendable {
    var descriptor: CInt
    var path: String
    var status: RawStatus
    var isWaitedFor = false
    /// Whether the descriptor holds a lock, which has to be released before the close. See `SystemInterface.close`.
    var isLocked = false
}
