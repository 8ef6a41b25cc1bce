internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension RandomAccessFile {
    /// Writes all bytes at an offset. A write behind the end leaves a hole that reads as zeros.
    ///
    ///     try await file.write(page, at: 7 * 4096)
    ///
    /// See pwrite(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`, and no byte was written. Once begun, it goes on to
    ///   the last byte or the first failure.
    /// - Failure: a ``FileError`` whose `bytesWritten` says how many bytes of this call were put out.
    public func write(_ data: Data, at offset: Int64) async throws {
        precondition(offset >= 0, "An offset is not negative.")
        try await run("write") { [file] _ in
            try data.withUnsafeBytes { try file.io.kernel.write(file.descriptor, $0, at: offset, file.path) }
        }
    }

    /// Writes all bytes of a span at an offset, without a copy: their owner keeps them until the call returns.
    ///
    /// Cancellation and failure as in `write(_:at:)` with a `Data`.
    public func write(_ bytes: RawSpan, at offset: Int64) async throws {
        precondition(offset >= 0, "An offset is not negative.")
        // As in AsyncFileStream.write(_:): the span borrows its owner until this function returns.
        let borrowed = bytes.withUnsafeBytes { BorrowedBytes(pieces: [$0]) }
        try await run("write") { [file] _ in
            try file.io.kernel.write(file.descriptor, borrowed.pieces[0], at: offset, file.path)
        }
    }

    /// Waits until what was written before is on the device, as far as `durability` promises. See fsync(2).
    ///
    /// Writes count that have returned by now, of whatever task. A failed sync may have dropped bytes that it could not
    /// write: do not try again, write the file again.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    public func sync(_ durability: Durability = .full) async throws {
        try await run("sync") { [file] _ in
            try file.io.kernel.sync(file.descriptor, durability, file.path)
            if durability == .fullAndDirectory { try file.io.kernel.syncDirectory(of: file.path) }
        }
    }
}

extension Kernel {
    /// Writes all bytes at an offset. The error says how many were put out. See pwrite(2).
    func write(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, at offset: Int64, _ path: String
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let piece = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(done).prefix(Self.largestTransfer))
            let result = retrying { calls.randomAccess.writeAt(descriptor, piece, offset + Int64(done)) }
            guard result > 0 else {
                // Zero for a write of some bytes is not in POSIX; without this it would be an endless loop.
                throw FileError(
                    operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result), bytesWritten: done)
            }
            done += result
        }
    }
}
