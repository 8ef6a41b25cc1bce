internal import Synchronization

/// A descriptor that belongs to one stream, and is closed exactly once.
///
/// The stream and the jobs that run for it hold this. Whoever lets go last without having closed has it closed on a lane.
final class OpenFile: Sendable {
    let io: FileIO
    let descriptor: CInt
    let path: String
    /// What was found when the file was opened: its identity above all.
    let status: RawStatus
    private let isClosed = Atomic(false)
    /// Whether the file system offers reads that wait for nothing; found out by the first.
    private let isRefusingInline = Atomic(false)

    init(_ opened: OpenedFile, _ io: FileIO) {
        self.io = io
        descriptor = opened.descriptor
        path = opened.path
        status = opened.status
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

    /// Closes in a job that runs in any case, and reports what close(2) reports.
    func close() async throws {
        try await io.run(mustRun: true) { [self] _ in
            if takeDescriptor() { try io.kernel.close(descriptor, path) }
        }
    }
}
