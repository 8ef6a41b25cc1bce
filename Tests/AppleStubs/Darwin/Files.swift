// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Files and memory: <fcntl.h>, <sys/stat.h>, <unistd.h>, <poll.h>, <sys/mman.h>, open(2), fcntl(2), stat(2), mmap(2) of macOS. The variadic
// functions have the signatures of their replacements in Swift's Darwin module.
public typealias mode_t = UInt16
public typealias off_t = Int64
public typealias pid_t = Int32
public typealias dev_t = Int32
public typealias ino_t = UInt64
public typealias ssize_t = Int
public typealias uid_t = UInt32
public typealias gid_t = UInt32

public let STDIN_FILENO: Int32 = 0
public let STDOUT_FILENO: Int32 = 1
public let STDERR_FILENO: Int32 = 2

public let O_RDONLY: Int32 = 0x0000
public let O_WRONLY: Int32 = 0x0001
public let O_RDWR: Int32 = 0x0002
public let O_ACCMODE: Int32 = 0x0003
public let O_NONBLOCK: Int32 = 0x0000_0004
public let O_APPEND: Int32 = 0x0000_0008
public let O_NOFOLLOW: Int32 = 0x0000_0100
public let O_CREAT: Int32 = 0x0000_0200
public let O_TRUNC: Int32 = 0x0000_0400
public let O_EXCL: Int32 = 0x0000_0800
public let O_NOCTTY: Int32 = 0x0002_0000
public let O_DIRECTORY: Int32 = 0x0010_0000
public let O_CLOEXEC: Int32 = 0x0100_0000

public let AT_FDCWD: Int32 = -2
public let AT_REMOVEDIR: Int32 = 0x0080
public let F_GETFD: Int32 = 1
public let F_SETFD: Int32 = 2
public let F_GETFL: Int32 = 3
public let F_SETFL: Int32 = 4
public let FD_CLOEXEC: Int32 = 1
public let LOCK_SH: Int32 = 0x01
public let LOCK_EX: Int32 = 0x02
public let LOCK_NB: Int32 = 0x04
public let LOCK_UN: Int32 = 0x08
public let SEEK_SET: Int32 = 0
public let SEEK_CUR: Int32 = 1
public let SEEK_END: Int32 = 2

// Computed properties in Swift's Darwin module.
public var S_IFMT: mode_t { 0o170000 }
public var S_IFIFO: mode_t { 0o010000 }
public var S_IFCHR: mode_t { 0o020000 }
public var S_IFDIR: mode_t { 0o040000 }
public var S_IFBLK: mode_t { 0o060000 }
public var S_IFREG: mode_t { 0o100000 }
public var S_IFLNK: mode_t { 0o120000 }
public var S_IFSOCK: mode_t { 0o140000 }
public var S_ISUID: mode_t { 0o004000 }
public var S_ISGID: mode_t { 0o002000 }
public var S_ISVTX: mode_t { 0o001000 }

public struct timespec {
    public var tv_sec: Int
    public var tv_nsec: Int

    public init() { fatalError() }
    public init(tv_sec: Int, tv_nsec: Int) { fatalError() }
}

public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { 0 }
public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 { 0 }
public func openat(_ directory: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { 0 }
public func fcntl(_ descriptor: Int32, _ command: Int32) -> Int32 { 0 }
public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32 { 0 }
@discardableResult public func close(_ descriptor: Int32) -> Int32 { 0 }
@discardableResult public func read(_ descriptor: Int32, _ into: UnsafeMutableRawPointer!, _ count: Int) -> Int { 0 }
@discardableResult public func write(_ descriptor: Int32, _ from: UnsafeRawPointer!, _ count: Int) -> Int { 0 }
@discardableResult public func chmod(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { 0 }
@discardableResult public func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { 0 }
@discardableResult public func pipe(_ ends: UnsafeMutablePointer<Int32>!) -> Int32 { 0 }

public struct stat {
    public var st_mode: mode_t

    public init() { fatalError() }
}

@discardableResult public func fstat(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>!) -> Int32 { 0 }

public let POLLIN: Int32 = 0x0001
public let POLLOUT: Int32 = 0x0004

public struct pollfd {
    public init(fd: Int32, events: Int16, revents: Int16) { fatalError() }
}

@discardableResult
public func poll(_ entries: UnsafeMutablePointer<pollfd>!, _ count: UInt32, _ milliseconds: Int32) -> Int32 { 0 }

public let PROT_NONE: Int32 = 0x00
public let MAP_PRIVATE: Int32 = 0x0002
public let MAP_ANON: Int32 = 0x1000
public var MAP_FAILED: UnsafeMutableRawPointer! { fatalError() }

public func mmap(
    _ address: UnsafeMutableRawPointer!, _ count: Int, _ protection: Int32, _ flags: Int32, _ descriptor: Int32,
    _ offset: off_t
) -> UnsafeMutableRawPointer! { fatalError() }
@discardableResult public func munmap(_ address: UnsafeMutableRawPointer!, _ count: Int) -> Int32 { 0 }
