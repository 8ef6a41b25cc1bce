internal import CSluiceFiles
internal import SluiceLock

/// An open file that many tasks read and write concurrently, each at its own offsets.
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
/// Every operation takes an offset. If a read or write overlaps a concurrent write, their order is undefined, and a read may see a
/// part of the write. To order two operations, await the first one.
///
/// Only regular files and devices with offsets can be opened. A FIFO or socket throws an error.
///
/// ``close()`` waits for running and queued operations and refuses later ones. A file that is dropped without it is closed on a
/// thread of the engine, and errors of closing are lost.
public final class RandomAccessFile: Sendable {
    let file: OpenFile
    private let use = Lock(DescriptorUse<CheckedContinuation<ClosingTurn, Never>>())

    init(_ file: OpenFile) { self.file = file }

    /// The path that the file was opened with.
    public var path: String { file.path }

    // MARK: Closing

    /// Closes the file. Throws errors of the close, including those of delayed writes. See close(2).
    ///
    /// The call first waits for running and queued operations. Later operations throw a ``FileError`` with code
    /// ``FileError/Code/invalidArgument``. Further calls do nothing and return when the file is closed.
    ///
    /// - Cancellation: Runs even if the task is cancelled, and doesn't throw `CancellationError`.
    /// - Failure: A ``FileError``, from the first call. The file is closed in any case.
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

    func using<R>(for operation: String, _ body: () async throws -> R) async throws -> R {
        guard use.withLock({ $0.begin() }) else { throw wasClosed(operation) }
        defer {
            let closer = use.withLock { $0.end() }
            closer?.resume(returning: .close)
        }
        return try await body()
    }

    func run<R: Sendable>(
        _ operation: String, _ body: @escaping @Sendable (borrowing Cancellation) throws -> R
    ) async throws -> R {
        try await using(for: operation) { try await file.io.run(body) }
    }

    private func wasClosed(_ operation: String) -> FileError {
        FileError(
            operation: operation, path: file.path, systemError: EBADF,
            remedy: "Open the file again, because it was closed before.")
    }
}
