import Foundation
import SluiceFiles

extension Interceptor {
    /// Intercepts all calls that copy within the kernel.
    func wrap(_ calls: inout CopyCalls) {
        wrap(.copyingClone, &calls.clone)
        wrap(.copyingCopyRange, &calls.copyRange)
        wrap(.copyingNextData, &calls.nextData)
        wrap(.copyingNextHole, &calls.nextHole)
    }

    /// Intercepts all calls for times, modes, links and extended attributes.
    func wrap(_ calls: inout MetadataCalls) {
        wrap(.metadataSetTimes, &calls.setTimes)
        wrap(.metadataSetTimesOfDescriptor, &calls.setTimesOfDescriptor)
        wrap(.metadataChangeMode, &calls.changeMode)
        wrap(.metadataChangeOwner, &calls.changeOwner)
        wrap(.metadataChangeOwnerOfDescriptor, &calls.changeOwnerOfDescriptor)
        wrap(.metadataEffectiveUser, &calls.effectiveUser)
        wrap(.metadataSymbolicLink, &calls.symbolicLink)
        wrap(.metadataLink, &calls.link)
        wrap(.metadataReadLink, &calls.readLink)
        wrap(.metadataResolve, &calls.resolve)
        wrap(.metadataListAttributes, &calls.listAttributes)
        wrap(.metadataAttribute, &calls.attribute)
        wrap(.metadataSetAttribute, &calls.setAttribute)
        wrap(.metadataRemoveAttribute, &calls.removeAttribute)
    }
}

extension Call {
    /// The errors of path resolution. See path_resolution(7).
    private static let ofPaths: [CInt] = [
        EACCES, EINTR, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, ESTALE,
    ]

    /// See `documentedErrors`.
    var documentedErrorsOfMetadata: [CInt] {
        switch self {
        // ioctl_ficlone(2), copy_file_range(2)
        case .copyingClone:
            [EBADF, EINTR, EINVAL, EIO, EISDIR, ENOSPC, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM, ETXTBSY, EXDEV]
        case .copyingCopyRange:
            [
                EBADF, EFBIG, EINTR, EINVAL, EIO, EISDIR, ENOMEM, ENOSPC, ENOSYS, EOPNOTSUPP, EOVERFLOW, EPERM, ETXTBSY,
                EXDEV,
            ]
        // lseek(2)
        case .copyingNextData, .copyingNextHole: [EINTR, EINVAL, EIO, EOPNOTSUPP, EOVERFLOW]
        // utimensat(2), chmod(2), chown(2)
        case .metadataSetTimes: Self.ofPaths + [EINVAL, EPERM, EROFS]
        case .metadataSetTimesOfDescriptor: [EACCES, EINTR, EINVAL, EIO, EPERM, EROFS]
        case .metadataChangeMode: Self.ofPaths + [EOPNOTSUPP, EPERM, EROFS]
        case .metadataChangeOwner: Self.ofPaths + [EDQUOT, EINVAL, EPERM, EROFS]
        case .metadataChangeOwnerOfDescriptor: [EDQUOT, EINTR, EINVAL, EIO, EPERM, EROFS]
        // geteuid(2)
        case .metadataEffectiveUser: []
        // symlink(2), linkat(2), readlink(2), realpath(3)
        case .metadataSymbolicLink: Self.ofPaths + [EDQUOT, EEXIST, ENOSPC, EPERM, EROFS]
        case .metadataLink: Self.ofPaths + [EDQUOT, EEXIST, EMLINK, ENOSPC, EOPNOTSUPP, EPERM, EROFS, EXDEV]
        case .metadataReadLink: Self.ofPaths + [EINVAL]
        case .metadataResolve: Self.ofPaths + [EINVAL]
        // listxattr(2), getxattr(2), setxattr(2), removexattr(2)
        case .metadataListAttributes: Self.ofPaths + [E2BIG, EOPNOTSUPP, EPERM]
        case .metadataAttribute: Self.ofPaths + [E2BIG, ENODATA, EOPNOTSUPP, EPERM]
        case .metadataSetAttribute:
            Self.ofPaths + [E2BIG, EDQUOT, EEXIST, EINVAL, ENODATA, ENOSPC, EOPNOTSUPP, EPERM, ERANGE, EROFS]
        case .metadataRemoveAttribute: Self.ofPaths + [EINVAL, ENODATA, EOPNOTSUPP, EPERM, ERANGE, EROFS]
        default: []
        }
    }
}
