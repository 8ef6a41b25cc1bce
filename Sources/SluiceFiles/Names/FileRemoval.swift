internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Removes a file, a symbolic link or an empty directory. A link isn't followed.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound`` if nothing exists at the URL, and ``FileError/Code/notEmpty`` for
    ///   a directory with entries (see ``removeTree(_:progress:)``). See unlink(2), rmdir(2).
    public func remove(_ url: URL) async throws {
        let path = try Path.of(url, for: "remove")
        try await run { [system] _ in try system.remove(path) }
    }
}

extension SystemInterface {
    func remove(_ path: String) throws(FileError) {
        let unlinked = path.withCString { path in retrying { calls.unlink(path) } }
        // Linux reports EISDIR for a directory; POSIX specifies EPERM.
        guard unlinked == -EISDIR || unlinked == -EPERM else { return try check(unlinked, "remove", path) }
        let removed = path.withCString { path in retrying { calls.removeDirectory(path) } }
        // It isn't a directory, so the first error is the cause.
        try check(removed == -ENOTDIR ? unlinked : removed, "remove", path)
    }

    func unlink(_ path: String) throws(FileError) {
        try check(path.withCString { path in retrying { calls.unlink(path) } }, "remove", path)
    }

    func unlink(_ path: String, ifStill file: RawStatus) throws(FileError) {
        let found = try status(of: path, followsLinks: false)
        if found?.isSameFile(as: file) == true { try unlink(path) }
    }

    func unlinkQuietly(_ path: String) {
        _ = path.withCString { path in retrying { calls.unlink(path) } }
    }
}
