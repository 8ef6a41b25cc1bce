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
        /// There were none: a symbolic link was made anew.
        case symbolicLink
    }

    /// The size of the copy in bytes, holes included.
    public var bytes: Int

    /// How the bytes went over.
    public var method: Method

    /// Makes a result.
    public init(bytes: Int, method: Method) {
        self.bytes = bytes
        self.method = method
    }
}
