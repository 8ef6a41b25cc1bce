// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Threads: <pthread.h>, pthread(3) of macOS.
public struct _opaque_pthread_t {}
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>

public struct pthread_attr_t { public init() {} }
public struct pthread_mutex_t { public init() {} }
public struct pthread_mutexattr_t { public init() {} }
public struct pthread_cond_t { public init() {} }
public struct pthread_condattr_t { public init() {} }

public let PTHREAD_CREATE_DETACHED: Int32 = 2
public let PTHREAD_MUTEX_ERRORCHECK: Int32 = 1

@discardableResult
public func pthread_create(
    _ thread: UnsafeMutablePointer<pthread_t?>!, _ attributes: UnsafePointer<pthread_attr_t>?,
    _ body: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> Int32 { 0 }
@discardableResult
public func pthread_join(_ thread: pthread_t, _ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> Int32 { 0 }
public func pthread_self() -> pthread_t { fatalError() }
@discardableResult public func pthread_kill(_ thread: pthread_t, _ signal: Int32) -> Int32 { 0 }

@discardableResult public func pthread_attr_init(_ attributes: UnsafeMutablePointer<pthread_attr_t>) -> Int32 { 0 }
@discardableResult
public func pthread_attr_setdetachstate(_ attributes: UnsafeMutablePointer<pthread_attr_t>, _ state: Int32) -> Int32 {
    0
}
@discardableResult public func pthread_attr_destroy(_ attributes: UnsafeMutablePointer<pthread_attr_t>) -> Int32 { 0 }
@discardableResult
public func pthread_attr_getstacksize(
    _ attributes: UnsafePointer<pthread_attr_t>, _ size: UnsafeMutablePointer<Int>
) -> Int32 { 0 }
@discardableResult
public func pthread_attr_setstacksize(_ attributes: UnsafeMutablePointer<pthread_attr_t>, _ size: Int) -> Int32 { 0 }

@discardableResult
public func pthread_mutexattr_init(_ attributes: UnsafeMutablePointer<pthread_mutexattr_t>) -> Int32 { 0 }
@discardableResult
public func pthread_mutexattr_destroy(_ attributes: UnsafeMutablePointer<pthread_mutexattr_t>) -> Int32 { 0 }
@discardableResult
public func pthread_mutexattr_settype(_ attributes: UnsafeMutablePointer<pthread_mutexattr_t>, _ type: Int32) -> Int32 {
    0
}
@discardableResult
public func pthread_mutex_init(
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>, _ attributes: UnsafePointer<pthread_mutexattr_t>?
) -> Int32 { 0 }
@discardableResult public func pthread_mutex_destroy(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 { 0 }
@discardableResult public func pthread_mutex_lock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 { 0 }
@discardableResult public func pthread_mutex_unlock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 { 0 }

@discardableResult
public func pthread_cond_init(
    _ condition: UnsafeMutablePointer<pthread_cond_t>, _ attributes: UnsafePointer<pthread_condattr_t>?
) -> Int32 { 0 }
@discardableResult public func pthread_cond_destroy(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 { 0 }
@discardableResult public func pthread_cond_signal(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 { 0 }
@discardableResult public func pthread_cond_broadcast(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 { 0 }
@discardableResult
public func pthread_cond_wait(
    _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>
) -> Int32 { 0 }
