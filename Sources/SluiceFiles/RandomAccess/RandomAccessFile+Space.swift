internal import CSluiceFiles

extension RandomAccessFile {
    /// The file's current size in bytes. The sizes of devices and of files in /proc and /sys aren't reliable. See fstat(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public var size: Int64 {
        get async throws {
            try await run("read the status of") { [file] _ in
                try file.io.kernel.status(ofDescriptor: file.descriptor, file.path).size
            }
        }
    }

    /// Truncates the file, or extends it with zeros that take no space, to a size in bytes. See ftruncate(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``.
    public func truncate(to size: Int64) async throws {
        precondition(size >= 0, "The size must not be negative; it is \(size).")
        try await run("truncate") { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(
                kernel.retrying { kernel.calls.truncate(file.descriptor, size) }, "truncate", file.path)
        }
    }

    /// Reserves space on the device for a range, so that writing there doesn't run out of space later.
    ///
    /// Unless `keepingSize` is true, the file grows to the end of the range. Existing bytes stay; new ones read as zeros. On file systems
    /// that write to a different place each time (Btrfs, ZFS, APFS), the space isn't guaranteed. If the file system can't reserve space,
    /// the method throws. It doesn't write zeros instead, as posix_fallocate(3) does, because that races with other writers. See
    /// fallocate(2); on Apple platforms F_PREALLOCATE of fcntl(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/noSpace``, or ``FileError/Code/unsupported`` if the file system can't reserve space.
    public func preallocate(_ range: Range<Int64>, keepingSize: Bool = false) async throws {
        precondition(range.lowerBound >= 0, "The offset must not be negative; it is \(range.lowerBound).")
        if range.isEmpty { return }  // EINVAL otherwise.
        try await run("preallocate space in") { [file] _ in
            try file.io.kernel.preallocate(file.descriptor, range, keepingSize: keepingSize, file.path)
        }
    }

    /// Returns the space of a range to the file system. Its bytes read as zeros afterwards, and the size stays the same.
    ///
    /// On Linux the range may have any bounds, and the whole blocks in it are freed. On Apple platforms it must consist of whole blocks.
    /// See fallocate(2), "Deallocating file space".
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/unsupported`` if the file system can't punch holes.
    public func punchHole(_ range: Range<Int64>) async throws {
        precondition(range.lowerBound >= 0, "The offset must not be negative; it is \(range.lowerBound).")
        if range.isEmpty { return }
        try await run("punch a hole in") { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(
                kernel.retrying {
                    kernel.calls.randomAccess.punchHole(file.descriptor, range.lowerBound, Int64(range.count))
                }, "punch a hole in", file.path)
        }
    }
}

extension Kernel {
    func preallocate(
        _ descriptor: CInt, _ range: Range<Int64>, keepingSize: Bool, _ path: String
    ) throws(FileError) {
        let (offset, count) = (range.lowerBound, Int64(range.count))
        let result = retrying { calls.randomAccess.preallocate(descriptor, offset, count, keepingSize) }
        if result == -EOPNOTSUPP || result == -ENOSYS {
            throw FileError(
                operation: "preallocate space in", path: path, systemError: -result,
                remedy:
                    "Continue without it, because this file system can't reserve space in advance.")
        }
        try check(result, "preallocate space in", path)
    }
}
