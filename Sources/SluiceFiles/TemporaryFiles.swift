internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Creates an empty temporary file, passes its URL to `body`, and removes it afterwards.
    ///
    ///     let digest = try await files.withTemporaryFile(suffix: ".mp3") { file in
    ///         try await data.asyncWrite(to: file)
    ///         return try await convert(file)
    ///     }
    ///
    /// The file has a unique name between `prefix` and `suffix`, and only the current user can read or write it (mode 0600). By default it
    /// is in the system's temporary directory (`TMPDIR`, or /tmp). It is removed whether `body`, which runs in the caller's isolation,
    /// returns or throws. So is a file that has replaced it under the same name, for example one that a tool wrote. To keep the file,
    /// rename it in `body`. If the process is killed, the file stays.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, without calling `body`. The file is removed even if the
    ///   task is cancelled.
    /// - Failure: An error from `body`; otherwise a ``FileError`` if the file can't be created or removed. See open(2), O_EXCL.
    public func withTemporaryFile<R>(
        prefix: String = "sluice", suffix: String = "", in parent: URL? = nil, _ body: (URL) async throws -> R
    ) async throws -> R {
        let parentPath = try Path.of(parent ?? .temporaryDirectory, for: "create a temporary file in")
        let path = try await run { [system] _ in
            try system.makeTemporaryFile(prefix: prefix, suffix: suffix, in: parentPath)
        }
        return try await scoped {
            try await body(URL(filePath: path, directoryHint: .notDirectory))
        } finally: {
            try await removeTemporary(path)
        }
    }
}

extension SystemInterface {
    fileprivate func makeTemporaryFile(
        prefix: String, suffix: String, in parent: String
    ) throws(FileError) -> String {
        guard DirectoryEntry.Name(prefix + "-" + suffix).isSingle else {
            throw FileError(
                code: .invalidPath, operation: "create temporary file", path: prefix + "-" + suffix,
                remedy: "Pass a prefix and a suffix that have no slash and no zero byte.")
        }
        return try withUniquePath(in: parent, prefix: prefix + "-", suffix: suffix) { path throws(FileError) in
            let descriptor = try open(
                path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600, for: "create temporary file")
            closeQuietly(descriptor)
            return path
        }
    }
}

// MARK: - Directories

extension FileIO {
    /// Creates a temporary directory, passes its URL to `body`, and removes it with its contents afterwards.
    ///
    ///     try await files.withTemporaryDirectory { directory in
    ///         try await data.asyncWrite(to: directory.appending(path: "page.html"))
    ///     }
    ///
    /// The directory has a unique name that begins with `prefix`, and only the current user can access it (mode 0700). By default it is in
    /// the system's temporary directory (`TMPDIR`, or /tmp). It is removed whether `body`, which runs in the caller's isolation, returns or
    /// throws, including directories in it that `body` has made read-only.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, without calling `body`. The directory is removed even
    ///   if the task is cancelled.
    /// - Failure: An error from `body`; otherwise a ``FileError`` if the directory can't be created or removed.
    public func withTemporaryDirectory<R>(
        prefix: String = "sluice", in parent: URL? = nil, _ body: (URL) async throws -> R
    ) async throws -> R {
        let parentPath = try Path.of(parent ?? .temporaryDirectory, for: "create a temporary directory in")
        let path = try await run { [system] _ in try system.makeTemporaryDirectory(prefix: prefix, in: parentPath) }
        return try await scoped {
            try await body(URL(filePath: path, directoryHint: .isDirectory))
        } finally: {
            try await removeTemporary(path)
        }
    }

    func removeTemporary(_ path: String) async throws {
        try await run(mustRun: true) { [system] cancellation in
            do {
                try system.removeTree(path, cancellation, changingModes: true)
            } catch let error as FileError where error.code == .notFound {
                // `body` has removed or renamed it.
            }
        }
    }
}

extension SystemInterface {
    fileprivate func makeTemporaryDirectory(prefix: String, in parent: String) throws(FileError) -> String {
        guard DirectoryEntry.Name(prefix + "-").isSingle else {
            throw FileError(
                code: .invalidPath, operation: "create temporary directory", path: prefix + "-",
                remedy: "Pass a prefix that has no slash and no zero byte.")
        }
        return try withUniquePath(in: parent, prefix: prefix + "-") { path throws(FileError) in
            let made = path.withCString { path in retrying { calls.createDirectory(path, 0o700) } }
            try check(made, "create temporary directory", path)
            return path
        }
    }
}
