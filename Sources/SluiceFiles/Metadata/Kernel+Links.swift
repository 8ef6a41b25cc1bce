internal import CSluiceFiles

extension Kernel {
    /// The largest buffer for the target of a link or a resolved path. Linux has no targets of more than 4096 bytes.
    static var longestPath: Int { 1 << 20 }

    func linkTarget(of path: String) throws(FileError) -> [CChar] {
        // readlink(2) truncates without an error, so a result is complete only if it leaves room in the buffer.
        try text("read the symbolic link", path) { path, buffer in
            let result = calls.metadata.readLink(path, buffer)
            return result == buffer.count ? -Int(ERANGE) : result
        }
    }

    func resolved(_ path: String) throws(FileError) -> [CChar] {
        try text("resolve", path) { path, buffer in calls.metadata.resolve(path, buffer) }
    }

    func makeSymbolicLink(to target: [CChar], at path: String) throws(FileError) {
        let result = target.withUnsafeBufferPointer { target in
            path.withCString { path in retrying { calls.metadata.symbolicLink(target.baseAddress!, path) } }
        }
        try check(result, "create symbolic link", path)
    }

    /// Returns the text that a call writes. Enlarges the buffer after each ERANGE.
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
