internal import CSluiceFiles

/// The result of statx(2).
package struct RawStatus: Sendable, Hashable {
    package var device: UInt64 = 0
    package var inode: UInt64 = 0
    package var mode: UInt32 = 0
    package var links: UInt32 = 1
    package var user: UInt32 = 0
    package var group: UInt32 = 0
    package var size: Int64 = 0
    /// The number of bytes of its blocks.
    package var allocated: Int64 = 0
    package var accessed = FileTime.epoch
    package var modified = FileTime.epoch
    package var changed = FileTime.epoch
    package var created: FileTime?

    package init() {}

    init(_ status: csluice_status) {
        device = status.device
        inode = status.inode
        mode = status.mode
        links = status.links
        user = status.user
        group = status.group
        size = max(0, status.size)
        allocated = max(0, status.allocated)
        accessed = FileTime(status.accessed)
        modified = FileTime(status.modified)
        changed = FileTime(status.changed)
        created = status.has_created ? FileTime(status.created) : nil
    }

    package func isSameFile(as other: RawStatus) -> Bool {
        device == other.device && inode == other.inode
    }

    package var isDirectory: Bool { kind == UInt32(S_IFDIR) }
    package var isRegularFile: Bool { kind == UInt32(S_IFREG) }
    package var isFIFO: Bool { kind == UInt32(S_IFIFO) }
    package var isSymbolicLink: Bool { kind == UInt32(S_IFLNK) }
    package var permissions: UInt32 { mode & 0o7777 }

    var kind: UInt32 { mode & UInt32(S_IFMT) }
}

extension FileTime {
    init(_ time: csluice_time) { self.init(seconds: time.seconds, clamping: time.nanoseconds) }

    /// Creates a time from numbers of the kernel. A damaged file system reports nanoseconds outside the range.
    package init(seconds: Int64, clamping nanoseconds: Int64) {
        self.init(seconds: seconds, nanoseconds: Int(min(max(0, nanoseconds), 999_999_999)))
    }

    var raw: csluice_time { csluice_time(seconds: seconds, nanoseconds: Int64(nanoseconds)) }
}
