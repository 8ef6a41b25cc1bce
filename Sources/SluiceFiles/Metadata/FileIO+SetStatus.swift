internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Sets the mode of a file or directory. A symbolic link is followed. The umask isn't applied.
    ///
    /// To protect a secret file from the start, set its mode when you create it: see `openForWriting(permissions:)` and
    /// ``FileWriteOptions/permissions``. See chmod(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/permissionDenied`` unless the process owns the file or is root.
    public func setPermissions(_ permissions: FilePermissions, of url: URL) async throws {
        let path = try Path.of(url, for: "set the mode of")
        try await run { [kernel] _ in
            let result = path.withCString { path in
                kernel.retrying { kernel.calls.metadata.changeMode(path, permissions.rawValue) }
            }
            try kernel.check(result, "set the mode of", path)
        }
    }

    /// Sets the modification time of a file, its access time, or both. A time that is `nil` stays the same.
    ///
    /// The file system stores the times with its own precision. To compare them later, use the times from
    /// ``status(of:followingLinks:)``, not the ones you passed. The change time becomes the current time. See utimensat(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``.
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

    /// Changes the owner of a file, its group, or both. An ID that is `nil` stays the same.
    ///
    /// Only root can change the owner. The owner can change the group to another one that it belongs to. The set-user-ID and
    /// set-group-ID bits of a program are cleared, so set the mode afterwards. See chown(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``.
    public func setOwner(
        of url: URL, user: UInt32? = nil, group: UInt32? = nil, followingLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set the owner of")
        // chown(2) interprets all ones as "keep". Passing that ID throws an error instead of being ignored.
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
