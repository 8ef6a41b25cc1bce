internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The metadata of a file. See ``FileIO/status(of:followsLinks:)`` and statx(2).
public struct FileStatus: Sendable, Hashable {
    /// The kind of a file system entry. Later versions may add cases, so write `@unknown default` in a `switch`.
    public enum Kind: Sendable, Hashable {
        /// A regular file.
        case file
        /// A directory.
        case directory
        /// A symbolic link. Returned only if links aren't followed.
        case symbolicLink
        /// A FIFO, also called a named pipe.
        case fifo
        /// A socket.
        case socket
        /// A character device, such as a terminal or /dev/null.
        case characterDevice
        /// A block device, such as a disk.
        case blockDevice
        /// A kind that this library doesn't know.
        case other
    }

    /// The kind of the file.
    public var kind: Kind

    /// The size in bytes. The sizes of FIFOs, devices and files in /proc and /sys are meaningless.
    public var size: Int64

    /// The number of bytes allocated on the device: less than ``size`` for a file with holes or compression, otherwise slightly
    /// more.
    public var allocatedSize: Int64

    /// The mode bits without the file type.
    public var permissions: FilePermissions

    /// The ID of the user that owns the file.
    public var owner: UInt32

    /// The ID of the group that owns the file.
    public var group: UInt32

    /// The number of hard links (names) of the file. For directories, its meaning depends on the file system.
    public var linkCount: Int

    /// The device and inode, which identify the file regardless of its name.
    public var identity: FileIdentity

    /// The time when the contents were last read. Most systems update it only occasionally (relatime), some never.
    public var accessTime: FileTime

    /// The time when the contents last changed. Programs can set it.
    public var modificationTime: FileTime

    /// The time when the contents or this metadata last changed. Programs can't set it.
    public var changeTime: FileTime

    /// The time when the file was created on this file system, or `nil` if the file system or the kernel doesn't report it.
    public var creationTime: FileTime?

    init(_ status: RawStatus) {
        kind = Kind(status)
        size = status.size
        allocatedSize = status.allocated
        permissions = FilePermissions(rawValue: status.permissions)
        owner = status.user
        group = status.group
        linkCount = Int(status.links)
        identity = FileIdentity(status)
        accessTime = status.accessed
        modificationTime = status.modified
        changeTime = status.changed
        creationTime = status.created
    }
}

extension FileStatus.Kind {
    init(_ status: RawStatus) {
        self =
            switch status.kind {
            case UInt32(S_IFREG): .file
            case UInt32(S_IFDIR): .directory
            case UInt32(S_IFLNK): .symbolicLink
            case UInt32(S_IFIFO): .fifo
            case UInt32(S_IFSOCK): .socket
            case UInt32(S_IFCHR): .characterDevice
            case UInt32(S_IFBLK): .blockDevice
            default: .other
            }
    }
}

// MARK: - Reading

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
    public func status(of url: URL, followsLinks: Bool = true) async throws -> FileStatus? {
        let path = try Path.of(url, for: "read the status of")
        return try await run { [system] _ in
            try system.status(of: path, followsLinks: followsLinks).map { FileStatus($0) }
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
    public func exists(_ url: URL, followsLinks: Bool = true) async throws -> Bool {
        try await status(of: url, followsLinks: followsLinks) != nil
    }

    /// Returns the statuses of many names in one job. It is fastest if names in the same directory are consecutive.
    package func statuses(
        of names: [(directory: URL, name: String)], followsLinks: Bool = true
    ) async throws -> [Result<FileStatus?, FileError>] {
        try await run { [system] _ in
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
                    return try system.status(of: path, followsLinks: followsLinks).map { FileStatus($0) }
                }
            }
        }
    }
}

// MARK: - Setting

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
        try await run { [system] _ in
            let result = path.withCString { path in
                system.retrying { system.calls.metadata.changeMode(path, permissions.rawValue) }
            }
            try system.check(result, "set the mode of", path)
        }
    }

    /// Sets the modification time of a file, its access time, or both. A time that is `nil` stays the same.
    ///
    /// The file system stores the times with its own precision. To compare them later, use the times from
    /// ``status(of:followsLinks:)``, not the ones you passed. The change time becomes the current time. See utimensat(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``.
    public func setTimes(
        of url: URL, modification: FileTime? = nil, access: FileTime? = nil, followsLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set the times of")
        try await run { [system] _ in
            let result = path.withCString { path in
                system.retrying { system.calls.metadata.setTimes(path, modification, access, followsLinks) }
            }
            try system.check(result, "set the times of", path)
        }
    }

    /// Changes the owner of a file, its group, or both. An ID that is `nil` stays the same.
    ///
    /// Only root can change the owner. The owner can change the group to any group that the owner belongs to. The set-user-ID and
    /// set-group-ID bits of a program are cleared, so set the mode afterwards. See chown(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``.
    public func setOwner(
        of url: URL, user: UInt32? = nil, group: UInt32? = nil, followsLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set the owner of")
        // chown(2) takes an ID of all ones as "don't change". So passing that ID throws an error instead of being ignored.
        guard user != .max, group != .max else {
            throw FileError(operation: "set the owner of", path: path, systemError: EINVAL)
        }
        try await run { [system] _ in
            let result = path.withCString { path in
                system.retrying { system.calls.metadata.changeOwner(path, user, group, followsLinks) }
            }
            try system.check(result, "set the owner of", path)
        }
    }
}
