// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Processes, signals and limits: <signal.h>, <spawn.h>, <sys/resource.h>, sigaction(2), posix_spawn(2), getrlimit(2) of macOS. Only macOS
// compiles the code that uses this file.
#if os(macOS)
@_exported public import DarwinStructures

public typealias sigset_t = UInt32
public typealias sig_t = @convention(c) (Int32) -> Void

public let SIGHUP: Int32 = 1
public let SIGINT: Int32 = 2
public let SIGQUIT: Int32 = 3
public let SIGKILL: Int32 = 9
public let SIGPIPE: Int32 = 13
public let SIGTERM: Int32 = 15
public let SIGTSTP: Int32 = 18
public let SIGCONT: Int32 = 19
public let SIGWINCH: Int32 = 28
public let SIG_BLOCK: Int32 = 1
public let SIG_UNBLOCK: Int32 = 2
// Computed properties in Swift's Darwin module.
public var SIG_DFL: sig_t? { nil }
public var SIG_IGN: sig_t { fatalError() }

@discardableResult
public func sigaction(
    _ number: Int32, _ new: UnsafePointer<sigaction>!, _ old: UnsafeMutablePointer<sigaction>!
) -> Int32 { 0 }
@discardableResult
public func signal(
    _ number: Int32, _ handler: (@convention(c) (Int32) -> Void)!
) -> (@convention(c) (Int32) -> Void)! { nil }
@discardableResult public func sigemptyset(_ set: UnsafeMutablePointer<sigset_t>!) -> Int32 { 0 }
@discardableResult public func sigaddset(_ set: UnsafeMutablePointer<sigset_t>!, _ number: Int32) -> Int32 { 0 }
@discardableResult
public func sigwait(_ set: UnsafePointer<sigset_t>!, _ number: UnsafeMutablePointer<Int32>!) -> Int32 { 0 }
@discardableResult
public func pthread_sigmask(
    _ manner: Int32, _ set: UnsafePointer<sigset_t>!, _ old: UnsafeMutablePointer<sigset_t>!
) -> Int32 { 0 }
@discardableResult public func kill(_ process: pid_t, _ signal: Int32) -> Int32 { 0 }
@discardableResult public func pause() -> Int32 { 0 }
public func _exit(_ status: Int32) -> Never { fatalError() }
public func exit(_ status: Int32) -> Never { fatalError() }
@discardableResult public func atexit(_ function: @escaping @convention(c) () -> Void) -> Int32 { 0 }
public func getpgrp() -> pid_t { 0 }
public func getpid() -> pid_t { 0 }
public func geteuid() -> uid_t { 0 }
@discardableResult public func setuid(_ user: uid_t) -> Int32 { 0 }
@discardableResult public func setgid(_ group: gid_t) -> Int32 { 0 }
@discardableResult
public func waitpid(_ process: pid_t, _ status: UnsafeMutablePointer<Int32>!, _ options: Int32) -> pid_t { 0 }

// Opaque pointers.
public typealias posix_spawn_file_actions_t = UnsafeMutableRawPointer
public typealias posix_spawnattr_t = UnsafeMutableRawPointer

public let POSIX_SPAWN_SETSIGDEF: Int32 = 0x0004
public let POSIX_SPAWN_SETSIGMASK: Int32 = 0x0008

@discardableResult
public func posix_spawn(
    _ process: UnsafeMutablePointer<pid_t>!, _ path: UnsafePointer<CChar>!,
    _ actions: UnsafePointer<posix_spawn_file_actions_t?>!, _ attributes: UnsafePointer<posix_spawnattr_t?>!,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>!,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
) -> Int32 { 0 }
@discardableResult
public func posix_spawnp(
    _ process: UnsafeMutablePointer<pid_t>!, _ file: UnsafePointer<CChar>!,
    _ actions: UnsafePointer<posix_spawn_file_actions_t?>!, _ attributes: UnsafePointer<posix_spawnattr_t?>!,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>!,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
) -> Int32 { 0 }
@discardableResult
public func posix_spawn_file_actions_init(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!) -> Int32 { 0 }
@discardableResult
public func posix_spawn_file_actions_destroy(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!
) -> Int32 { 0 }
@discardableResult
public func posix_spawn_file_actions_adddup2(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!, _ descriptor: Int32, _ new: Int32
) -> Int32 { 0 }
@discardableResult
public func posix_spawnattr_init(_ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!) -> Int32 { 0 }
@discardableResult
public func posix_spawnattr_destroy(_ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!) -> Int32 { 0 }
@discardableResult
public func posix_spawnattr_setsigmask(
    _ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!, _ set: UnsafePointer<sigset_t>!
) -> Int32 { 0 }
@discardableResult
public func posix_spawnattr_setsigdefault(
    _ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!, _ set: UnsafePointer<sigset_t>!
) -> Int32 { 0 }
@discardableResult
public func posix_spawnattr_setflags(
    _ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!, _ flags: Int16
) -> Int32 { 0 }

public typealias rlim_t = UInt64
public let RLIMIT_NPROC: Int32 = 7
public let RLIMIT_NOFILE: Int32 = 8

public struct rlimit {
    public var rlim_cur: rlim_t
    public var rlim_max: rlim_t

    public init() { fatalError() }
    public init(rlim_cur: rlim_t, rlim_max: rlim_t) { fatalError() }
}

@discardableResult public func getrlimit(_ resource: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 { 0 }
@discardableResult public func setrlimit(_ resource: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { 0 }
#endif
