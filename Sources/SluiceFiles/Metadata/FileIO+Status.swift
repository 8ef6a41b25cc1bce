#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Returns the status of a file, or `nil` if no file exists at the URL or at the end of a symbolic link that is followed.
    ///
    ///     if let status = try await FileIO.shared.status(of: url), status.kind == .file { … }
    ///
    /// The file may have changed by the time the method returns. To claim a name, use an operation that fails if the name exists
    /// (``WriteOpening/fail``, ``ExistingFile/fail``).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public func status(of url: URL, followingLinks: Bool = true) async throws -> FileStatus? {
        let path = try Path.of(url, for: "read the status of")
        return try await run { [kernel] _ in
            try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
        }
    }

    /// Returns whether a file or directory exists at the URL, and at the end of a symbolic link that is followed.
    ///
    /// Don't rely on the answer: the file may be created or removed before the next statement. Open the file and catch
    /// ``FileError/Code/notFound`` instead, and claim a name with ``WriteOpening/fail`` or ``ExistingFile/fail``. If the process
    /// has no permission to look, the method throws.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public func exists(_ url: URL, followingLinks: Bool = true) async throws -> Bool {
        try await status(of: url, followingLinks: followingLinks) != nil
    }

    /// Returns the statuses of many names in one job. It is fastest if names in the same directory are consecutive.
    package func statuses(
        of names: [(directory: URL, name: String)], followingLinks: Bool = true
    ) async throws -> [Result<FileStatus?, FileError>] {
        try await run { [kernel] _ in
            var latest: (directory: URL, path: Result<String, FileError>)?
            return names.map { directory, name in
                // Converting a URL to a path takes longer than the system call, so it is done once for each run of equal
                // directories.
                if latest?.directory != directory {
                    latest = (
                        directory, Result { () throws(FileError) in try Path.of(directory, for: "read the status of") }
                    )
                }
                return Result { () throws(FileError) in
                    let path = Path.join(try latest!.path.get(), name)
                    return try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
                }
            }
        }
    }
}
