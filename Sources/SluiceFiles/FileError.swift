internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The error of a failed file operation: the operation, the path, the system's error, and a remedy.
///
///     do {
///         try await data.asyncWrite(to: url)
///     } catch let error as FileError where error.code == .noSpace {
///         print(error)   // Couldn't write '/data/song.mp3': No space left on device (ENOSPC). Free some space …
///     }
///
/// A cancelled operation throws `CancellationError`, with one exception: a cancelled write to a pipe, terminal or socket that wrote some of
/// its bytes throws a `FileError` with code ``Code/cancelled``. Its ``bytesWritten`` counts those bytes.
///
/// Comparing and hashing ignore ``cause``.
public struct FileError: Error, Sendable {
    /// The kind of failure.
    public var code: Code

    /// The path, or the name that the caller gave for a descriptor.
    public var subject: String

    /// What happened: one sentence that includes the subject.
    public var message: String

    /// What to do: one sentence, or `nil` if there is no advice.
    public var remedy: String?

    /// The underlying error from another layer.
    public var cause: (any Error)?

    /// The operation as a verb phrase: `open`, `write`, `sync`, `copy '/music/song.mp3' to`. Empty if the error was created with
    /// its own message.
    public let operation: String

    /// The system's error number (errno), or 0 if the error comes from this library (a limit, an invalid URL).
    public let systemError: CInt

    /// The number of bytes that a write had written when it failed.
    public let bytesWritten: Int

    /// Creates an error with the given texts.
    public init(
        _ code: Code, subject: String, message: String, remedy: String? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.subject = subject
        self.message = message
        self.remedy = remedy
        self.cause = cause
        operation = ""
        systemError = 0
        bytesWritten = 0
    }

    /// Creates the error for an operation. The code and the remedy are derived from the error number unless they are given.
    package init(
        code: Code? = nil, operation: String, path: String, systemError: CInt = 0, remedy: String? = nil,
        bytesWritten: Int = 0
    ) {
        let known = ErrorNumber.table[systemError]
        let code = code ?? known?.code ?? .other
        let reason = systemError == 0 ? code.words : ErrorNumber.text(of: systemError)
        let progress = bytesWritten > 0 ? " after \(bytesWritten) bytes" : ""
        self.code = code
        self.operation = operation
        self.systemError = systemError
        self.bytesWritten = bytesWritten
        self.remedy = remedy ?? known?.remedy
        subject = path
        message = "Couldn't \(operation) '\(path)': \(reason)\(progress)."
    }

    package func with(operation: String, path: String) -> FileError {
        var error = FileError(
            code: code, operation: operation, path: path, systemError: systemError, remedy: remedy,
            bytesWritten: bytesWritten)
        error.cause = cause
        return error
    }
}

extension FileError: CustomStringConvertible {
    /// The message and the remedy, in one line.
    public var description: String { "\(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension FileError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// The message.
    public var failureReason: String? { message }

    /// The remedy.
    public var recoverySuggestion: String? { remedy }
}

extension FileError: Hashable {
    /// Returns whether two errors are equal apart from their causes.
    public static func == (one: FileError, other: FileError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy && one.operation == other.operation && one.systemError == other.systemError
            && one.bytesWritten == other.bytesWritten
    }

    /// Hashes some of the properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(remedy)
        hasher.combine(systemError)
    }
}

// MARK: - Codes

extension FileError {
    /// The kinds of failure. Later versions may add kinds, so write a `default` in a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, such as `notFound`.
        public let description: String
        /// What is wrong, in words.
        fileprivate let words: String

        private init(_ name: String, _ words: String) { (description, self.words) = (name, words) }
    }
}

extension FileError.Code {
    // MARK: Names

    /// No file is at the path, or a directory of the path is missing.
    public static let notFound = Self("notFound", "it doesn't exist")
    /// A file is already at the path and must not be replaced.
    public static let exists = Self("exists", "it exists")
    /// Another file is now at the path instead of the one that was opened.
    public static let replaced = Self("replaced", "another file has replaced it")
    /// A directory is where a file was expected.
    public static let isDirectory = Self("isDirectory", "it is a directory")
    /// A file is where a directory was expected.
    public static let notDirectory = Self("notDirectory", "it isn't a directory")
    /// The directory still has entries.
    public static let notEmpty = Self("notEmpty", "the directory isn't empty")
    /// The name or the whole path is longer than the file system allows.
    public static let nameTooLong = Self("nameTooLong", "the name is too long")
    /// The path has too many symbolic links or a loop of them, or a link that isn't followed.
    public static let tooManyLinks = Self("tooManyLinks", "the path has too many symbolic links")
    /// The URL doesn't name a file (another scheme, no path, a zero byte), or the file system doesn't accept its bytes as a name.
    public static let invalidPath = Self("invalidPath", "the URL doesn't name a file")
    /// Source and destination are on different file systems.
    public static let differentFileSystems = Self(
        "differentFileSystems", "source and destination are on different file systems")
    /// Source and destination are the same file, possibly under two names.
    public static let sameFile = Self("sameFile", "source and destination are the same file")
    /// A device, FIFO or socket is where a regular file was expected. When opening with a lock, also a directory.
    public static let notRegularFile = Self("notRegularFile", "it isn't a regular file")
    /// The file has no extended attribute of that name.
    public static let noAttribute = Self("noAttribute", "the file has no such attribute")

