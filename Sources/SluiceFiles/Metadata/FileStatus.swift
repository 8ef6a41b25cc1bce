internal import CSluiceFiles

/// The metadata of a file. See ``FileIO/status(of:followingLinks:)`` and statx(2).
public struct FileStatus: Sendable, Hashable {
    /// The kind of a file system entry. Cases may be added: switch with a `default`.
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
