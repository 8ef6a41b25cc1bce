internal import CSluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// Files whose size is known from elsewhere, such as an index. Another size or kind of file is an answer and not an error.
extension FileIO {
    /// Reads a regular file that has `size` bytes, in one job. Returns `nil` if it has another size, or is another kind of file.
    ///
    /// A symbolic link at the end of the path isn't followed (``FileError/Code/tooManyLinks``). A FIFO is opened, but not waited for.
    package func contents(of url: URL, size: Int) async throws -> Data? {
        let path = try Path.of(url, for: "read")
        if let data = contentsWithoutWaiting(ofPath: path, size: size) { return data }
        return try await run { [self] cancellation in
            let opened = try kernel.openWithoutWaiting(path, O_RDONLY | O_NOFOLLOW, isBrief: true)
            let bytes: ReadBuffer
            do {
                guard opened.status.isRegularFile, opened.status.size == Int64(size) else {
                    kernel.closeQuietly(opened.descriptor)
                    return nil
                }
                inline.learn(path, opened.descriptor, opened.status, kernel)
                bytes = try kernel.readToEnd(
                    opened.descriptor, limit: size, expected: size, path, cancellation)
            } catch {
                kernel.closeQuietly(opened.descriptor)
                throw error
            }
            try kernel.close(opened.descriptor, path)
            return bytes.count == size ? bytes.data() : nil
        }
    }

    /// Reads a regular file that has `size` bytes on the calling thread, if all bytes are in memory. Returns `nil` in every other case; then
    /// ``contents(of:size:)`` finds out why.
    package func contentsWithoutWaiting(ofPath path: String, size: Int) -> Data? {
        guard case .whole(let data) = contentsInline(of: path, limit: size), data.count == size else { return nil }
        return data
    }

    /// Creates a file with its bytes, in one job. Unlike `Data.asyncWrite(to:options:using:)`, the name leads to a part of the bytes while
    /// they are written, and also after a kill. After an error, the file doesn't exist. Throws ``FileError/Code/exists`` if something has
    /// the name already.
    package func create(_ url: URL, contents: Data, permissions: FilePermissions) async throws {
        let path = try Path.of(url, for: "write")
        try await run { [kernel] _ in
            let flags = O_WRONLY | O_CREAT | O_EXCL
            let descriptor = try kernel.open(path, flags, permissions: permissions.rawValue, isBrief: true)
            do {
                try contents.withUnsafeBytes { bytes in
                    do throws(FileError) {
                        try kernel.write(descriptor, bytes, path)
                    } catch {
                        kernel.closeQuietly(descriptor)
                        throw error
                    }
                }
                try kernel.close(descriptor, path)
            } catch {
                kernel.unlinkQuietly(path)
                throw error
            }
        }
    }
}
