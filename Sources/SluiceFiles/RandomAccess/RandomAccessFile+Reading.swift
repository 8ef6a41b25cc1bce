#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension RandomAccessFile {
    /// Reads up to `count` bytes at an offset. Returns fewer only at the end of the file, and none after it.
    ///
    /// Memory is bounded by the bytes read, not by `count`. See pread(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running one throws it between two system calls.
    /// - Failure: A ``FileError``.
    public func read(at offset: Int64, upToCount count: Int) async throws -> Data {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        precondition(count >= 0, "The count must not be negative; it is \(count).")
        return try await using(for: "read") {
            try await file.io.read(file, at: offset, upToCount: count)
        }
    }

    /// Reads bytes at an offset into memory of the caller until the memory is full or the file ends.
    ///
    ///     var page = [UInt8](repeating: 0, count: 4096)
    ///     var span = page.mutableSpan
    ///     var bytes = span.mutableBytes
    ///     let count = try await file.read(at: 7 * 4096, into: &bytes)        // 0 past the end
    ///
    /// Memory after the bytes that were read isn't changed.
    ///
    /// - Returns: The number of bytes. It's less than the span's size only at the end of the file.
    /// - Cancellation: As in ``read(at:upToCount:)``. The span may have been written to.
    /// - Failure: A ``FileError``. The span may have been written to.
    public func read(at offset: Int64, into bytes: inout MutableRawSpan) async throws -> Int {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        // The span borrows its owner, and is borrowed itself, until this function returns. It returns only after the job has
        // ended or was withdrawn.
        let memory = bytes.withUnsafeMutableBytes { BorrowedMemory(bytes: $0) }
        return try await using(for: "read") {
            try await file.io.read(file, at: offset, into: memory)
        }
    }
}
