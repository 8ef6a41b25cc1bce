extension FileError {
    /// The kinds of failure. Kinds may be added: switch with a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words.
        public let description: String

        private init(_ description: String) { self.description = description }
    }
}

extension FileError.Code {
    // MARK: Names

    /// No file is at the path, or a directory of the path is missing.
    public static let notFound = Self("it doesn't exist")
    /// A file is already at the path and must not be replaced.
    public static let exists = Self("it exists")
    /// Another file is now at the path instead of the one that was opened.
    public static let replaced = Self("another file has replaced it")
    /// A directory is where a file was expected.
    public static let isDirectory = Self("it is a directory")
    /// A file is where a directory was expected.
    public static let notDirectory = Self("it isn't a directory")
    /// The directory still has entries.
    public static let notEmpty = Self("the directory isn't empty")
    /// The name or the whole path is longer than the file system allows.
    public static let nameTooLong = Self("the name is too long")
    /// The path has too many symbolic links or a loop of them, or a link that isn't followed.
    public static let tooManyLinks = Self("the path has too many symbolic links")
    /// The URL doesn't name a file (another scheme, no path, a zero byte), or the file system doesn't accept its bytes as a name.
    public static let invalidPath = Self("the URL doesn't name a file")
    /// Source and destination are on different file systems.
    public static let differentFileSystems = Self("source and destination are on different file systems")
    /// Source and destination are the same file, possibly under two names.
    public static let sameFile = Self("source and destination are the same file")
    /// A device, FIFO or socket is where a regular file was expected. For an open with a lock, also a directory.
    public static let notRegularFile = Self("it isn't a regular file")
    /// The file has no extended attribute of that name.
    public static let noAttribute = Self("the file has no such attribute")

    // MARK: Permission

    /// The process has no permission for the operation.
    public static let permissionDenied = Self("permission was denied")
    /// The file system is mounted read-only.
    public static let readOnly = Self("the file system is read-only")
    /// Another process or stream holds the lock.
    public static let locked = Self("another process or stream holds the lock")
    /// The file is in use as a running program, as a mount point or by the system.
    public static let busy = Self("it is in use")

    // MARK: Exhaustion

    /// The device is full.
    public static let noSpace = Self("the device has no space left")
    /// The user's quota is used up.
    public static let quotaExceeded = Self("the disk quota is used up")
    /// The process or the system has too many open files.
    public static let tooManyOpenFiles = Self("too many files are open")
    /// The system is out of memory, threads or locks.
    public static let exhausted = Self("the system is out of resources")
    /// The file system or a resource limit doesn't allow a file of that size.
    public static let fileTooLarge = Self("the file is too large for the file system")
    /// The file or directory has more bytes or entries than the caller's `maximumSize` or `maximumCount`.
    public static let limitExceeded = Self("it exceeds the limit")

    // MARK: The rest

    /// The device or the network failed to read or write.
    public static let inputOutput = Self("the device failed")
    /// The task was cancelled after a part of the bytes was written; `bytesWritten` is their number.
    public static let cancelled = Self("it was cancelled")
    /// The reader of the pipe has gone.
    public static let brokenPipe = Self("the reader has closed it")
    /// The file system has no such operation.
    public static let unsupported = Self("the file system doesn't support it")
    /// The system refused an argument, such as a descriptor that isn't open.
    public static let invalidArgument = Self("an argument isn't valid")
    /// The `FileIO` was shut down before the operation.
    public static let shutDown = Self("the FileIO was shut down")
    /// An error number without a separate code: see `systemError`.
    public static let other = Self("the operation failed")
}
