internal import SluiceLock
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A descriptor that belongs to one stream, and is closed exactly once.
///
/// The stream and the jobs that run for it hold this. Whoever lets go last without having closed has it closed on a lane.
final class OpenFile: Sendable {
    let io: FileIO
    let descriptor: CInt
    let path: String
    /// What was found when the file was opened: its identity above all.
    let status: RawStatus
    /// Whether the readiness lane reads and writes it: a FIFO, terminal or socket.
    let isWaitedFor: Bool
    /// What a read that failed or was cancelled had taken already: the next one begins with it. Only of files waited for.
    private let unread = Lock(Data())
    private let isClosed = Atomic(false)
    /// Whether the file system offers reads that wait for nothing; found out by the first.
    private let isRefusingInline = Atomic(false)

    init(_ opened: OpenedFile, _ io: FileIO) {
        self.io = io
        descriptor = opened.descriptor
        path = opened.path
        status = opened.status
        isWaitedFor = opened.isWaitedFor
    }

    deinit {
        guard takeDescriptor() else { return }
        // close(2) may block (NFS, a slow disk), and this thread may be one of the cooperative pool.
        io.runDetached { [kernel = io.kernel, descriptor] in kernel.closeQuietly(descriptor) }
    }

    /// Whether the caller is the one who closes the descriptor now.
    func takeDescriptor() -> Bool {
        !isClosed.exchange(true, ordering: .acquiringAndReleasing)
    }

    var mayReadInline: Bool { status.isRegularFile && !isRefusingInline.load(ordering: .relaxed) }

    func refuseInline() { isRefusingInline.store(true, ordering: .relaxed) }

    /// Closes in a job that runs in any case, and reports what close(2) reports. A FIFO is closed immediately: that waits for nothing.
    func close() async throws {
        if isWaitedFor, status.isFIFO {
            if takeDescriptor() { try io.kernel.close(descriptor, path) }
            return
        }
        try await io.run(mustRun: true) { [self] _ in
            if takeDescriptor() { try io.kernel.close(descriptor, path) }
        }
    }
}

// MARK: - Waited for

extension OpenFile {
    /// Reads by the readiness lane. If that fails or is cancelled, the next read begins with what this one had taken.
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

    /// Reads up to `count` bytes, fewer only at the end.
    func readWhenReady(upToCount count: Int) async throws -> Data {
        let taken = try await readWhenReady { try await $0.read(upToCount: count, after: &$1) }
        if taken.count <= count { return taken }
        // An earlier read wanted more.
        unread.withLock { $0 = Data(taken.dropFirst(count)) }
        return taken.prefix(count)
    }

    /// Writes by the readiness lane.
    func writeWhenReady(_ bytes: [BytesToWrite]) async throws {
        let transfer = ReadinessTransfer(of: self, for: .writing)
        try await transfer.counting { try await transfer.write(bytes) }
    }
}
