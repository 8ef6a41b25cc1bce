#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AsyncFileStream where Mode == ReadMode {
    /// Reads the next `count` bytes. Returns fewer only at the end of the file, and an empty `Data` after that.
    ///
    /// On a FIFO or terminal, the call waits until it has `count` bytes or all writers have closed the other end. On a FIFO, it first
    /// waits until a writer has opened it. Waiting uses no thread. Memory is bounded by the bytes read, not by `count`. See read(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running one throws it between two system calls,
    ///   and the bytes that it has read are lost. While a call waits for a FIFO or terminal, it throws immediately, and no byte is
    ///   lost: the next read returns the bytes that had arrived.
    /// - Failure: A ``FileError``.
    public borrowing func read(upToCount count: Int) async throws -> Data {
        precondition(count >= 0, "The count must not be negative; it is \(count).")
        try FileIO.checkCancellation()
        if file.isWaitedFor { return try await file.readWhenReady(upToCount: count) }
        let start = file.io.readInline(file, upToCount: count)
        if start.count == count { return start }
        let rest = try await file.io.run { [file, count = count - start.count] cancellation in
            let bytes = try file.io.kernel.read(
                file.descriptor, upToCount: count, expected: min(count, file.expectedSize), file.path, cancellation)
            return bytes.data()
        }
        return start.isEmpty ? rest : start + rest
    }

    /// Reads all remaining bytes. Returns an empty `Data` at the end of the file.
    ///
    /// - Cancellation: As in ``read(upToCount:)``.
    /// - Failure: A ``FileError``: ``FileError/Code/limitExceeded`` if more than `maximumSize` bytes remain.
    public borrowing func readToEnd(maximumSize: Int = FileIO.defaultMaximumSize) async throws -> Data {
        precondition(maximumSize >= 0, "The maximum size must not be negative; it is \(maximumSize).")
        if file.isWaitedFor {
            return try await file.readWhenReady { try await $0.readToEnd(limit: maximumSize, after: &$1) }
        }
        return try await file.io.run { [file] cancellation in
            let bytes = try file.io.kernel.readToEnd(
                file.descriptor, limit: maximumSize, expected: file.expectedSize, file.path, cancellation)
            return bytes.data()
        }
    }
}

extension OpenFile {
    /// A hint for the first allocation: the size at opening, or 64 KiB if that is more, because some files report no size.
    fileprivate var expectedSize: Int { max(64 << 10, Int(clamping: status.size)) }
}
