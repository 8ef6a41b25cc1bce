internal import CSluiceFiles

/// The names, codes and remedies of the system's error numbers.
///
/// Sources: open(2), openat2(2), read(2), pread(2), preadv2(2), write(2), fsync(2), rename(2), link(2), symlink(2), readlink(2),
/// unlink(2), mkdir(2), rmdir(2), stat(2), chmod(2), utimensat(2), truncate(2), fallocate(2), copy_file_range(2), getxattr(2),
/// setxattr(2), inotify(7), flock(2), mmap(2), poll(2), epoll_ctl(2), close(2), quotactl(2), nfs(5), fuse(4) and errno(3).
///
/// Numbers that file operations never return (those of sockets, messages and terminals) become ``FileError/Code/other``.
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
