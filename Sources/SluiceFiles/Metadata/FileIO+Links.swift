internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Makes a symbolic link.
    ///
    ///     try await files.makeSymbolicLink(at: directory.appending(path: "latest"), to: "2026-11-21")
    ///
    /// The destination is kept as it is written. It need not exist; a relative one is looked for from the link's directory, not
    /// from the working directory. See symlink(2), symlink(7).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``: ``FileError/Code/exists`` if something is at the path, ``FileError/Code/notFound`` for an
    ///   empty destination.
    ///
    /// - Parameters:
    ///   - url: A file URL, of the link itself.
    ///   - destination: Where it points to: a path, not a URL.
    public func makeSymbolicLink(at url: URL, to destination: String) async throws {
        let path = try Path.of(url, for: "make symbolic link")
        guard !destination.utf8.contains(0) else {
            throw FileError(
                code: .invalidPath, operation: "make symbolic link", path: path,
                remedy: "The destination of a link has no zero byte.")
        }
        try await run { [kernel] _ in try kernel.makeSymbolicLink(to: Array(destination.utf8CString), at: path) }
    }

    /// Where a symbolic link points to, as it is written there.
    ///
    ///     let target = try await files.destination(ofSymbolicLink: directory.appending(path: "latest"))   // "2026-11-21"
    ///
    /// Any length. See readlink(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``: ``FileError/Code/invalidArgument`` if it is no symbolic link,
    ///   ``FileError/Code/invalidPath`` if the destination is not UTF-8. Such a link can be followed and copied all the same.
    public func destination(ofSymbolicLink url: URL) async throws -> String {
        let path = try Path.of(url, for: "read the link")
        return try await run { [kernel] _ in
            do throws(FileError) {
                return try Self.string(kernel.linkTarget(of: path), "read the link", path)
            } catch {
                var error = error
                if error.systemError == EINVAL { error.remedy = "It is no symbolic link: use its path as it is." }
                throw error
            }
        }
    }

    /// Gives a file a second name (hard link).
    ///
    ///     try await files.makeLink(at: newName, to: song)
    ///
    /// Both names are equal; the file is there until the last is removed. It fails if something is at the path, atomically.
    /// See linkat(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``: ``FileError/Code/exists``, ``FileError/Code/differentFileSystems``, or
    ///   ``FileError/Code/permissionDenied`` for a directory, which has no second name.
    ///
    /// - Parameters:
    ///   - url: A file URL, of the new name.
    ///   - existing: A file URL on the same file system.
    ///   - followingLinks: Whether a symbolic link counts as what it points to; else the link itself gets a second name.
    public func makeLink(at url: URL, to existing: URL, followingLinks: Bool = true) async throws {
        let new = try Path.of(url, for: "make link")
        let old = try Path.of(existing, for: "make link to")
        try await run { [kernel] _ in
            let result = old.withCString { old in
                new.withCString { new in
                    kernel.retrying { kernel.calls.metadata.link(old, new, followingLinks) }
                }
            }
            try kernel.check(result, "make link to '\(old)'", new)
        }
    }

    /// The path of a file without symbolic links, `.` and `..`.
    ///
    ///     let home = try await files.resolve(URL(filePath: "/var/../home/./me"))
    ///
    /// Every part of the path exists at that moment. It may change a moment later: do not resolve a path to
    /// find out whether it may be opened. See realpath(3).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``: ``FileError/Code/notFound``, ``FileError/Code/tooManyLinks``;
    ///   ``FileError/Code/invalidPath`` if the path found is not UTF-8.
    public func resolve(_ url: URL) async throws -> URL {
        let path = try Path.of(url, for: "resolve")
        let resolved = try await run { [kernel] _ in try Self.string(kernel.resolved(path), "resolve", path) }
        return URL(filePath: resolved, directoryHint: url.hasDirectoryPath ? .isDirectory : .notDirectory)
    }

    private static func string(
        _ text: [CChar], _ operation: String, _ path: String
    ) throws(FileError) -> String {
        guard let string = String(validating: text.dropLast(), as: UTF8.self) else {
            throw FileError(
                code: .invalidPath, operation: operation, path: path,
                remedy: "What it leads to is not UTF-8 and has no place in a string: open or copy it by this path.")
        }
        return string
    }
}
