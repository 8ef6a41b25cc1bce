/// The number of entries that a copy of a tree created. See ``FileIO/copyTree(_:to:options:progress:)``.
public struct TreeCopyResult: Sendable, Hashable {
    /// The number of regular files. A hard link counts as a file.
    public var files = 0
    /// The number of directories, including the topmost one.
    public var directories = 0
    /// The number of symbolic links.
    public var symbolicLinks = 0
    /// The number of FIFOs.
    public var fifos = 0
    /// The number of sockets and devices that were left out.
    public var skipped = 0
    /// The size of all files in bytes, including holes. A file with several names is counted once.
    public var bytes: Int64 = 0
}
