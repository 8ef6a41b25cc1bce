internal import CSluiceFiles

extension AsyncFileStream {
    /// The offset of the next read or write, in bytes from the start of the file. See lseek(2).
    ///
    /// In a stream opened with ``WriteOpening/append``, writes go to the end of the file regardless of the position.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. A FIFO, pipe, terminal or socket has no position (`ESPIPE`).
    public var position: Int64 {
        get async throws {
            try await file.io.run { [file] _ in
                try file.seek(0, SEEK_CUR, for: "get the position of")
            }
        }
    }

    /// Moves the position of the next read or write to an offset in bytes from the start of the file. See lseek(2).
    ///
    /// The offset may be after the end of the file: a read there returns no bytes, and a write leaves a hole that reads as zeros.
    /// In a stream opened with ``WriteOpening/append``, writes still go to the end of the file. For reads at many offsets, or by
    /// several tasks, use a ``RandomAccessFile``.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, and the position is unchanged.
    /// - Failure: A ``FileError``. A FIFO, pipe, terminal or socket has no position (`ESPIPE`).
    public borrowing func seek(to offset: Int64) async throws {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        try await file.io.run { [file] _ in _ = try file.seek(offset, SEEK_SET, for: "seek in") }
    }
}

extension AsyncFileStream where Mode == WriteMode {
    /// Reserves space on the device, so that the file can grow to a size in bytes without running out of space.
    ///
    ///     let output = try await url.openForWriting()
    ///     try await output.preallocate(upTo: song.size)                    // throws .noSpace now, if at all
    ///
    /// The size of the file doesn't change until bytes are written, so after a crash the file doesn't end in zeros. Unused space
    /// stays allocated; to release it, call `truncate(to:)` with the current size. On file systems that write to a different
    /// place each time (Btrfs, ZFS, APFS), the space isn't guaranteed. See fallocate(2), FALLOC_FL_KEEP_SIZE.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/noSpace``, or ``FileError/Code/unsupported`` if the file system can't reserve
    ///   space.
    public borrowing func preallocate(upTo size: Int64) async throws {
        precondition(size >= 0, "The size must not be negative; it is \(size).")
        if size == 0 { return }  // fallocate(2) refuses a size of 0 with EINVAL.
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
                remedy: "Read or write it from start to end, because pipes, sockets and terminals have no position.")
        }
        try kernel.check(result, operation, path)
        return result
    }
}
