internal import CSluiceFiles

extension Kernel {
    /// Opens a file, maps it for reading and closes it. Never waits for another process: a FIFO is refused.
    func map(_ path: String) throws(FileError) -> UnsafeMutableRawBufferPointer {
        let opened = try openSeekable(path, O_RDONLY)
        let (descriptor, status) = (opened.descriptor, opened.status)
        defer { closeQuietly(descriptor) }  // Nothing was written, so close has no error to report.
        guard status.isRegularFile else {
            throw FileError(
                code: .notRegularFile, operation: "map", path: path,
                remedy: "Open it for reading instead, because only a regular file can be mapped.")
        }
        guard status.size > 0 else {
            // An empty file, or a file of the kernel, which reports a size of 0 but has bytes. Reading a byte to find out could wait,
            // or take the byte from another reader. One page of an ordinary file can be mapped even if it is empty; a page of a
            // kernel's file can't.
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
                remedy: "Read the file instead, because its file system can't map it.")
        }
        try check(result, "map", path)
        return UnsafeMutableRawBufferPointer(start: address, count: count)
    }

    /// Privately maps an open file (changes to the memory stay in this process) if that is safe. Otherwise returns `nil`.
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
                remedy: "Map it again, because the file has become shorter or its device failed.")
        default: try check(result, "prefetch", path)
        }
    }
}