    // MARK: Permission

    /// The process isn't allowed to perform the operation.
    public static let permissionDenied = Self("permissionDenied", "permission was denied")
    /// The file system is mounted read-only.
    public static let readOnly = Self("readOnly", "the file system is read-only")
    /// Another process or stream holds the lock.
    public static let locked = Self("locked", "another process or stream holds the lock")
    /// The file is in use as a running program, as a mount point or by the system.
    public static let busy = Self("busy", "it is in use")

    // MARK: Exhaustion

    /// The device is full.
    public static let noSpace = Self("noSpace", "the device has no space left")
    /// The user's quota is used up.
    public static let quotaExceeded = Self("quotaExceeded", "the disk quota is used up")
    /// The process or the system has too many open files.
    public static let tooManyOpenFiles = Self("tooManyOpenFiles", "too many files are open")
    /// The system is out of memory, threads or locks.
    public static let exhausted = Self("exhausted", "the system is out of resources")
    /// The file system or a resource limit doesn't allow a file of that size.
    public static let fileTooLarge = Self("fileTooLarge", "the file is too large for the file system")
    /// The file or directory has more bytes or entries than the caller's `maximumSize` or `maximumCount`.
    public static let limitExceeded = Self("limitExceeded", "it exceeds the limit")

    // MARK: The rest

    /// The device or the network failed to read or write.
    public static let inputOutput = Self("inputOutput", "the device failed")
    /// The task was cancelled after some of the bytes were written; `bytesWritten` counts them.
    public static let cancelled = Self("cancelled", "it was cancelled")
    /// The pipe's reader is gone.
    public static let brokenPipe = Self("brokenPipe", "the reader has closed it")
    /// The file system has no such operation.
    public static let unsupported = Self("unsupported", "the file system doesn't support it")
    /// The system refused an argument, such as a descriptor that isn't open.
    public static let invalidArgument = Self("invalidArgument", "an argument isn't valid")
    /// The `FileIO` was shut down before the operation.
    public static let shutDown = Self("shutDown", "the FileIO was shut down")
    /// An error number without a separate code: see `systemError`.
    public static let other = Self("other", "the operation failed")
}

// MARK: - Error numbers

/// The names, codes and remedies of the system's error numbers.
///
/// Sources: open(2), openat2(2), read(2), pread(2), preadv2(2), write(2), fsync(2), rename(2), link(2), symlink(2), readlink(2),
/// unlink(2), mkdir(2), rmdir(2), stat(2), chmod(2), utimensat(2), truncate(2), fallocate(2), copy_file_range(2), getxattr(2),
/// setxattr(2), inotify(7), flock(2), mmap(2), poll(2), epoll_ctl(2), close(2), quotactl(2), nfs(5), fuse(4) and errno(3).
///
/// Numbers that file operations never return (the ones for sockets, messages and terminals) become ``FileError/Code/other``.
enum ErrorNumber {
    struct Entry {
        var name: String
        var code: FileError.Code
        var remedy: String?

        init(_ name: String, _ code: FileError.Code, _ remedy: String? = nil) {
            self.name = name
            self.code = code
            self.remedy = remedy
        }
    }

    static let table = [CInt: Entry](
        names + permission + exhaustion + devices + calls + ofPlatform, uniquingKeysWith: { first, _ in first })

