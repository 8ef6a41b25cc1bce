#if canImport(Dispatch)
public import Dispatch
#endif
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AsyncFileStream where Mode == WriteMode {
    /// Writes all bytes. See write(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, and no byte is written. Once started, it continues
    ///   to the last byte or the first failure. A call that waits for room in a FIFO or terminal stops immediately: it throws
    ///   `CancellationError` if no byte was written, and otherwise a ``FileError`` with ``FileError/Code/cancelled``.
    /// - Failure: A ``FileError``. Its `bytesWritten` is the number of bytes that this call has written.
    public borrowing func write(_ data: Data) async throws {
        if file.isWaitedFor { return try await file.writeWhenReady([.data(data)]) }
        try await file.io.run { [file] _ in
            try data.withUnsafeBytes { try file.io.kernel.write(file.descriptor, $0, file.path) }
        }
    }

    /// Writes all chunks in order, as one job with few system calls. See writev(2).
    ///
    /// Cancellation and failure are the same as in `write(_:)` with one `Data`. `bytesWritten` counts the bytes of all chunks.
    public borrowing func write(_ chunks: [Data]) async throws {
        if file.isWaitedFor { return try await file.writeWhenReady(chunks.piecesToWrite) }
        try await file.io.run { [file] _ in
            try chunks.withGatheredBytes { try file.io.kernel.write(file.descriptor, pieces: $0, file.path) }
        }
    }

    /// Writes all bytes of a span without copying them.
    ///
    /// Cancellation and failure are the same as in `write(_:)` with one `Data`.
    public borrowing func write(_ bytes: RawSpan) async throws {
        // The span borrows its owner until this function returns, and this function returns only after the job has ended or can
        // no longer start.
        let borrowed = bytes.withUnsafeBytes { BorrowedBytes(pieces: [$0]) }
        if file.isWaitedFor { return try await file.writeWhenReady([.borrowed(borrowed)]) }
        try await file.io.run { [file] _ in
            try file.io.kernel.write(file.descriptor, pieces: borrowed.pieces, file.path)
        }
    }

    /// Truncates the file, or extends it with zeros, to a size in bytes. See ftruncate(2).
    ///
    /// The position doesn't change. After `truncate(to: 0)`, seek to 0 before you write, unless the stream was opened with
    /// ``WriteOpening/append``. Otherwise the write leaves a hole of zeros before it.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public borrowing func truncate(to size: Int64) async throws {
        precondition(size >= 0, "The size must not be negative; it is \(size).")
        try await file.io.run { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(
                kernel.retrying { kernel.calls.truncate(file.descriptor, size) }, "truncate", file.path)
        }
    }

    /// Waits until the written bytes are on the device, to the extent that `durability` guarantees. See fsync(2).
    ///
    /// If a sync fails, the kernel may have dropped the bytes that it couldn't write. Don't sync again; write the file again.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public borrowing func sync(_ durability: Durability = .full) async throws {
        try await file.io.run { [file] _ in
            try file.io.kernel.sync(file.descriptor, durability, file.path)
            if durability == .fullAndDirectory { try file.io.kernel.syncDirectory(of: file.path) }
        }
    }
}

#if canImport(Dispatch)
extension AsyncFileStream where Mode == WriteMode {
    /// Writes all bytes of a `DispatchData`, without making them contiguous first.
    ///
    /// Cancellation and failure are the same as in `write(_:)` with one `Data`.
    public borrowing func write(_ data: DispatchData) async throws {
        var pieces: [UnsafeRawBufferPointer] = []
        data.enumerateBytes { bytes, _, _ in pieces.append(UnsafeRawBufferPointer(bytes)) }
        // The regions stay in place while the data lives, which is until the job has ended or can no longer start.
        defer { withExtendedLifetime(data) {} }
        if file.isWaitedFor { return try await file.writeWhenReady([.borrowed(BorrowedBytes(pieces: pieces))]) }
        try await file.io.run { [file, borrowed = BorrowedBytes(pieces: pieces)] _ in
            try file.io.kernel.write(file.descriptor, pieces: borrowed.pieces, file.path)
        }
    }
}
#endif

struct BorrowedBytes: @unchecked Sendable {
    // Immutable. One job reads the bytes while the owner's borrow lasts.
    let pieces: [UnsafeRawBufferPointer]
}

extension [Data] {
    /// Calls `body` with the bytes of all chunks, for writev(2).
    ///
    /// Small chunks are copied together, because a `Data` of up to 14 bytes stores them inline, and their address is valid only
    /// inside `withUnsafeBytes`. Larger ones are on the heap, where the array keeps them in place.
    func withGatheredBytes<R>(_ body: ([UnsafeRawBufferPointer]) throws -> R) rethrows -> R {
        let maximumCopied = 512
        var copied = 0
        for chunk in self where chunk.count <= maximumCopied { copied += chunk.count }
        return try withUnsafeTemporaryAllocation(byteCount: copied, alignment: 1) { scratch in
            var pieces: [UnsafeRawBufferPointer] = []
            pieces.reserveCapacity(count)
            var used = 0
            // Neighbors in the scratch memory form one piece.
            var open = 0
            func flush() {
                if used > open { pieces.append(UnsafeRawBufferPointer(rebasing: scratch[open..<used])) }
                open = used
            }
            for chunk in self {
                chunk.withUnsafeBytes { bytes in
                    if bytes.count <= maximumCopied {
                        UnsafeMutableRawBufferPointer(rebasing: scratch[used...]).copyMemory(from: bytes)
                        used += bytes.count
                    } else {
                        flush()
                        pieces.append(bytes)
                    }
                }
            }
            flush()
            return try withExtendedLifetime(self) { try body(pieces) }
        }
    }
}
