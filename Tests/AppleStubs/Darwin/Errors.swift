// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The error numbers that the code uses: <errno.h>, intro(2) of macOS. All systems have had them from the beginning.
public let EPERM: Int32 = 1
public let ENOENT: Int32 = 2
public let ESRCH: Int32 = 3
public let EINTR: Int32 = 4
public let EIO: Int32 = 5
public let ENXIO: Int32 = 6
public let E2BIG: Int32 = 7
public let EBADF: Int32 = 9
public let ECHILD: Int32 = 10
public let EDEADLK: Int32 = 11
public let ENOMEM: Int32 = 12
public let EACCES: Int32 = 13
public let EFAULT: Int32 = 14
public let ENOTBLK: Int32 = 15
public let EBUSY: Int32 = 16
public let EEXIST: Int32 = 17
public let EXDEV: Int32 = 18
public let ENODEV: Int32 = 19
public let ENOTDIR: Int32 = 20
public let EISDIR: Int32 = 21
public let EINVAL: Int32 = 22
public let ENFILE: Int32 = 23
public let EMFILE: Int32 = 24
public let ENOTTY: Int32 = 25
public let ETXTBSY: Int32 = 26
public let EFBIG: Int32 = 27
public let ENOSPC: Int32 = 28
public let ESPIPE: Int32 = 29
public let EROFS: Int32 = 30
public let EMLINK: Int32 = 31
public let EPIPE: Int32 = 32
public let EDOM: Int32 = 33
public let ERANGE: Int32 = 34
public let EAGAIN: Int32 = 35
public let EWOULDBLOCK: Int32 = 35
public let EDESTADDRREQ: Int32 = 39
public let ENOTSUP: Int32 = 45
public let ENETDOWN: Int32 = 50
public let ENETUNREACH: Int32 = 51
public let ECONNABORTED: Int32 = 53
public let ECONNRESET: Int32 = 54
public let ENOBUFS: Int32 = 55
public let ENOTCONN: Int32 = 57
public let ETIMEDOUT: Int32 = 60
public let ECONNREFUSED: Int32 = 61
public let ELOOP: Int32 = 62
public let ENAMETOOLONG: Int32 = 63
public let EHOSTDOWN: Int32 = 64
public let EHOSTUNREACH: Int32 = 65
public let ENOTEMPTY: Int32 = 66
public let EDQUOT: Int32 = 69
public let ESTALE: Int32 = 70
public let ENOLCK: Int32 = 77
public let ENOSYS: Int32 = 78
public let EAUTH: Int32 = 80
public let ENEEDAUTH: Int32 = 81
public let EOVERFLOW: Int32 = 84
public let ECANCELED: Int32 = 89
public let EILSEQ: Int32 = 92
public let ENOATTR: Int32 = 93
public let EBADMSG: Int32 = 94
public let ENODATA: Int32 = 96
public let ENOLINK: Int32 = 97
public let EOPNOTSUPP: Int32 = 102

// A computed property in Swift's Darwin module.
public var errno: Int32 {
    get { 0 }
    set {}
}

public func strerror(_ number: Int32) -> UnsafeMutablePointer<CChar>! { fatalError() }
