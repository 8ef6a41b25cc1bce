internal import CSluiceFiles

/// What is known about a file without opening it. See statx(2).
///
///     let status = try await files.status(of: url)
///     print(status?.size ?? 0, status?.modificationTime.date ?? .distantPast)
public struct FileStatus: Sendable, Hashable {
    /// What something in a file system can be. More may be added: switch with a `default`.
    public enum Kind: Sendable, Hashable {
        /// A regular file.
        case file
        /// A directory.
        case directory
        /// A symbolic link: only where links are not followed.
        case symbolicLink
        /// A FIFO, also called named pipe.
        case fifo
        /// A socket with a name.
        case socket
        /// A device of characters, such as a terminal or /dev/null.
        case characterDevice
        /// A device of blocks, such as a disk.
        case blockDevice
        /// Something that this library does not know.
        case other
    }

    /// What it is.
    public var kind: Kind

    /// The size in bytes. Files in /proc and /sys, FIFOs and devices tell no true one.
    public var size: Int64

    /// The bytes that it takes on the device: fewer than ``size`` if it has holes or is compressed, else a few more.
    public var allocatedSize: Int64

    /// The mode bits, without those of the kind.
    public var permissions: FilePermissions

    /// The number of the user that owns it.
    public var owner: UInt32

    /// The number of the group that owns it.
    public var group: UInt32

    /// The names that it has: its hard links. What a directory says of its subdirectories differs among file systems.
    public var linkCount: Int

    /// Which file it is, whatever its name.
    public var identity: FileIdentity

    /// When the contents were last read. Most systems note this only now and then (relatime), some never.
    public var accessTime: FileTime

    /// When the contents last changed, unless a program set it.
    public var modificationTime: FileTime

    /// When the contents or anything in this status last changed. No program can set it.
    public var changeTime: FileTime

    /// When the file was made on this file system; nil where that, or the kernel, does not say.
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
