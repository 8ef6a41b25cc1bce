internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Creates a temporary directory, passes its URL to `body`, and removes it with its contents afterwards.
    ///
    ///     try await files.withTemporaryDirectory { directory in
    ///         try await data.asyncWrite(to: directory.appending(path: "page.html"))
    ///     }
    ///
    /// The directory has a unique name that begins with `prefix`, and only the current user can access it (mode 0700). By default it
    /// is in the system's temporary directory (`TMPDIR`, or /tmp). It is removed whether `body`, which runs in the caller's isolation,
    /// returns or throws, and so are directories in it that `body` has made read-only.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, without calling `body`. The directory is removed even
    ///   if the task is cancelled.
    /// - Failure: The error of `body`; otherwise a ``FileError`` if the directory can't be created or removed.
    public func withTemporaryDirectory<R>(
        prefix: String = "sluice", in parent: URL? = nil, _ body: (URL) async throws -> R
    ) async throws -> R {
        let parentPath = try Path.of(parent ?? .temporaryDirectory, for: "create a temporary directory in")
        let path = try await run { [kernel] _ in try kernel.makeTemporaryDirectory(prefix: prefix, in: parentPath) }
        return try await scoped {
            try await body(URL(filePath: path, directoryHint: .isDirectory))
        } finally: {
            try await removeTemporary(path)
        }
    }

    func removeTemporary(_ path: String) async throws {
        try await run(mustRun: true) { [kernel] cancellation in
            do {
                try kernel.removeTree(path, cancellation, changingModes: true)
            } catch let error as FileError where error.code == .notFound {
                // `body` has removed or renamed it.
            }
        }
    }
}

extension Kernel {
    fileprivate func makeTemporaryDirectory(prefix: String, in parent: String) throws(FileError) -> String {
        var attempt = 1
        while true {
            let name = uniqueName(prefix: prefix + "-")
            guard DirectoryEntry.Name(name).isSingle else {
                throw FileError(
                    code: .invalidPath, operation: "create temporary directory", path: name,
                    remedy: "Pass a prefix that has no slash and no zero byte.")
            }
            let path = Path.join(parent, name)
            let made = path.withCString { path in retrying { calls.makeDirectory(path, 0o700) } }
            if made == -EEXIST, attempt < 100 {
                attempt += 1
                continue
            }
            try check(made, "create temporary directory", path)
            return path
        }
    }
}
