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
    /// By default, and with `.fail`, it uses renameat2(2) with RENAME_NOREPLACE. Where kernel or file system lack that, a file is renamed by
    /// link(2) and unlink(2) and a directory by mkdir(2) and rename(2), not atomically: for a moment there are both names of the
    /// file, or an empty directory at the destination. All of them leave what is at the destination alone, however many try at
    /// once. The change of names is not synced.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``; both paths are as they were.
    ///
    /// - Parameters:
    ///   - source: A file URL.
    ///   - destination: A file URL on the same file system.
    ///   - existing: What happens if something is at the destination: an error by default. `.skip` stops the program.
    public func rename(_ source: URL, to destination: URL, existing: ExistingFile = .fail) async throws {
        existing.checkIsNotSkip(for: "FileIO.rename")
        let from = try Path.of(source, for: "rename")
        let to = try Path.of(destination, for: "rename to")
        try await run { [kernel] _ in try kernel.rename(from, to: to, existing: existing) }
    }

    /// Removes a file, a symbolic link (not what it points to) or an empty directory.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``: ``FileError/Code/notFound`` if nothing is there, ``FileError/Code/notEmpty`` for a directory
    ///   with entries (see ``removeTree(_:progress:)``). See unlink(2), rmdir(2).
    public func remove(_ url: URL) async throws {
        let path = try Path.of(url, for: "remove")
        try await run { [kernel] _ in try kernel.remove(path) }
    }

    /// Makes a directory. One that exists is fine.
    ///
    ///     try await files.makeDirectory(at: music, permissions: 0o750)
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError`` that names the file in the way, if there is one. Directories made until then stay. See mkdir(2).
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - withIntermediates: Whether missing directories on the way to it are made too.
    ///   - permissions: The mode of each directory that is made, less the process's umask.
    public func makeDirectory(
        at url: URL, withIntermediates: Bool = true, permissions: FilePermissions = .newDirectory
    ) async throws {
        let path = try Path.of(url, for: "make directory")
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
        // Linux says EISDIR for a directory, POSIX says EPERM.
        guard unlinked == -EISDIR || unlinked == -EPERM else { return try check(unlinked, "remove", path) }
        let removed = path.withCString { path in retrying { calls.removeDirectory(path) } }
        // It was a file after all, and the first answer is the true one.
        try check(removed == -ENOTDIR ? unlinked : removed, "remove", path)
    }

    func makeDirectory(_ path: String, _ permissions: UInt32) throws(FileError) {
        let made = path.withCString { path in retrying { calls.makeDirectory(path, permissions) } }
        if made == -EEXIST, try status(of: path)?.isDirectory == true { return }
        try check(made, "make directory", path)
    }

    /// Makes a directory and those on the way to it: down from the deepest that exists, which is found from the end, since
    /// most often only the last is missing.
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
            // From here on ENOENT is an answer: /proc gives it for any name, though /proc is there.
            while let next = missing.popLast() { try makeDirectory(next, permissions) }
        } catch  where error.code == .notDirectory {
            throw error.with(operation: error.operation, path: try file(inTheWayOf: path) ?? error.subject)
        }
    }

    /// The file that stands where a directory of this path should.
    private func file(inTheWayOf path: String) throws(FileError) -> String? {
        var current = path
        while Path.directory(of: current) != current {
            if let status = try status(of: current) { return status.isDirectory ? nil : current }
            current = Path.directory(of: current)
        }
        return nil
    }
}
