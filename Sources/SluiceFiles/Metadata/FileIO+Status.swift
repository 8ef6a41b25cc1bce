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
    /// taken (``WriteOpening/createNew``, ``ExistingFile/fail``).
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`.
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
    ///     if try await io.exists(settings) { … }
    ///
    /// Whoever needs to *rely* on the answer has lost already: something may come or go before the next line. Open the file
    /// and catch ``FileError/Code/notFound``; claim a name with ``WriteOpening/createNew`` or ``ExistingFile/fail``. Not
    /// being allowed to look is an error, and not "no".
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - followingLinks: Whether a symbolic link counts as what it points to (then a dangling one is nothing).
    public func exists(_ url: URL, followingLinks: Bool = true) async throws -> Bool {
        try await status(of: url, followingLinks: followingLinks) != nil
    }

    /// What is at each of many paths, asked in one job.
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`.
    package func statuses(
        of urls: [URL], followingLinks: Bool = true
    ) async throws -> [Result<FileStatus?, FileError>] {
        try await run { [kernel] _ in
            urls.map { url in
                Result { () throws(FileError) in
                    let path = try Path.of(url, for: "look at")
                    return try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
                }
            }
        }
    }

    /// What is at each of many names in a folder, asked in one job.
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`.
    package func statuses(
        of names: [String], in folder: URL, followingLinks: Bool = true
    ) async throws -> [Result<FileStatus?, FileError>] {
        try await run { [kernel] _ in
            let folder = Result { () throws(FileError) in try Path.of(folder, for: "look at") }
            return names.map { name in
                Result { () throws(FileError) in
                    let path = Path.join(try folder.get(), name)
                    return try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
                }
            }
        }
    }
}
