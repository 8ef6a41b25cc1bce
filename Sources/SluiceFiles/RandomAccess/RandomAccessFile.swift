internal import CSluiceFiles
internal import SluiceLock

/// An open file that many tasks read and write concurrently, each at the offsets that it names.
///
///     let index = try await url.withRandomAccessFile(.readWrite) { file in     // closes on every path
///         try await file.write(block, at: 4096)
///         return try await file.read(at: 0, upToCount: 512)
///     }
///
///     let file = try await url.openForRandomAccess()
///     async let head = file.read(at: 0, upToCount: 512)
///     async let tail = file.read(at: file.size - 512, upToCount: 512)
///     let both = try await (head, tail)
///     try await file.close()
///
/// There is no position to share: every operation says where. One operation is one job of the `FileIO` that opened the
/// file, and no thread of the cooperative pool blocks. Operations run side by side. Two that touch the same bytes, of which
/// one writes, have no order, and a read beside a write may see a part of it. To get an order, await the first.
///
/// It is for regular files and devices with positions. A FIFO or socket has none and is refused when it is opened.
///
/// ``close()`` waits for the operations that have begun and refuses later ones. A file that is dropped without it is closed
/// on a worker, and what close reports is lost.
public final class RandomAccessFile: Sendable {
    let file: OpenFile
    private let use = Lock(DescriptorUse<CheckedContinuation<ClosingTurn, Never>>())

    init(_ file: OpenFile) { self.file = file }

    /// The path that the file was opened with.
    public var path: String { file.path }

    // MARK: Closing

    /// Closes the file and reports what that reports, delayed write errors among them. See close(2).
    ///
    /// Operations that have begun are finished first, those that wait for a thread among them. Those that come later throw a
    /// ``FileError`` with code ``FileError/Code/invalidArgument``. Closing again does nothing, and returns when the file is
    /// closed.
    ///
    /// - Cancellation: waits and closes also when the task is cancelled, and does not throw `CancellationError`.
    /// - Failure: a ``FileError``, from the first call; the file is closed all the same.
    public func close() async throws {
        let turn = await withCheckedContinuation { continuation in
            let turn = use.withLock { $0.close(continuation) }
            if let turn { continuation.resume(returning: turn) }
        }
        guard turn == .close else { return }
        let result: Result<Void, any Error>
        do {
            result = .success(try await file.close())
        } catch {
            result = .failure(error)
        }
        for waiter in use.withLock({ $0.closed() }) { waiter.resume(returning: .nothing) }
        try result.get()
    }

    // MARK: Operations

    /// Runs an operation, during which the descriptor stays open: every use of it goes through here.
    func using<R>(for operation: String, _ body: () async throws -> R) async throws -> R {
        guard use.withLock({ $0.begin() }) else { throw wasClosed(operation) }
        defer {
            let closer = use.withLock { $0.end() }
            closer?.resume(returning: .close)
        }
        return try await body()
    }

    /// Runs an operation that is one job.
    func run<R: Sendable>(
        _ operation: String, _ body: @escaping @Sendable (borrowing Cancellation) throws -> R
    ) async throws -> R {
        try await using(for: operation) { try await file.io.run(body) }
    }

    private func wasClosed(_ operation: String) -> FileError {
        FileError(
            operation: operation, path: file.path, systemError: EBADF,
            remedy: "The file was closed before: open it again, or close it later.")
    }
}
