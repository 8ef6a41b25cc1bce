internal import CSluiceFiles

extension RandomAccessFile {
    /// The file's size in bytes now. Files in /proc and /sys, and devices, tell no true one. See fstat(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    public var size: Int64 {
        get async throws {
            try await run("look at") { [file] _ in
                try file.io.kernel.status(ofDescriptor: file.descriptor, file.path).size
            }
        }
    }

    /// Cuts the file off, or extends it with zeros that take no space, to a size in bytes. See ftruncate(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    public func truncate(to size: Int64) async throws {
        precondition(size >= 0, "A size is not negative.")
        try await run("truncate") { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(
                kernel.retrying { kernel.calls.truncate(file.descriptor, size) }, "truncate", file.path)
        }
    }

    /// Takes space on the device for a range, so that writing there does not run out of it later.
    ///
    ///     try await file.preallocate(0..<size)                        // or fails with .noSpace now
    ///
    /// Bytes that are there stay; what is new reads as zeros. The file grows to the end of the range, unless `keepingSize`
    /// is set. On file systems that write to another place each time (Btrfs, ZFS, APFS) it promises less. See fallocate(2);
    /// on Apple platforms F_PREALLOCATE of fcntl(2).
    ///
    /// Where the file system has no such operation, this is ``FileError/Code/unsupported``, and nothing is written in its
    /// place, as posix_fallocate(3) would, which races with other writers.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``, among them ``FileError/Code/noSpace``.
    ///
    /// - Parameters:
    ///   - range: The bytes to have space for.
    ///   - keepingSize: Whether the file's size stays as it is, with space behind its end.
    public func preallocate(_ range: Range<Int64>, keepingSize: Bool = false) async throws {
        precondition(range.lowerBound >= 0, "An offset is not negative.")
        if range.isEmpty { return }  // EINVAL otherwise.
        try await run("preallocate") { [file] _ in
            try file.io.kernel.preallocate(file.descriptor, range, keepingSize: keepingSize, file.path)
        }
    }

    /// Gives the space of a range back; its bytes read as zeros from then on. The size stays.
    ///
    ///     try await file.punchHole(record)
    ///
    /// On Linux any range will do, and whole blocks in it are given back. On Apple platforms it consists of whole blocks.
    /// See fallocate(2), "Deallocating file space".
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``, ``FileError/Code/unsupported`` where the file system has no such operation.
    public func punchHole(_ range: Range<Int64>) async throws {
        precondition(range.lowerBound >= 0, "An offset is not negative.")
        if range.isEmpty { return }
        try await run("punch a hole into") { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(
                kernel.retrying {
                    kernel.calls.randomAccess.punchHole(file.descriptor, range.lowerBound, Int64(range.count))
                }, "punch a hole into", file.path)
        }
    }
}

extension Kernel {
    /// Takes space for a range. See fallocate(2).
    func preallocate(
        _ descriptor: CInt, _ range: Range<Int64>, keepingSize: Bool, _ path: String
    ) throws(FileError) {
        let (offset, count) = (range.lowerBound, Int64(range.count))
        let result = retrying { calls.randomAccess.preallocate(descriptor, offset, count, keepingSize) }
        if result == -EOPNOTSUPP || result == -ENOSYS {
            throw FileError(
                operation: "preallocate", path: path, systemError: -result,
                remedy:
                    "This file system takes no space in advance: go on without, and expect a write to find no space.")
        }
        try check(result, "preallocate", path)
    }
}