    private static let names: [(CInt, Entry)] = [
        (ENOENT, Entry("ENOENT", .notFound, "Check that the file and its directory exist.")),
        (EEXIST, Entry("EEXIST", .exists, "Choose another name, or remove the existing one.")),
        (EISDIR, Entry("EISDIR", .isDirectory, "Give the path of a file, not of a directory.")),
        (ENOTDIR, Entry("ENOTDIR", .notDirectory, "Choose another directory, because a part of the path is a file.")),
        (ENOTEMPTY, Entry("ENOTEMPTY", .notEmpty, "Empty the directory first, or remove the whole tree.")),
        (
            ENAMETOOLONG,
            Entry("ENAMETOOLONG", .nameTooLong, "Choose a shorter name (most file systems allow 255 bytes).")
        ),
        (
            EILSEQ,
            Entry("EILSEQ", .invalidPath, "Use a name in UTF-8, because the file system doesn't accept other names.")
        ),
        (ELOOP, Entry("ELOOP", .tooManyLinks, "Check the symbolic links along the path.")),
        (EXDEV, Entry("EXDEV", .differentFileSystems, "Keep both on one file system, or copy the file instead.")),
        (ENXIO, Entry("ENXIO", .notRegularFile, "Open the other end of this FIFO, socket or device first.")),
        (ENODEV, Entry("ENODEV", .notRegularFile, "Check that the device exists and supports this operation.")),
        (
            ESPIPE,
            Entry("ESPIPE", .notRegularFile, "Use a stream, because pipes, sockets and terminals have no offsets.")
        ),
        (ENOTBLK, Entry("ENOTBLK", .notRegularFile, "Give the path of a block device.")),
        (ENODATA, Entry("ENODATA", .noAttribute, "List the attributes of the file to see which it has.")),
    ]

    private static let permission: [(CInt, Entry)] = [
        (EACCES, Entry("EACCES", .permissionDenied, "Check the owner and mode of the file and of its directories.")),
        (EPERM, Entry("EPERM", .permissionDenied, "Check the owner, the sticky bit and the immutable attribute.")),
        (EROFS, Entry("EROFS", .readOnly, "Choose a directory on a writable file system, or remount this one.")),
        (
            EWOULDBLOCK,
            Entry("EWOULDBLOCK", .locked, "Wait until the process that uses this file has finished, or stop it.")
        ),
        (EDEADLK, Entry("EDEADLK", .locked, "Release one of the locks, because two processes wait for each other.")),
        (ETXTBSY, Entry("ETXTBSY", .busy, "Stop the program that runs from this file first.")),
        (EBUSY, Entry("EBUSY", .busy, "Release it first, because the system uses it, for example as a mount point.")),
    ]

    private static let exhaustion: [(CInt, Entry)] = [
        (ENOSPC, Entry("ENOSPC", .noSpace, "Free some space on that file system, then try again.")),
        (EDQUOT, Entry("EDQUOT", .quotaExceeded, "Free some of your space, or ask for a larger quota.")),
        (EMFILE, Entry("EMFILE", .tooManyOpenFiles, "Open fewer files concurrently, or raise the limit (ulimit -n).")),
        (ENFILE, Entry("ENFILE", .tooManyOpenFiles, "Close other files, or raise the system's limit (fs.file-max).")),
        (EMLINK, Entry("EMLINK", .exhausted, "Remove some of its links, because the file system allows no more.")),
        (ENOMEM, Entry("ENOMEM", .exhausted, "Free some memory, then try again.")),
        (ENOBUFS, Entry("ENOBUFS", .exhausted, "Free some memory, then try again.")),
        (
            ENOLCK,
            Entry("ENOLCK", .exhausted, "Release some locks, because the system or the file server allows no more.")
        ),
        (EFBIG, Entry("EFBIG", .fileTooLarge, "Check ulimit -f and the file system's maximum file size.")),
        (
            EOVERFLOW,
            Entry("EOVERFLOW", .fileTooLarge, "Use a smaller file, because this system can't handle its size.")
        ),
        (E2BIG, Entry("E2BIG", .fileTooLarge, "Shorten the value, because the file system doesn't allow its size.")),
    ]

