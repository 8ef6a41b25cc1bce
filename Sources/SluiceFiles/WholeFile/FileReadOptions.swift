/// Options for reading a whole file. See `Data.init(asyncContentsOf:options:maximumSize:using:progress:)`.
public struct FileReadOptions: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public var rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Maps the file into memory if that is safe. Otherwise the file is read.
    ///
    /// Mapping is safe for a regular file that isn't empty and is on a local file system: ext4, XFS, Btrfs, F2FS or tmpfs on
    /// Linux, a local volume on Apple platforms. Everything else is read: pipes, devices, files in /proc and /sys, files on NFS,
    /// SMB or FUSE mounts (a lost connection would end the process), and files on an overlay (its layers may be anywhere).
    ///
    /// The risks are those of a ``MappedFile``. An access may block the thread, and data has no ``MappedFile/prefetch(_:)``. **If another
    /// process truncates the file, this process may crash**, so map only files that are never truncated in place. If another process
    /// writes to the file in place, the data changes. Changing the data doesn't change the file.
    ///
    /// After the last copy of the data is gone, the file is unmapped on a thread of the engine. See mmap(2).
    public static let mappedIfSafe = Self(rawValue: 1 << 0)
}
