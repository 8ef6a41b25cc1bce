internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Renames a file or directory, atomically.
    ///
    ///     try await files.rename(part, to: song)                         // throws .exists if a song is there
    ///     try await files.rename(part, to: song, existing: .replace)
    ///
    /// By default, an existing file is never replaced, even by concurrent renames: the method uses renameat2(2) with
    /// RENAME_NOREPLACE. If the kernel or the file system doesn't support that, a file is renamed by link(2) and unlink(2), and a
    /// directory by mkdir(2) and rename(2). This isn't atomic: for a moment, both names of the file exist, or an empty directory
    /// exists at the destination.
    ///
    /// If both URLs are names of the same file (hard links), replacing removes the old name, although rename(2) would do nothing.
    ///
    /// Both URLs must be on the same file system. `.skip` is the same as `.fail`. The new name isn't synced: see
    /// <doc:WhatSurvivesACrash>.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``, and both paths are unchanged.
    public func rename(_ source: URL, to destination: URL, existing: ExistingFile = .fail) async throws {
        let from = try Path.of(source, for: "rename")
        let to = try Path.of(destination, for: "rename to")
        try await run { [kernel] _ in try kernel.rename(from, to: to, existing: existing) }
    }

    /// Removes a file, a symbolic link or an empty directory. A link isn't followed.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound`` if nothing exists at the URL, and ``FileError/Code/notEmpty`` for
    ///   a directory with entries (see ``removeTree(_:progress:)``). See unlink(2), rmdir(2).
    public func remove(_ url: URL) async throws {
        let path = try Path.of(url, for: "remove")
        try await run { [kernel] _ in try kernel.remove(path) }
    }

    /// Creates a directory and, unless `withIntermediates` is false, the missing directories above it. Does nothing if it exists.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. If a file is in the way, the error names it. Directories that were created before the error
    ///   stay. See mkdir(2).
    public func makeDirectory(
        at url: URL, withIntermediates: Bool = true, permissions: FilePermissions = .newDirectory
    ) async throws {
        let path = try Path.of(url, for: "create directory")
        try await run { [kernel] _ in
            if withIntermediates {
                try kernel.makeDirectories(path, permissions.rawValue)
            } else {
                try kernel.makeDirectory(path, permissions.rawValue)
            }
        }
    }
}

extension Kernel {
    func remove(_ path: String) throws(FileError) {
        let unlinked = path.withCString { path in retrying { calls.unlink(path) } }
        // Linux reports EISDIR for a directory, POSIX specifies EPERM.
        guard unlinked == -EISDIR || unlinked == -EPERM else { return try check(unlinked, "remove", path) }
        let removed = path.withCString { path in retrying { calls.removeDirectory(path) } }
        // It isn't a directory, so the first error is the cause.
        try check(removed == -ENOTDIR ? unlinked : removed, "remove", path)
    }

    func makeDirectory(_ path: String, _ permissions: UInt32) throws(FileError) {
        let made = path.withCString { path in retrying { calls.makeDirectory(path, permissions) } }
        if made == -EEXIST, try status(of: path)?.isDirectory == true { return }
        try check(made, "create directory", path)
    }

    /// Creates a directory and the missing ones above it. Starts with the last name, because usually only that is missing.
    func makeDirectories(_ path: String, _ permissions: UInt32) throws(FileError) {
        var missing = [path]
        do {
            while let current = missing.last {
                do {
                    try makeDirectory(current, permissions)
                    missing.removeLast()
                    break
                } catch  where error.code == .notFound && Path.directory(of: current) != current {
                    missing.append(Path.directory(of: current))
                }
            }
            // From here on ENOENT is an error: /proc returns it for any name, although /proc exists.
            while let next = missing.popLast() { try makeDirectory(next, permissions) }
        } catch  where error.code == .notDirectory {
            throw error.with(operation: error.operation, path: try file(inTheWayOf: path) ?? error.subject)
        }
    }

    private func file(inTheWayOf path: String) throws(FileError) -> String? {
        var current = path
        while Path.directory(of: current) != current {
            if let status = try status(of: current) { return status.isDirectory ? nil : current }
            current = Path.directory(of: current)
        }
        return nil
    }
}
