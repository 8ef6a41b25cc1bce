#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension RandomAccessFile {
    /// Reads bytes at an offset: `count` of them, fewer only at the end of the file, and none past it.
    ///
    ///     let page = try await file.read(at: 7 * 4096, upToCount: 4096)
    ///
    /// Memory is bounded by what arrives, not by `count`. See pread(2).
    ///
    /// - Cancellation: leaves the queue immediately, or stops between two system calls, with `CancellationError`.
    /// - Failure: a ``FileError``.
    public func read(at offset: Int64, upToCount count: Int) async throws -> Data {
        precondition(offset >= 0, "An offset is not negative.")
        precondition(count >= 0, "A count is not negative.")
        return try await using(for: "read") {
            try await file.io.read(file, at: offset, upToCount: count)
        }
    }

    /// Reads bytes at an offset into memory of the caller's until that is full, or the file ends.
    ///
    ///     var page = [UInt8](repeating: 0, count: 4096)
    ///     var span = page.mutableSpan
    ///     var bytes = span.mutableBytes
    ///     let count = try await file.read(at: 7 * 4096, into: &bytes)        // 0 past the end
    ///
    /// For loops that read into the same memory again and again. What lies behind the bytes that were read is unchanged.
    ///
    /// - Returns: The number of bytes, fewer than the span has only at the end of the file.
    /// - Cancellation: as in ``read(at:upToCount:)``; the span may have been written to.
    /// - Failure: a ``FileError``; the span may have been written to.
    public func read(at offset: Int64, into bytes: inout MutableRawSpan) async throws -> Int {
        precondition(offset >= 0, "An offset is not negative.")
        // The span borrows its owner, and is itself borrowed, until this function returns, which it does only once the job
        // has ended or will never begin.
        let memory = bytes.withUnsafeMutableBytes { BorrowedMemory(bytes: $0) }
        return try await using(for: "read") {
            try await file.io.read(file, at: offset, into: memory)
        }
    }
}
