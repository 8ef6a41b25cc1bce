/// How a whole file is read: see `Data.init(asyncContentsOf:options:limit:using:progress:)`.
public struct FileReadOptions: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public var rawValue: Int

    /// Makes a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Maps the file into memory instead of copying it, where that is safe. Otherwise the file is read.
    ///
    ///     let index = try await Data(asyncContentsOf: url, options: .mappedIfSafe)
    ///
    /// It's safe if the file is a regular file that isn't empty, on a file system of this machine: ext4, XFS, Btrfs, F2FS or
    /// tmpfs on Linux, a local volume on Apple platforms. Everything else is read: pipes, devices, the files of /proc and
    /// /sys, files on NFS, SMB or FUSE mounts, where a lost connection would end the process, and files on an overlay, whose
    /// layers may be anywhere.
    ///
    /// - The bytes are read from the device when they are touched, which may block the thread for as long as that takes. To
    ///   read ahead on another thread, use a ``MappedFile`` and ``MappedFile/prefetch(_:)``.
    /// - **Another process that truncates the file ends this one**: touching a byte behind the new end is SIGBUS, as is one
    ///   that the device fails to read. No check can rule that out. Map only files that are never truncated in place. An
    ///   atomic replacement is harmless: the data keeps the old file.
    /// - A file that another process writes to in place changes the data, too.
    ///
    /// Changing the data copies the pages that change. The file stays as it is. The file is unmapped on a thread of the
    /// engine after the last copy of the data is gone. See mmap(2).
    public static let mappedIfSafe = Self(rawValue: 1 << 0)
}
