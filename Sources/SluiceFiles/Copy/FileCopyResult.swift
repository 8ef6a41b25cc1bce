/// The result of copying a file.
public struct FileCopyResult: Sendable, Hashable {
    /// How the bytes were copied.
    public enum Method: Sendable, Hashable {
        /// The copy shares the original's blocks until one of the files changes. See ioctl_ficlone(2).
        case clone
        /// The kernel or the file server copied the bytes. See copy_file_range(2).
        case kernelCopy
        /// Some or all bytes were read and written, or the file is empty and wasn't cloned.
        case readAndWrite
        /// A symbolic link with the same target was created.
        case symbolicLink
        /// A file exists at the destination, and ``FileCopyOptions/existing`` is `.skip`.
        case skipped
    }

    /// The size of the copy in bytes, holes included.
    public var bytes: Int64

    /// How the bytes were copied.
    public var method: Method

    /// Creates a result.
    public init(bytes: Int64, method: Method) {
        self.bytes = bytes
        self.method = method
    }
}
