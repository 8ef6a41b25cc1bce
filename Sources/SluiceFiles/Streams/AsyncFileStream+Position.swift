internal import CSluiceFiles

extension AsyncFileStream {
    /// Where the next read or write begins, in bytes from the start of the file.
    ///
    ///     let start = try await stream.position
    ///
    /// In a stream opened with ``WriteOpening/append``, writes begin at the end of the file wherever this is. See lseek(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``; a FIFO, pipe, terminal or socket has no position, and that is `ESPIPE`.
    public var position: Int64 {
        get async throws {
            try await file.io.run { [file] _ in
                try file.seek(0, SEEK_CUR, for: "ask for the position of")
            }
        }
    }

    /// Lets the next read or write begin at an offset in bytes from the start of the file.
    ///
    ///     try await stream.seek(to: 0)                                     // from the front again
    ///
    /// An offset behind the end is allowed: there nothing is read, and a write leaves a hole that reads as zeros. In a stream
    /// opened with ``WriteOpening/append``, writes begin at the end of the file all the same. For reads here and there, and
    /// for several tasks, open a ``RandomAccessFile``, whose reads say where. See lseek(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`, and the position is as it was.
    /// - Failure: a ``FileError``; a FIFO, pipe, terminal or socket has no position, and that is `ESPIPE`.
    public borrowing func seek(to offset: Int64) async throws {
        precondition(offset >= 0, "An offset is not negative.")
        try await file.io.run { [file] _ in _ = try file.seek(offset, SEEK_SET, for: "seek in") }
    }
}

extension AsyncFileStream where Mode == WriteMode {
    /// Takes space on the device so that the file can grow to a size in bytes without running out of it.
    ///
    ///     let output = try await url.openForWriting()
    ///     try await output.preallocate(upTo: song.size)                    // or fails with .noSpace now
    ///
    /// The size of the file stays, and grows with what is written, so that a crash in between leaves no zeros behind it. Space
    /// that is not used stays with the file: `truncate(to:)` with the size that it has gives it back. On file systems that
    /// write to another place each time (Btrfs, ZFS, APFS) it promises less. See fallocate(2), FALLOC_FL_KEEP_SIZE.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``, among them ``FileError/Code/noSpace``, and ``FileError/Code/unsupported`` where the file
    ///   system has no such operation.
    public borrowing func preallocate(upTo size: Int64) async throws {
        precondition(size >= 0, "A size is not negative.")
        if size == 0 { return }  // EINVAL otherwise.
        try await file.io.run { [file] _ in
            try file.io.kernel.preallocate(file.descriptor, 0..<size, keepingSize: true, file.path)
        }
    }
}

extension OpenFile {
    fileprivate func seek(_ offset: Int64, _ whence: CInt, for operation: String) throws(FileError) -> Int64 {
        let kernel = io.kernel
        let result = kernel.retrying { kernel.calls.randomAccess.seek(descriptor, offset, whence) }
        if result == -Int64(ESPIPE) {
            throw FileError(
                operation: operation, path: path, systemError: ESPIPE,
                remedy: "A FIFO, pipe, terminal or socket has no position: read or write it from the front to the end.")
        }
        try kernel.check(result, operation, path)
        return result
    }
}
