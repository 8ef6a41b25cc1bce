internal import CSluiceFiles

/// What is known about the error numbers of the system: their names, codes and remedies.
///
/// From open(2), read(2), write(2), fsync(2), rename(2), unlink(2), mkdir(2), rmdir(2), link(2), flock(2), close(2) and
/// errno(3).
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

    static let table: [CInt: Entry] = [
        // Names
        ENOENT: Entry("ENOENT", .notFound, "Check the path; create its folder first if that is missing."),
        EEXIST: Entry("EEXIST", .exists, "Choose another name, or remove what is there."),
        EISDIR: Entry("EISDIR", .isDirectory, "Give the path of a file, not of a folder."),
        ENOTDIR: Entry("ENOTDIR", .notDirectory, "A part of the path is a file: choose another folder."),
        ENOTEMPTY: Entry("ENOTEMPTY", .notEmpty, "Empty the folder first, or remove the whole tree."),
        ENAMETOOLONG: Entry("ENAMETOOLONG", .nameTooLong, "Choose a shorter name (most file systems allow 255 bytes)."),
        ELOOP: Entry("ELOOP", .tooManyLinks, "Check the symbolic links along the path."),
        EXDEV: Entry("EXDEV", .differentFileSystems, "Keep both on one file system, or copy and then remove."),
        ENXIO: Entry("ENXIO", .notRegularFile, "Nothing is at the other end of this FIFO, socket or device."),
        ENODEV: Entry("ENODEV", .notRegularFile, "The device behind this path does not exist."),

        // Permission
        EACCES: Entry("EACCES", .permissionDenied, "Check the owner and mode of the file and of its folders."),
        EPERM: Entry("EPERM", .permissionDenied, "Check the owner, attributes (immutable?) and sticky bit."),
        EROFS: Entry("EROFS", .readOnly, "Choose a folder on a writable file system, or remount this one."),
        EWOULDBLOCK: Entry("EWOULDBLOCK", .locked, "Another process is using this file: wait for it or stop it."),
        ETXTBSY: Entry("ETXTBSY", .busy, "The file is a running program: stop it first."),
        EBUSY: Entry("EBUSY", .busy, "It is in use by the system, for example as a mount point."),

        // Exhaustion
        ENOSPC: Entry("ENOSPC", .noSpace, "Free some space on that file system, then try again."),
        EDQUOT: Entry("EDQUOT", .quotaExceeded, "Free some of your space, or ask for a larger quota."),
        EMFILE: Entry("EMFILE", .tooManyOpenFiles, "Open fewer files at once, or raise the limit (ulimit -n)."),
        ENFILE: Entry("ENFILE", .tooManyOpenFiles, "The whole system is out of open files (fs.file-max)."),
        EMLINK: Entry("EMLINK", .exhausted, "The file or folder has as many links as the file system allows."),
        ENOMEM: Entry("ENOMEM", .exhausted, "Free some memory, then try again."),
        ENOLCK: Entry("ENOLCK", .exhausted, "The system or the file server gives no more locks."),
        EFBIG: Entry("EFBIG", .fileTooLarge, "Check ulimit -f and the largest file of that file system."),
        EOVERFLOW: Entry("EOVERFLOW", .fileTooLarge, "The file is too large for this system's interfaces."),

        // The rest
        EIO: Entry("EIO", .inputOutput, "Check the device or the network behind it; see the system log."),
        ESTALE: Entry("ESTALE", .inputOutput, "The file server lost this file: open it again."),
        ETIMEDOUT: Entry("ETIMEDOUT", .inputOutput, "The file server did not answer: try again later."),
        EPIPE: Entry("EPIPE", .brokenPipe, nil),
        EOPNOTSUPP: Entry("EOPNOTSUPP", .unsupported, "Choose a folder on another file system."),
        ENOSYS: Entry("ENOSYS", .unsupported, "This kernel has no such operation."),
        EINVAL: Entry("EINVAL", .invalidArgument, nil),
        EBADF: Entry("EBADF", .invalidArgument, "The descriptor is not open, or not for this direction."),
        EFAULT: Entry("EFAULT", .invalidArgument, nil),
        EINTR: Entry("EINTR", .other, "A signal interrupted it: try again."),
    ]

    /// The system's text and the number's name: `No space left on device (ENOSPC)`.
    static func text(of number: CInt) -> String {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            csluice_error_text(number, buffer.baseAddress, buffer.count)
            return String(cString: buffer.baseAddress!)
        }
        return "\(text) (\(table[number]?.name ?? "errno \(number)"))"
    }
}
