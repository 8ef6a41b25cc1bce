internal import CSluiceFiles

/// What is known about the error numbers of the system: their names, codes and remedies.
///
/// From open(2), openat2(2), read(2), pread(2), preadv2(2), write(2), fsync(2), rename(2), link(2), symlink(2), readlink(2),
/// unlink(2), mkdir(2), rmdir(2), stat(2), chmod(2), utimensat(2), truncate(2), fallocate(2), copy_file_range(2), getxattr(2),
/// setxattr(2), inotify(7), flock(2), mmap(2), poll(2), epoll_ctl(2), close(2), quotactl(2), nfs(5), fuse(4) and errno(3).
///
/// Numbers that files never give (those of sockets, of messages, of terminals) are left to ``FileError/Code/other``: no code
/// is better than one that misleads.
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
        (ENOENT, Entry("ENOENT", .notFound, "Check the path; create its directory first if that is missing.")),
        (EEXIST, Entry("EEXIST", .exists, "Choose another name, or remove what is there.")),
        (EISDIR, Entry("EISDIR", .isDirectory, "Give the path of a file, not of a directory.")),
        (ENOTDIR, Entry("ENOTDIR", .notDirectory, "A part of the path is a file: choose another directory.")),
        (ENOTEMPTY, Entry("ENOTEMPTY", .notEmpty, "Empty the directory first, or remove the whole tree.")),
        (
            ENAMETOOLONG,
            Entry("ENAMETOOLONG", .nameTooLong, "Choose a shorter name (most file systems allow 255 bytes).")
        ),
        (EILSEQ, Entry("EILSEQ", .invalidPath, "This file system does not take these bytes as a name: use UTF-8.")),
        (ELOOP, Entry("ELOOP", .tooManyLinks, "Check the symbolic links along the path.")),
        (EXDEV, Entry("EXDEV", .differentFileSystems, "Keep both on one file system, or copy and then remove.")),
        (ENXIO, Entry("ENXIO", .notRegularFile, "Nothing is at the other end of this FIFO, socket or device.")),
        (ENODEV, Entry("ENODEV", .notRegularFile, "The device behind this path does not exist, or cannot do this.")),
        (ESPIPE, Entry("ESPIPE", .notRegularFile, "A pipe, FIFO, socket or terminal has no positions: use a stream.")),
        (ENOTBLK, Entry("ENOTBLK", .notRegularFile, "Give the path of a block device.")),
        (ENODATA, Entry("ENODATA", .noAttribute, "List the attributes of the file to see which it has.")),
    ]

    private static let permission: [(CInt, Entry)] = [
        (EACCES, Entry("EACCES", .permissionDenied, "Check the owner and mode of the file and of its directories.")),
        (EPERM, Entry("EPERM", .permissionDenied, "Check the owner, attributes (immutable?) and sticky bit.")),
        (EROFS, Entry("EROFS", .readOnly, "Choose a directory on a writable file system, or remount this one.")),
        (EWOULDBLOCK, Entry("EWOULDBLOCK", .locked, "Another process is using this file: wait for it or stop it.")),
        (EDEADLK, Entry("EDEADLK", .locked, "Two processes wait for each other's locks: let one of them go.")),
        (ETXTBSY, Entry("ETXTBSY", .busy, "The file is a running program: stop it first.")),
        (EBUSY, Entry("EBUSY", .busy, "It is in use by the system, for example as a mount point.")),
    ]

    private static let exhaustion: [(CInt, Entry)] = [
        (ENOSPC, Entry("ENOSPC", .noSpace, "Free some space on that file system, then try again.")),
        (EDQUOT, Entry("EDQUOT", .quotaExceeded, "Free some of your space, or ask for a larger quota.")),
        (EMFILE, Entry("EMFILE", .tooManyOpenFiles, "Open fewer files concurrently, or raise the limit (ulimit -n).")),
        (ENFILE, Entry("ENFILE", .tooManyOpenFiles, "The whole system is out of open files (fs.file-max).")),
        (EMLINK, Entry("EMLINK", .exhausted, "The file or directory has as many links as the file system allows.")),
        (ENOMEM, Entry("ENOMEM", .exhausted, "Free some memory, then try again.")),
        (ENOBUFS, Entry("ENOBUFS", .exhausted, "Free some memory, then try again.")),
        (ENOLCK, Entry("ENOLCK", .exhausted, "The system or the file server gives no more locks.")),
        (EFBIG, Entry("EFBIG", .fileTooLarge, "Check ulimit -f and the largest file of that file system.")),
        (EOVERFLOW, Entry("EOVERFLOW", .fileTooLarge, "The file is too large for this system's interfaces.")),
        (E2BIG, Entry("E2BIG", .fileTooLarge, "The value is larger than the file system allows: shorten it.")),
    ]

    private static let devices: [(CInt, Entry)] = [
        (EIO, Entry("EIO", .inputOutput, "Check the device or the network behind it; see the system log.")),
        (ESTALE, Entry("ESTALE", .inputOutput, "The file server lost this file: open it again.")),
        (ETIMEDOUT, Entry("ETIMEDOUT", .inputOutput, "The file server did not answer: try again later.")),
        (
            ENOTCONN,
            Entry("ENOTCONN", .inputOutput, "The program or server behind this directory has gone: mount it again.")
        ),
        (ECONNABORTED, Entry("ECONNABORTED", .inputOutput, "The program or server behind this directory broke off.")),
        (
            ECONNREFUSED,
            Entry("ECONNREFUSED", .inputOutput, "The file server is not running: start it, then try again.")
        ),
        (ECONNRESET, Entry("ECONNRESET", .inputOutput, "The file server broke off: try again later.")),
        (EHOSTDOWN, Entry("EHOSTDOWN", .inputOutput, "The file server is down: try again later.")),
        (EHOSTUNREACH, Entry("EHOSTUNREACH", .inputOutput, "Check the network between here and the file server.")),
        (ENETUNREACH, Entry("ENETUNREACH", .inputOutput, "Check the network between here and the file server.")),
        (ENETDOWN, Entry("ENETDOWN", .inputOutput, "Check the network between here and the file server.")),
        (ENOLINK, Entry("ENOLINK", .inputOutput, "The link to the file server is cut: try again later.")),
        (EPIPE, Entry("EPIPE", .brokenPipe, nil)),
    ]

    private static let calls: [(CInt, Entry)] = [
        (EOPNOTSUPP, Entry("EOPNOTSUPP", .unsupported, "Choose a directory on another file system.")),
        (ENOTSUP, Entry("ENOTSUP", .unsupported, "Choose a directory on another file system.")),
        (ENOSYS, Entry("ENOSYS", .unsupported, "This kernel has no such operation.")),
        (ENOTTY, Entry("ENOTTY", .unsupported, "What is at this path has no such operation.")),
        (EINVAL, Entry("EINVAL", .invalidArgument, nil)),
        (ERANGE, Entry("ERANGE", .invalidArgument, nil)),
        (EDOM, Entry("EDOM", .invalidArgument, nil)),
        (EDESTADDRREQ, Entry("EDESTADDRREQ", .invalidArgument, "Connect the socket first.")),
        (EBADF, Entry("EBADF", .invalidArgument, "The descriptor is not open, or not for this direction.")),
        (EFAULT, Entry("EFAULT", .invalidArgument, nil)),
        (EINTR, Entry("EINTR", .other, "A signal interrupted it: try again.")),
    ]

    #if os(Linux)
    private static let ofPlatform: [(CInt, Entry)] = [
        // What ext4, XFS and Btrfs say of damage that they find.
        (EUCLEAN, Entry("EUCLEAN", .inputOutput, "The file system is damaged: unmount it and run fsck.")),
        (EBADMSG, Entry("EBADMSG", .inputOutput, "The file system is damaged: unmount it and run fsck.")),
        (EREMOTEIO, Entry("EREMOTEIO", .inputOutput, "Check the device behind it; see the system log.")),
        (
            EHWPOISON,
            Entry("EHWPOISON", .inputOutput, "The machine's memory failed under this file; see the system log.")
        ),
        (ENOMEDIUM, Entry("ENOMEDIUM", .inputOutput, "Put the medium into its drive.")),
        (EMEDIUMTYPE, Entry("EMEDIUMTYPE", .inputOutput, "Put a medium of the right kind into the drive.")),
        // fscrypt: the directory is encrypted and its key not there.
        (ENOKEY, Entry("ENOKEY", .permissionDenied, "Unlock the encrypted directory first.")),
        (EKEYEXPIRED, Entry("EKEYEXPIRED", .permissionDenied, "The key for this directory has expired: renew it.")),
        (
            EKEYREVOKED,
            Entry("EKEYREVOKED", .permissionDenied, "The key for this directory was revoked: ask for another.")
        ),
        (EKEYREJECTED, Entry("EKEYREJECTED", .permissionDenied, "The key for this directory was refused: check it.")),
    ]
    #elseif canImport(Darwin)
    private static let ofPlatform: [(CInt, Entry)] = [
        (ENOATTR, Entry("ENOATTR", .noAttribute, "List the attributes of the file to see which it has.")),
        (EBADMSG, Entry("EBADMSG", .inputOutput, "The file system is damaged: repair it with Disk Utility.")),
        (EAUTH, Entry("EAUTH", .permissionDenied, "Log in to the file server again.")),
        (ENEEDAUTH, Entry("ENEEDAUTH", .permissionDenied, "Log in to the file server first.")),
    ]
    #else
    private static let ofPlatform: [(CInt, Entry)] = []
    #endif

    /// The system's text and the number's name: `No space left on device (ENOSPC)`.
    static func text(of number: CInt) -> String {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            csluice_error_text(number, buffer.baseAddress, buffer.count)
            return String(cString: buffer.baseAddress!)
        }
        return "\(text) (\(table[number]?.name ?? "errno \(number)"))"
    }
}
