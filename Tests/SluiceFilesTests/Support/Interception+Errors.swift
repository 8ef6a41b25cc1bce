import Foundation

extension Call {
    /// The error numbers that the call's man page lists, and those that network file systems and quotas add to it.
    ///
    /// Without EFAULT and EBADF for calls on the engine's own memory and descriptors: those would be bugs of the engine.
    var documentedErrors: [CInt] {
        switch self {
        // open(2)
        case .open, .createAt, .openAt:
            [
                EACCES, EBUSY, EDQUOT, EEXIST, EFBIG, EINTR, EINVAL, EISDIR, ELOOP, EMFILE, ENAMETOOLONG, ENFILE,
                ENODEV,
                ENOENT, ENOMEM, ENOSPC, ENOTDIR, ENXIO, EOPNOTSUPP, EOVERFLOW, EPERM, EROFS, ETXTBSY, EWOULDBLOCK, EIO,
                ESTALE, ETIMEDOUT,
            ]
        // close(2)
        case .close: [EINTR, EIO, ENOSPC, EDQUOT]
        // read(2), write(2), writev(2)
        case .read: [EAGAIN, EBADF, EINTR, EINVAL, EIO, EISDIR, ESTALE, ETIMEDOUT, ENOMEM]
        case .write, .writeVector:
            [
                EAGAIN, EBADF, EDESTADDRREQ, EDQUOT, EFBIG, EINTR, EINVAL, EIO, ENOSPC, EPERM, EPIPE, ESTALE, ETIMEDOUT,
                ENOMEM,
            ]
        // poll(2)
        case .waitUntilReady: [EINTR, EINVAL, ENOMEM]
        // ftruncate(2)
        case .truncate: [EACCES, EFBIG, EINTR, EINVAL, EIO, EISDIR, EPERM, EROFS, ETXTBSY, ENOSPC, EDQUOT]
        // fchmod(2)
        case .changeMode: [EACCES, EINTR, EIO, ENOMEM, EPERM, EROFS, EOPNOTSUPP]
        // flock(2); mounts without locks return EOPNOTSUPP or ENOSYS
        case .lock: [EINTR, EINVAL, ENOLCK, EWOULDBLOCK, EOPNOTSUPP, ENOSYS, EIO]
        case .unlock: [EINTR, EIO]
        // fstat(2), stat(2)
        case .statusOfDescriptor: [EIO, ENOMEM, EOVERFLOW, ESTALE]
        case .status, .statusAt: [EACCES, EINTR, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EOVERFLOW, ESTALE]
        // fsync(2), fdatasync(2)
        case .sync, .syncData, .syncDirectory: [EINTR, EIO, EROFS, EINVAL, ENOSPC, EDQUOT]
        // rename(2), renameat2(2)
        case .rename, .renameAt: Self.renameErrors
        case .renameWithoutReplacing, .renameAtWithoutReplacing: Self.renameErrors + [ENOSYS]
        // link(2)
        case .link, .linkAt:
            [
                EACCES, EDQUOT, EEXIST, EINTR, EIO, ELOOP, EMLINK, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR, EPERM,
                EROFS, EXDEV, EOPNOTSUPP,
            ]
        // unlink(2), unlinkat(2), rmdir(2)
        case .unlink:
            [EACCES, EBUSY, EINTR, EIO, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EPERM, EROFS]
        case .unlinkAt:
            [
                EACCES, EBUSY, EINTR, EINVAL, EIO, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, ENOTEMPTY,
                EPERM, EROFS,
            ]
        case .removeDirectory:
            [EACCES, EBUSY, EINTR, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, ENOTEMPTY, EPERM, EROFS]
        // mkdir(2)
        case .makeDirectory, .makeDirectoryAt, .makeFIFOAt:
            [
                EACCES, EDQUOT, EEXIST, EINTR, EINVAL, ELOOP, EMLINK, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR,
                EPERM, EROFS, EIO,
            ]
        // fdopendir(3), readdir(3), getdents(2), and fcntl(2) for the descriptor that it closes
        case .list: [EINTR, EIO, EMFILE, EINVAL, ENOENT, ENOMEM, ENOTDIR]
        // pread(2), pwrite(2), lseek(2), fcntl(2), fallocate(2), posix_fadvise(2)
        case .readAt: [EINTR, EINVAL, EIO, EISDIR, ENXIO, EOVERFLOW, ESPIPE, ESTALE, ETIMEDOUT, ENOMEM]
        case .writeAt:
            [
                EDQUOT, EFBIG, EINTR, EINVAL, EIO, ENOSPC, ENXIO, EOVERFLOW, EPERM, ESPIPE, ESTALE, ETIMEDOUT, ENOMEM,
            ]
        case .seek: [EINVAL, ENXIO, EOVERFLOW, ESPIPE]
        case .preallocate, .punchHole:
            [
                EDQUOT, EFBIG, EINTR, EINVAL, EIO, ENODEV, ENOSPC, ENOSYS, EOPNOTSUPP, EPERM, ESPIPE, ETXTBSY,
            ]
        case .adviseFile: [EINVAL, ESPIPE]
        // mmap(2), munmap(2), madvise(2)
        case .map: [EACCES, EAGAIN, EINVAL, EIO, ENFILE, ENODEV, ENOMEM, EOVERFLOW, EPERM]
        case .unmap: [EINVAL, ENOMEM]
        case .adviseMemory: [EAGAIN, EINVAL, EIO, ENOMEM, EPERM]
        case .populate: [EFAULT, EHWPOISON, EINTR, EINVAL, ENOMEM, ENOSYS]
        // The call has no result.
        case .touch: []
        // openat2(2), preadv2(2), fstatfs(2)
        case .inlineOpen: Self.open.documentedErrors + [EAGAIN, E2BIG, ENOSYS]
        case .inlineRead: Self.read.documentedErrors + [EOPNOTSUPP, ENOSYS]
        case .inlineIsLocal: [EINTR, EIO, ENOMEM, ENOSYS, EOVERFLOW]
        // inotify_init1(2), inotify_add_watch(2)
        case .watchMakeQueue: [EINVAL, EMFILE, ENFILE, ENOMEM, ENOSYS]
        case .watchAdd: [EACCES, EINVAL, EINTR, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR, ELOOP]
        // utimensat(2), fchownat(2)
        case .changeModeAt: [EACCES, EINTR, EIO, ENOENT, ENOTDIR, EOPNOTSUPP, EPERM, EROFS]
        case .setTimesAt, .changeOwnerAt:
            [EACCES, EINTR, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EPERM, EROFS, EDQUOT]
        // symlinkat(2), readlinkat(2)
        case .symbolicLinkAt:
            [EACCES, EDQUOT, EEXIST, EINTR, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR, EPERM, EROFS]
        case .readLinkAt: [EACCES, EINTR, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR]
        // getdents64(2)
        case .readEntries: [EINTR, EIO, EINVAL, ENOENT, ENOTDIR, ESTALE, EACCES, ENOMEM]
        // pthread_create(3)
        case .startThread: [EAGAIN, EINVAL, EPERM, ENOMEM]
        // epoll_create1(2); sandboxes return EPERM or ENOSYS
        case .readinessMakeQueue: [EMFILE, ENFILE, ENOMEM, ENOSYS, EPERM]
        // epoll_ctl(2)
        case .readinessSetInterest: [EBADF, EEXIST, ENOENT, ENOMEM, ENOSPC, EPERM]
        case .readinessRemoveInterest: [EBADF, ENOENT]
        // epoll_wait(2), poll(2)
        case .readinessWaitForEvents: [EINTR, EBADF, EINVAL]
        case .readinessPoll: [EINTR, EINVAL, ENOMEM]
        // eventfd(2), pipe(2)
        case .readinessMakeWakeup: [EMFILE, ENFILE, ENODEV, ENOMEM]
        case .readinessSignal, .readinessClear: [EINTR]
        // read(2), recv(2), preadv2(2)
        case .readinessRead: [EAGAIN, EBADF, ECONNRESET, EINTR, EINVAL, EIO, EOPNOTSUPP, ENOMEM]
        // write(2), send(2), pwritev2(2)
        case .readinessWrite: [EAGAIN, EBADF, ECONNRESET, EINTR, EINVAL, EIO, ENOMEM, EOPNOTSUPP, EPIPE]
        // statx(2), poll(2), fcntl(2)
        case .readinessKind: [EBADF, EIO, ENOMEM]
        case .readinessNow: [EINTR, ENOMEM]
        case .readinessCanBeWaitedFor: []
        case .readinessFlags, .readinessSetFlags: [EBADF, EPERM]
        // open(2) of /proc/self/fd; ENOTSUP if that isn't possible, ENOENT without /proc
        case .readinessReopen: [EACCES, EMFILE, ENFILE, ENOENT, ENOTSUP, ENXIO]
        case _ where rawValue.hasPrefix("copying.") || rawValue.hasPrefix("metadata."): documentedErrorsOfMetadata
        default: []
        }
    }

    private static var renameErrors: [CInt] {
        [
            EACCES, EBUSY, EDQUOT, EEXIST, EINTR, EINVAL, EIO, EISDIR, ELOOP, EMLINK, ENAMETOOLONG, ENOENT, ENOMEM,
            ENOSPC,
            ENOTDIR, ENOTEMPTY, EPERM, EROFS, EXDEV,
        ]
    }
}
