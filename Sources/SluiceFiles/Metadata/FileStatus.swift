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

// MARK: - Identity and time

/// The device and inode that identify a file regardless of its name. Stable while the file exists; reused after that.
///
///     if try await files.status(of: a)?.identity == files.status(of: b)?.identity { … }    // two names of one file
public struct FileIdentity: Sendable, Hashable, Codable {
    /// The file system of the file. Stable while it is mounted.
    public var device: UInt64
    /// The file's number within its file system (inode).
    public var inode: UInt64

    /// Creates an identity from the two numbers.
    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    init(_ status: RawStatus) { self.init(device: status.device, inode: status.inode) }
}

/// A point in time with the nanosecond precision of file systems. The conversion to a `Date` rounds to about 100 nanoseconds.
///
///     let status = try await files.status(of: original)!
///     try await files.setTimes(of: copy, modification: status.modificationTime)   // exactly equal
///
/// The precision depends on the file system: nanoseconds on ext4, XFS, Btrfs and APFS, a second on HFS+, two seconds on FAT.
public struct FileTime: Sendable, Hashable {
    /// The number of whole seconds since 1970-01-01 00:00 UTC. Negative before that.
    public let seconds: Int64

    /// The number of nanoseconds after ``seconds``, from 0 to 999,999,999. Also counts forward for times before 1970.
    public let nanoseconds: Int

    /// Creates a time from its two parts.
    ///
    /// - Precondition: `nanoseconds` is from 0 to 999,999,999. Check a number from a file or an archive before you pass it.
    public init(seconds: Int64, nanoseconds: Int = 0) {
        precondition(
            (0..<1_000_000_000).contains(nanoseconds),
            "A FileTime's nanoseconds must be from 0 to 999,999,999; they are \(nanoseconds).")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Creates a time from a date. A date outside the range becomes the earliest or latest time.
    public init(_ date: Date) {
        // Starts from the date's internal value, which counts from 2001: adding the years since 1970 first would round it.
        let interval = date.timeIntervalSinceReferenceDate
        let whole = interval.rounded(.down)
        if let seconds = Int64(exactly: whole),
            case (let sum, false) = seconds.addingReportingOverflow(Self.referenceDate)
        {
            self.init(seconds: sum, nanoseconds: min(Int((interval - whole) * 1e9), 999_999_999))
        } else {
            self.init(seconds: whole < 0 ? .min : .max)
        }
    }

    /// 1970-01-01 00:00 UTC.
    public static let epoch = FileTime(seconds: 0)

    /// The current time of the system's clock.
    public static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: Int(time.tv_nsec))
    }

    /// The time as a `Date`, rounded to about 100 nanoseconds.
    public var date: Date {
        Date(timeIntervalSinceReferenceDate: (Double(seconds) - Double(Self.referenceDate)) + Double(nanoseconds) / 1e9)
    }

    private static var referenceDate: Int64 { 978_307_200 }
}

extension FileTime: Comparable {
    /// Whether the first time is earlier than the second.
    public static func < (first: FileTime, second: FileTime) -> Bool {
        (first.seconds, first.nanoseconds) < (second.seconds, second.nanoseconds)
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
        return try await run { [kernel] _ in
            try kernel.status(of: path, followsLinks: followsLinks).map { FileStatus($0) }
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
                    return try kernel.status(of: path, followsLinks: followsLinks).map { FileStatus($0) }
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
    /// ``status(of:followsLinks:)``, not the ones you passed. The change time becomes the current time. See utimensat(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``.
    public func setTimes(
        of url: URL, modification: FileTime? = nil, access: FileTime? = nil, followsLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set the times of")
        try await run { [kernel] _ in
            let result = path.withCString { path in
                kernel.retrying { kernel.calls.metadata.setTimes(path, modification, access, followsLinks) }
            }
            try kernel.check(result, "set the times of", path)
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
        try await run { [kernel] _ in
            let result = path.withCString { path in
                kernel.retrying { kernel.calls.metadata.changeOwner(path, user, group, followsLinks) }
            }
            try kernel.check(result, "set the owner of", path)
        }
    }
}
