/// What a copy did.
public struct FileCopyResult: Sendable, Hashable {
    /// How the bytes went over.
    public enum Method: Sendable, Hashable {
        /// The copy shares the original's blocks until one of them is changed: no bytes were moved. See ioctl_ficlone(2).
        case clone
        /// The kernel, or the file server, moved them. See copy_file_range(2).
        case kernelCopy
        /// They were read and written, some or all. An empty file counts here unless it was cloned.
        case readAndWrite
        /// There were none: a symbolic link with the same target was made.
        case symbolicLink
        /// Nothing was copied: a file was at the destination, and ``FileCopyOptions/existing`` is `.skip`.
        case skipped
    }

    /// The size of the copy in bytes, holes included.
    public var bytes: Int64

    /// How the bytes went over.
    public var method: Method

    /// Makes a result.
    public init(bytes: Int64, method: Method) {
        self.bytes = bytes
        self.method = method
    }
}
