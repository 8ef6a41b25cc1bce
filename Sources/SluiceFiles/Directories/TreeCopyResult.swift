/// What a copy of a tree made. See ``FileIO/copyTree(_:to:options:progress:)``.
public struct TreeCopyResult: Sendable, Hashable {
    /// The regular files, each further name of one included.
    public var files = 0
    /// The directories, the topmost included.
    public var directories = 0
    /// The symbolic links.
    public var symbolicLinks = 0
    /// The FIFOs.
    public var fifos = 0
    /// The sockets and devices that were left out.
    public var skipped = 0
    /// The sizes of all files that were copied, holes included; a further name of one counts nothing.
    public var bytes: Int64 = 0
}
