#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AsyncFileStream where Mode == ReadMode {
    /// Reads the next bytes: `count` of them, fewer only at the end of the file, and none once that is reached.
    ///
    /// A FIFO or terminal is waited for until the bytes are there or its writers are gone, without a thread; a FIFO without a
    /// writer, until the first one has come. Memory is bounded by what arrives, not by `count`. See read(2).
    ///
    /// - Cancellation: leaves the queue immediately, or stops between two system calls, with `CancellationError`; in the second
    ///   case the bytes read until then are lost to the stream. A FIFO or terminal is left immediately, and nothing is lost: the
    ///   next read begins with what this one had taken.
    /// - Failure: a ``FileError``.
    public borrowing func read(upToCount count: Int) async throws -> Data {
        precondition(count >= 0, "A count is not negative.")
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

    /// Reads all that is left, empty at the end.
    ///
    /// - Cancellation: as in ``read(upToCount:)``.
    /// - Failure: a ``FileError``, among them ``FileError/Code/limitExceeded`` when more than `limit` bytes are left.
    public borrowing func readToEnd(limit: Int = FileIO.defaultReadLimit) async throws -> Data {
        precondition(limit >= 0, "A limit is not negative.")
        if file.isWaitedFor {
            return try await file.readWhenReady { try await $0.readToEnd(limit: limit, after: &$1) }
        }
        return try await file.io.run { [file] cancellation in
            let bytes = try file.io.kernel.readToEnd(
                file.descriptor, limit: limit, expected: file.expectedSize, file.path, cancellation)
            return bytes.data()
        }
    }
}

extension OpenFile {
    /// A hint for the first allocation: the size at opening, and something reasonable for files without one.
    fileprivate var expectedSize: Int { max(64 << 10, Int(clamping: status.size)) }
}