    private static let devices: [(CInt, Entry)] = [
        (EIO, Entry("EIO", .inputOutput, "Check the device or the network behind it, and read the system log.")),
        (ESTALE, Entry("ESTALE", .inputOutput, "Open the file again, because the file server lost it.")),
        (ETIMEDOUT, Entry("ETIMEDOUT", .inputOutput, "Try again later, because the file server didn't answer.")),
        (
            ENOTCONN,
            Entry(
                "ENOTCONN", .inputOutput,
                "Mount this directory again, because the program or server behind it has ended.")
        ),
        (
            ECONNABORTED,
            Entry("ECONNABORTED", .inputOutput, "Mount this directory again, because the program behind it has ended.")
        ),
        (
            ECONNREFUSED,
            Entry("ECONNREFUSED", .inputOutput, "Start the file server, then try again.")
        ),
        (
            ECONNRESET,
            Entry("ECONNRESET", .inputOutput, "Try again later, because the file server closed the connection.")
        ),
        (EHOSTDOWN, Entry("EHOSTDOWN", .inputOutput, "Try again later, because the file server is down.")),
        (EHOSTUNREACH, Entry("EHOSTUNREACH", .inputOutput, "Check the network between here and the file server.")),
        (ENETUNREACH, Entry("ENETUNREACH", .inputOutput, "Check the network between here and the file server.")),
        (ENETDOWN, Entry("ENETDOWN", .inputOutput, "Check the network between here and the file server.")),
        (ENOLINK, Entry("ENOLINK", .inputOutput, "Try again later, because the link to the file server is cut.")),
        (EPIPE, Entry("EPIPE", .brokenPipe, nil)),
    ]

    private static let calls: [(CInt, Entry)] = [
        (EOPNOTSUPP, Entry("EOPNOTSUPP", .unsupported, "Choose a directory on another file system.")),
        (ENOTSUP, Entry("ENOTSUP", .unsupported, "Choose a directory on another file system.")),
        (ENOSYS, Entry("ENOSYS", .unsupported, "Update the kernel, or allow the system call in its filter.")),
        (
            ENOTTY,
            Entry("ENOTTY", .unsupported, "Choose another path, because this file doesn't support the operation.")
        ),
        (EINVAL, Entry("EINVAL", .invalidArgument, nil)),
        (ERANGE, Entry("ERANGE", .invalidArgument, nil)),
        (EDOM, Entry("EDOM", .invalidArgument, nil)),
        (EDESTADDRREQ, Entry("EDESTADDRREQ", .invalidArgument, "Connect the socket first.")),
        (EBADF, Entry("EBADF", .invalidArgument, "Pass a descriptor that is open for this direction.")),
        (EFAULT, Entry("EFAULT", .invalidArgument, nil)),
        (EINTR, Entry("EINTR", .other, "Try again, because a signal interrupted the operation.")),
    ]

    #if os(Linux)
    private static let ofPlatform: [(CInt, Entry)] = [
        // ext4, XFS and Btrfs report damage with these two.
        (EUCLEAN, Entry("EUCLEAN", .inputOutput, "Unmount the damaged file system and run fsck.")),
        (EBADMSG, Entry("EBADMSG", .inputOutput, "Unmount the damaged file system and run fsck.")),
        (EREMOTEIO, Entry("EREMOTEIO", .inputOutput, "Check the device behind it, and read the system log.")),
        (
            EHWPOISON,
            Entry(
                "EHWPOISON", .inputOutput, "Read the system log, because the machine's memory failed under this file.")
        ),
        (ENOMEDIUM, Entry("ENOMEDIUM", .inputOutput, "Put the medium into its drive.")),
        (EMEDIUMTYPE, Entry("EMEDIUMTYPE", .inputOutput, "Put a medium of the right kind into the drive.")),
        // fscrypt: the directory is encrypted, and its key is missing.
        (ENOKEY, Entry("ENOKEY", .permissionDenied, "Unlock the encrypted directory first.")),
        (EKEYEXPIRED, Entry("EKEYEXPIRED", .permissionDenied, "Renew the key for this directory, which has expired.")),
        (
            EKEYREVOKED,
            Entry(
                "EKEYREVOKED", .permissionDenied, "Ask for another key for this directory, because its key was revoked."
            )
        ),
        (
            EKEYREJECTED,
            Entry("EKEYREJECTED", .permissionDenied, "Check the key for this directory, which was refused.")
        ),
    ]
    #elseif canImport(Darwin)
    private static let ofPlatform: [(CInt, Entry)] = [
        (ENOATTR, Entry("ENOATTR", .noAttribute, "List the attributes of the file to see which it has.")),
        (EBADMSG, Entry("EBADMSG", .inputOutput, "Repair the damaged file system with Disk Utility.")),
        (EAUTH, Entry("EAUTH", .permissionDenied, "Log in to the file server again.")),
        (ENEEDAUTH, Entry("ENEEDAUTH", .permissionDenied, "Log in to the file server first.")),
    ]
    #else
    private static let ofPlatform: [(CInt, Entry)] = []
    #endif

    static func text(of number: CInt) -> String {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            csluice_error_text(number, buffer.baseAddress, buffer.count)
            return String(cString: buffer.baseAddress!)
        }
        return "\(text) (\(table[number]?.name ?? "errno \(number)"))"
    }
}
