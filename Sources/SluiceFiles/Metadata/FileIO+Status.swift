#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// What is at a path, or nil if nothing is.
    ///
    ///     if let status = try await FileIO.shared.status(of: url), status.kind == .file { … }
    ///
    /// Whatever it says may have changed by the time it returns: to claim a name, use an operation that fails when it is
    /// taken (``WriteOpening/fail``, ``ExistingFile/fail``).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - followingLinks: Whether a symbolic link counts as what it points to (then a dangling one is nothing).
    public func status(of url: URL, followingLinks: Bool = true) async throws -> FileStatus? {
        let path = try Path.of(url, for: "look at")
        return try await run { [kernel] _ in
            try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
        }
    }

    /// Whether something is at a path.
    ///
    ///     if try await files.exists(settings) { … }
    ///
    /// Don't rely on the answer: something may come or go before the next line. Open the file
    /// and catch ``FileError/Code/notFound``; claim a name with ``WriteOpening/fail`` or ``ExistingFile/fail``. Not
    /// being allowed to look is an error, and not "no".
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - followingLinks: Whether a symbolic link counts as what it points to (then a dangling one is nothing).
    public func exists(_ url: URL, followingLinks: Bool = true) async throws -> Bool {
        try await status(of: url, followingLinks: followingLinks) != nil
    }

    /// What is at each of many names, asked in one job. Names that follow each other in one directory cost the least.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    package func statuses(
        of names: [(directory: URL, name: String)], followingLinks: Bool = true
    ) async throws -> [Result<FileStatus?, FileError>] {
        try await run { [kernel] _ in
            var latest: (directory: URL, path: Result<String, FileError>)?
            return names.map { directory, name in
                // A path is asked of a URL once: that takes longer than the kernel's answer.
                if latest?.directory != directory {
                    latest = (directory, Result { () throws(FileError) in try Path.of(directory, for: "look at") })
                }
                return Result { () throws(FileError) in
                    let path = Path.join(try latest!.path.get(), name)
                    return try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
                }
            }
        }
    }
}
