internal import CSluiceFiles

extension Kernel {
    /// The most that the path of a link may need. Linux has no longer ones than 4096 bytes.
    static var longestPath: Int { 1 << 20 }

    /// Where a symbolic link points to, as bytes that end in zero. See readlink(2).
    func linkTarget(of path: String) throws(FileError) -> [CChar] {
        // readlink cuts off what has no room and does not say so: only a result that leaves room is whole.
        try text("read the link", path) { path, buffer in
            let result = calls.metadata.readLink(path, buffer)
            return result == buffer.count ? -Int(ERANGE) : result
        }
    }

    /// The path without links, "." and "..". See realpath(3).
    func resolved(_ path: String) throws(FileError) -> [CChar] {
        try text("resolve", path) { path, buffer in calls.metadata.resolve(path, buffer) }
    }

    /// See symlink(2).
    func makeSymbolicLink(to target: [CChar], at path: String) throws(FileError) {
        let result = target.withUnsafeBufferPointer { target in
            path.withCString { path in retrying { calls.metadata.symbolicLink(target.baseAddress!, path) } }
        }
        try check(result, "make symbolic link", path)
    }

    /// The text that a call gives, which says ERANGE while there is no room for it.
    private func text(
        _ operation: String, _ path: String, _ call: (SystemCalls.Path, UnsafeMutableRawBufferPointer) -> Int
    ) throws(FileError) -> [CChar] {
        var bytes = [CChar](repeating: 0, count: 256)
        while true {
            let result = path.withCString { path in
                retrying { bytes.withUnsafeMutableBytes { call(path, $0) } }
            }
            if result == -Int(ERANGE), bytes.count < Self.longestPath {
                bytes = [CChar](repeating: 0, count: bytes.count * 4)
                continue
            }
            try check(result, operation, path)
            return bytes.prefix(result) + [0]
        }
    }
}
