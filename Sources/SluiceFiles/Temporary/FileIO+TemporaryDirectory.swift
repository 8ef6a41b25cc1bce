internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Makes a directory for `body` and removes it with all that is in it, on every path.
    ///
    ///     try await files.withTemporaryDirectory { directory in
    ///         try await data.asyncWrite(to: directory.appending(path: "page.html"))
    ///     }
    ///
    /// The directory has a name of its own and is for this user only (mode 0700).
    ///
    /// - Cancellation: throws `CancellationError` before `body` begins; the directory is removed also when the task is
    ///   cancelled.
    /// - Failure: what `body` throws, else a ``FileError`` from making or removing the directory.
    ///
    /// - Parameters:
    ///   - prefix: What the name begins with.
    ///   - parent: Where to make it; nil for the system's directory for temporary files (`TMPDIR`, else /tmp).
    ///   - body: What to do with it.
    public func withTemporaryDirectory<R>(
        prefix: String = "sluice", in parent: URL? = nil, _ body: (URL) async throws -> R
    ) async throws -> R {
        let parentPath = try Path.of(parent ?? .temporaryDirectory, for: "make temporary directory in")
        let path = try await run { [kernel] _ in try kernel.makeTemporaryDirectory(prefix: prefix, in: parentPath) }
        return try await scoped {
            try await body(URL(filePath: path, directoryHint: .isDirectory))
        } finally: {
            try await removeTemporary(path)
        }
    }

    /// Removes what is under the name of a temporary file or directory.
    func removeTemporary(_ path: String) async throws {
        try await run(mustRun: true) { [kernel] cancellation in
            do {
                try kernel.removeTree(path, cancellation)
            } catch let error as FileError where error.code == .notFound {
                // `body` removed or renamed it itself.
            }
        }
    }
}

extension Kernel {
    fileprivate func makeTemporaryDirectory(prefix: String, in parent: String) throws(FileError) -> String {
        var attempt = 1
        while true {
            let path = Path.join(parent, uniqueName(prefix: prefix + "-"))
            let made = path.withCString { path in retrying { calls.makeDirectory(path, 0o700) } }
            if made == -EEXIST, attempt < 100 {
                attempt += 1
                continue
            }
            try check(made, "make temporary directory", path)
            return path
        }
    }
}
