internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Makes an empty file for `body` and removes it, on every path.
    ///
    ///     let digest = try await files.withTemporaryFile(suffix: ".mp3") { file in
    ///         try await data.asyncWrite(to: file)
    ///         return try await convert(file)
    ///     }
    ///
    /// The file has a name of its own, and only this user may read or write it (mode 0600). What stands under the name
    /// at the end is removed, whatever put it there: a tool that replaces the file leaves nothing behind either. To keep the
    /// file, rename it in `body`.
    ///
    /// A process that is killed leaves the file.
    ///
    /// - Cancellation: throws `CancellationError` before `body` begins; the file is removed also when the task is cancelled.
    /// - Failure: what `body` throws, else a ``FileError`` from making or removing the file. See open(2), O_EXCL.
    ///
    /// - Parameters:
    ///   - prefix: What the name begins with.
    ///   - suffix: What it ends with, for programs that go by that.
    ///   - parent: The directory to make it in; nil for the system's directory for temporary files (`TMPDIR`, else /tmp).
    ///   - body: What to do with it.
    public func withTemporaryFile<R>(
        prefix: String = "sluice", suffix: String = "", in parent: URL? = nil, _ body: (URL) async throws -> R
    ) async throws -> R {
        let parentPath = try Path.of(parent ?? .temporaryDirectory, for: "make temporary file in")
        let path = try await run { [kernel] _ in
            try kernel.makeTemporaryFile(prefix: prefix, suffix: suffix, in: parentPath)
        }
        return try await scoped {
            try await body(URL(filePath: path, directoryHint: .notDirectory))
        } finally: {
            try await removeTemporary(path)
        }
    }
}

extension Kernel {
    fileprivate func makeTemporaryFile(
        prefix: String, suffix: String, in parent: String
    ) throws(FileError) -> String {
        var attempt = 1
        while true {
            let name = uniqueName(prefix: prefix + "-") + suffix
            guard DirectoryEntry.Name(name).isSingle else {
                throw FileError(
                    code: .invalidPath, operation: "make temporary file", path: name,
                    remedy: "Prefix and suffix are parts of a name, without slashes and zero bytes.")
            }
            let path = Path.join(parent, name)
            do {
                let descriptor = try open(
                    path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600, for: "make temporary file")
                closeQuietly(descriptor)
                return path
            } catch  where error.code == .exists && attempt < 100 {
                attempt += 1  // One name of 2^64 is taken: the next.
            }
        }
    }
}
