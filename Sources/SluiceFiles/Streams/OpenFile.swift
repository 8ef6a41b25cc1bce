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
    /// The bytes taken by a read that failed or was cancelled, from a file that is waited for. The next read starts with them.
    private let unread = Lock(Data())
    private let isClosed = Atomic(false)
    /// Whether the first inline read found that the file system doesn't support reads that never wait.
    private let isRefusingInline = Atomic(false)

    init(_ opened: OpenedFile, _ io: FileIO) {
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
        io.runDetached { [kernel = io.kernel, descriptor, isLocked] in
            kernel.closeQuietly(descriptor, isLocked: isLocked)
        }
    }

    /// Returns whether the caller must close the descriptor. Returns true once.
    func takeDescriptor() -> Bool {
        !isClosed.exchange(true, ordering: .acquiringAndReleasing)
    }

    var mayReadInline: Bool { status.isRegularFile && !isRefusingInline.load(ordering: .relaxed) }

    func refuseInline() { isRefusingInline.store(true, ordering: .relaxed) }

    /// Closes the file unless it is closed. An error names `path`, or the path that was opened.
    func closeOnce(as path: String? = nil) throws(FileError) {
        if takeDescriptor() { try io.kernel.close(descriptor, isLocked: isLocked, path ?? self.path) }
    }

    func closeOnceQuietly() {
        if takeDescriptor() { io.kernel.closeQuietly(descriptor, isLocked: isLocked) }
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
