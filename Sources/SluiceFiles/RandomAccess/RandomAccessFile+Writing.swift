internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension RandomAccessFile {
    /// Writes all bytes at an offset. A write after the end of the file leaves a hole that reads as zeros. See pwrite(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, and nothing is written. Once started, the operation
    ///   completes.
    /// - Failure: A ``FileError``. Its `bytesWritten` is the number of bytes that this call has written.
    public func write(_ data: Data, at offset: Int64) async throws {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        try await run("write") { [file] _ in
            try data.withUnsafeBytes { try file.io.kernel.write(file.descriptor, $0, at: offset, file.path) }
        }
    }

    /// Writes all bytes of a span at an offset, without copying them.
    ///
    /// Cancellation and failure are the same as in `write(_:at:)` with a `Data`.
    public func write(_ bytes: RawSpan, at offset: Int64) async throws {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        // As in AsyncFileStream.write(_:): the span borrows its owner until this function returns.
        let borrowed = bytes.withUnsafeBytes { BorrowedBytes(pieces: [$0]) }
        try await run("write") { [file] _ in
            try file.io.kernel.write(file.descriptor, borrowed.pieces[0], at: offset, file.path)
        }
    }

    /// Waits until the written bytes are on the device, to the extent that `durability` guarantees. See fsync(2).
    ///
    /// The sync covers every write that returned before it, in any task. If a sync fails, the kernel may have dropped the bytes that it
    /// couldn't write. Don't sync again; write the file again.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public func sync(_ durability: Durability = .full) async throws {
        try await run("sync") { [file] _ in
            try file.io.kernel.sync(file.descriptor, durability, file.path)
            if durability == .fullAndDirectory { try file.io.kernel.syncDirectory(of: file.path) }
        }
    }
}

extension Kernel {
    func write(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, at offset: Int64, _ path: String
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let piece = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(done).prefix(Self.largestTransfer))
            let result = retrying { calls.randomAccess.writeAt(descriptor, piece, offset + Int64(done)) }
            guard result > 0 else {
                // POSIX has no result of 0 for a write of at least 1 byte. Without this check it would cause an endless loop.
                throw FileError(
                    operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result), bytesWritten: done)
            }
            done += result
        }
    }
}
