extension FileError {
    /// The kinds of failure. More may be added: switch with a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words.
        public let description: String

        private init(_ description: String) { self.description = description }
    }
}

extension FileError.Code {
    // MARK: Names

    /// Nothing is at the path, or a directory on the way to it is missing.
    public static let notFound = Self("no such file or directory")
    /// Something is at the path already and was not to be replaced.
    public static let exists = Self("something is there already")
    /// Another file is at the path now, in place of the one that was opened there.
    public static let replaced = Self("another file is there now")
    /// A directory is where a file was expected.
    public static let isDirectory = Self("it is a directory")
    /// A file is where a directory was expected.
    public static let notDirectory = Self("it is not a directory")
    /// The directory still has entries.
    public static let notEmpty = Self("the directory is not empty")
    /// The name or the whole path is longer than the file system allows.
    public static let nameTooLong = Self("the name is too long")
    /// Too many symbolic links, a loop of them, or one where none may be followed.
    public static let tooManyLinks = Self("too many symbolic links")
    /// The URL does not name a file (another scheme, no path, a zero byte), or its bytes are no name on this file system.
    public static let invalidPath = Self("the URL does not name a file")
    /// Source and destination are on different file systems.
    public static let differentFileSystems = Self("source and destination are on different file systems")
    /// Source and destination are one file, under whatever names.
    public static let sameFile = Self("source and destination are the same file")
    /// A device, FIFO or socket is where a regular file was expected; for an open with a lock, a directory too.
    public static let notRegularFile = Self("it is not a regular file")
    /// The file has no extended attribute of that name.
    public static let noAttribute = Self("the file has no such attribute")

    // MARK: Permission

    /// The process may not do that.
    public static let permissionDenied = Self("permission denied")
    /// The file system is mounted read-only.
    public static let readOnly = Self("the file system is read-only")
    /// Another process or stream holds the lock.
    public static let locked = Self("it is locked by another process")
    /// The file is in use as a program, a mount point or by the system.
    public static let busy = Self("it is in use")

    // MARK: Exhaustion

    /// The device is full.
    public static let noSpace = Self("no space left on the device")
    /// The user's quota is used up.
    public static let quotaExceeded = Self("the disk quota is used up")
    /// The process or the system has too many open files.
    public static let tooManyOpenFiles = Self("too many open files")
    /// The system is out of memory, threads or locks.
    public static let exhausted = Self("the system is out of resources")
    /// The file system or a resource limit does not allow a file that large.
    public static let fileTooLarge = Self("the file is too large for the file system")
    /// There is more to read than the caller's `limit`.
    public static let limitExceeded = Self("there is more than the limit")

    // MARK: The rest

    /// The device or the network failed to read or write.
    public static let inputOutput = Self("the device failed")
    /// The task was cancelled when a part of the bytes had been written already; `bytesWritten` says how many.
    public static let cancelled = Self("it was cancelled")
    /// The reader of the pipe has gone.
    public static let brokenPipe = Self("the reader has gone")
    /// The file system has no such operation.
    public static let unsupported = Self("the file system does not support it")
    /// The system refused an argument, among them a descriptor that is not open.
    public static let invalidArgument = Self("an argument was refused")
    /// The `FileIO` was shut down before.
    public static let shutDown = Self("the FileIO was shut down")
    /// An error number without a code of its own: see `systemError`.
    public static let other = Self("the operation failed")
}
