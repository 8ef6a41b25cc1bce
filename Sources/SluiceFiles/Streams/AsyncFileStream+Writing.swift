#if canImport(Dispatch)
public import Dispatch
#endif
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AsyncFileStream where Mode == WriteMode {
    /// Writes all bytes.
    ///
    ///     try await stream.write(data)
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`, and no byte was written. Once begun, it goes on to
    ///   the last byte or the first failure. A FIFO or terminal, which may have no room for as long as others like, is left at
    ///   once: with `CancellationError` if no byte was written, else with a ``FileError`` of ``FileError/Code/cancelled``.
    /// - Failure: a ``FileError`` whose `bytesWritten` says how many bytes of this call were put out. See write(2).
    public borrowing func write(_ data: Data) async throws {
        if file.isWaitedFor { return try await file.writeWhenReady([.data(data)]) }
        try await file.io.run { [file] _ in
            try data.withUnsafeBytes { try file.io.kernel.write(file.descriptor, $0, file.path) }
        }
    }

    /// Writes all chunks in their order, as one job, with many of them per system call. See writev(2).
    ///
    ///     try await stream.write(batch)        // what came from the network while the last batch was written
    ///
    /// Cancellation and failure as in `write(_:)` with one `Data`; `bytesWritten` counts over all chunks.
    public borrowing func write(_ chunks: [Data]) async throws {
        if file.isWaitedFor { return try await file.writeWhenReady(chunks.piecesToWrite) }
        try await file.io.run { [file] _ in
            try chunks.withGatheredBytes { try file.io.kernel.write(file.descriptor, pieces: $0, file.path) }
        }
    }

    /// Writes all bytes of a span, without a copy: their owner keeps them until the call returns.
    ///
    /// Cancellation and failure as in `write(_:)` with one `Data`.
    public borrowing func write(_ bytes: RawSpan) async throws {
        // The span borrows its owner until this function returns, and this function returns only once the job has ended
        // or will never begin.
        let borrowed = bytes.withUnsafeBytes { BorrowedBytes(pieces: [$0]) }
        if file.isWaitedFor { return try await file.writeWhenReady([.borrowed(borrowed)]) }
        try await file.io.run { [file] _ in
            try file.io.kernel.write(file.descriptor, pieces: borrowed.pieces, file.path)
        }
    }

    /// Cuts the file off, or extends it with zeros, to a size in bytes. See ftruncate(2).
    ///
    /// The position does not move: after `truncate(to: 0)` the next write would leave a hole of zeros before it, unless the
    /// stream was opened with ``WriteOpening/append``.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    public borrowing func truncate(to size: Int64) async throws {
        precondition(size >= 0, "A size is not negative.")
        try await file.io.run { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(
                kernel.retrying { kernel.calls.truncate(file.descriptor, size) }, "truncate", file.path)
        }
    }

    /// Waits until what was written is on the device, as far as `durability` promises. See fsync(2).
    ///
    /// A failed sync may have dropped the bytes that it could not write: do not try again, write the file again.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    public borrowing func sync(_ durability: Durability = .full) async throws {
        try await file.io.run { [file] _ in
            try file.io.kernel.sync(file.descriptor, durability, file.path)
            if durability == .fullAndDirectory { try file.io.kernel.syncDirectory(of: file.path) }
        }
    }
}

#if canImport(Dispatch)
extension AsyncFileStream where Mode == WriteMode {
    /// Writes all bytes of a `DispatchData`, region by region, without making them contiguous first.
    ///
    /// Cancellation and failure as in `write(_:)` with one `Data`.
    public borrowing func write(_ data: DispatchData) async throws {
        var pieces: [UnsafeRawBufferPointer] = []
        data.enumerateBytes { bytes, _, _ in pieces.append(UnsafeRawBufferPointer(bytes)) }
        // The regions stay where they are for as long as the data lives, and that is until the job has ended or will
        // never begin.
        defer { withExtendedLifetime(data) {} }
        if file.isWaitedFor { return try await file.writeWhenReady([.borrowed(BorrowedBytes(pieces: pieces))]) }
        try await file.io.run { [file, borrowed = BorrowedBytes(pieces: pieces)] _ in
            try file.io.kernel.write(file.descriptor, pieces: borrowed.pieces, file.path)
        }
    }
}
#endif

/// Bytes that a suspended caller keeps alive.
struct BorrowedBytes: @unchecked Sendable {
    // Immutable, and read by one job while the owner's borrow lasts.
    let pieces: [UnsafeRawBufferPointer]
}

extension [Data] {
    /// The bytes of all chunks for writev.
    ///
    /// Small chunks are copied together: a Data of up to 14 bytes has them in itself, and its address is good only inside
    /// its own `withUnsafeBytes`. Larger ones are storage on the heap, which the array keeps where it is.
    func withGatheredBytes<R>(_ body: ([UnsafeRawBufferPointer]) throws -> R) rethrows -> R {
        let maximumCopied = 512
        var copied = 0
        for chunk in self where chunk.count <= maximumCopied { copied += chunk.count }
        return try withUnsafeTemporaryAllocation(byteCount: copied, alignment: 1) { scratch in
            var pieces: [UnsafeRawBufferPointer] = []
            pieces.reserveCapacity(count)
            var used = 0
            // Neighbours in the scratch memory become one piece.
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
