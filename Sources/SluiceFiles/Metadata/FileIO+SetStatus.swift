internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Sets the mode of a file or directory; a symbolic link is followed.
    ///
    ///     try await files.setPermissions(0o600, of: secrets)
    ///
    /// A file that must be secret from the beginning gets its mode when it is made: see `openForWriting(permissions:)` and
    /// ``FileWriteOptions/permissions``. See chmod(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``: ``FileError/Code/permissionDenied`` unless the process owns it or is root.
    ///
    /// - Parameters:
    ///   - permissions: The mode; the umask takes nothing away.
    ///   - url: A file URL.
    public func setPermissions(_ permissions: FilePermissions, of url: URL) async throws {
        let path = try Path.of(url, for: "set the mode of")
        try await run { [kernel] _ in
            let result = path.withCString { path in
                kernel.retrying { kernel.calls.metadata.changeMode(path, permissions.rawValue) }
            }
            try kernel.check(result, "set the mode of", path)
        }
    }

    /// Sets when a file was last changed, read, or both.
    ///
    ///     try await files.setTimes(of: copy, modification: status.modificationTime)
    ///     try await files.setTimes(of: stamp, modification: .now, access: .now)
    ///
    /// The file system keeps as many digits as it has room for; compare with what ``status(of:followingLinks:)`` gives
    /// afterwards, not with what was asked for. The change time becomes now. See utimensat(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - modification: The new time; nil leaves it as it is.
    ///   - access: The new time; nil leaves it as it is.
    ///   - followingLinks: Whether a symbolic link counts as what it points to; else the link's own times are set.
    public func setTimes(
        of url: URL, modification: FileTime? = nil, access: FileTime? = nil, followingLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set the times of")
        try await run { [kernel] _ in
            let result = path.withCString { path in
                kernel.retrying { kernel.calls.metadata.setTimes(path, modification, access, followingLinks) }
            }
            try kernel.check(result, "set the times of", path)
        }
    }

    /// Gives a file to another user, another group, or both.
    ///
    ///     try await files.setOwner(of: page, group: 33)
    ///
    /// Only root gives files away; an owner may give a file to another group of theirs. The set-user-ID and set-group-ID
    /// bits of a program are cleared: set the mode afterwards. See chown(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - user: The user's number; nil leaves it as it is.
    ///   - group: The group's number; nil leaves it as it is.
    ///   - followingLinks: Whether a symbolic link counts as what it points to; else the link itself is given away.
    public func setOwner(
        of url: URL, user: UInt32? = nil, group: UInt32? = nil, followingLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set the owner of")
        // chown(2) takes all ones for "as it is". Whoever asks for that number gets an error and not a silent nothing.
        guard user != .max, group != .max else {
            throw FileError(operation: "set the owner of", path: path, systemError: EINVAL)
        }
        try await run { [kernel] _ in
            let result = path.withCString { path in
                kernel.retrying { kernel.calls.metadata.changeOwner(path, user, group, followingLinks) }
            }
            try kernel.check(result, "set the owner of", path)
        }
    }
}
