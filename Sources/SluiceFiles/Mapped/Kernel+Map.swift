internal import CSluiceFiles

extension Kernel {
    /// Opens, maps for reading and closes. Waits for nobody: a FIFO is refused.
    func map(_ path: String) throws(FileError) -> UnsafeMutableRawBufferPointer {
        let opened = try openSeekable(path, O_RDONLY)
        let (descriptor, status) = (opened.descriptor, opened.status)
        defer { closeQuietly(descriptor) }  // Nothing was written to it.
        guard status.isRegularFile else {
            throw FileError(
                code: .notRegularFile, operation: "map", path: path,
                remedy: "Only a regular file is mapped: open it for reading instead.")
        }
        guard status.size > 0 else {
            // Empty, or a file of the kernel, which says so and is not. To read a byte of that might take it from another
            // reader, and wait. One page of a true file can be mapped, whatever its size; one of the kernel's cannot.
            try unmap(try map(descriptor, 1, path), path)
            return UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
        guard let size = Int(exactly: status.size) else {
            throw FileError(operation: "map", path: path, systemError: EOVERFLOW)
        }
        return try map(descriptor, size, path)
    }

    private func map(
        _ descriptor: CInt, _ count: Int, _ path: String
    ) throws(FileError) -> UnsafeMutableRawBufferPointer {
        var address: UnsafeMutableRawPointer?
        let result = calls.randomAccess.map(descriptor, count, false, &address)
        // ENODEV, or EIO in some directories of /proc.
        if result == -ENODEV || (result == -EIO && count == 1) {
            throw FileError(
                code: .unsupported, operation: "map", path: path, systemError: -result,
                remedy: "The file system maps no such file: read it instead.")
        }
        try check(result, "map", path)
        return UnsafeMutableRawBufferPointer(start: address, count: count)
    }

    /// Maps a file that is open and safe to map, so that changes of the memory stay in this process; nil for any other file.
    func mapIfSafe(
        _ descriptor: CInt, _ status: RawStatus, limit: Int
    ) -> UnsafeMutableRawBufferPointer? {
        guard status.isRegularFile, status.size > 0, let size = Int(exactly: status.size), size <= limit,
            calls.inline.isLocal(descriptor) == 1
        else { return nil }
        var address: UnsafeMutableRawPointer?
        guard calls.randomAccess.map(descriptor, size, true, &address) >= 0 else { return nil }
        return UnsafeMutableRawBufferPointer(start: address, count: size)
    }

    func unmap(_ memory: UnsafeMutableRawBufferPointer, _ path: String) throws(FileError) {
        guard let start = memory.baseAddress else { return }
        try check(calls.randomAccess.unmap(start, memory.count), "unmap", path)
    }

    /// Waits until the pages of a range are in memory and in the page tables.
    func prefetch(_ memory: UnsafeMutableRawBufferPointer, _ path: String) throws(FileError) {
        guard let start = memory.baseAddress else { return }
        let calls = calls.randomAccess
        let result = retrying { calls.populate(start, memory.count) }
        switch result {
        case -EINVAL, -ENOSYS:
            _ = calls.touch(start, memory.count)
        case -EFAULT:
            throw FileError(
                code: .inputOutput, operation: "prefetch", path: path, systemError: EFAULT,
                remedy: "The file is shorter than when it was mapped, or its device failed: map it again.")
        default: try check(result, "prefetch", path)
        }
    }
}
