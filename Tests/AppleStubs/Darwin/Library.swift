// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Memory, strings, numbers and facts about the machine: <stdlib.h>, <string.h>, <math.h>, <time.h>, sysctl(3), sysconf(3) of macOS.
public func exp(_ x: Double) -> Double { 0 }

public func malloc(_ count: Int) -> UnsafeMutableRawPointer! { fatalError() }
public func realloc(_ memory: UnsafeMutableRawPointer!, _ count: Int) -> UnsafeMutableRawPointer! { fatalError() }
public func free(_ memory: UnsafeMutableRawPointer!) {}

public func memchr(_ bytes: UnsafeRawPointer!, _ byte: Int32, _ count: Int) -> UnsafeMutableRawPointer! { fatalError() }
public func memcmp(_ bytes: UnsafeRawPointer!, _ others: UnsafeRawPointer!, _ count: Int) -> Int32 { 0 }
public func strlen(_ text: UnsafePointer<CChar>!) -> Int { 0 }
public func strdup(_ text: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { fatalError() }

// A C enumeration.
@available(macOS 10.12, iOS 10.0, tvOS 10.0, watchOS 3.0, *)
public struct clockid_t: RawRepresentable, Equatable, Sendable {
    public var rawValue: UInt32

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

@available(macOS 10.12, iOS 10.0, tvOS 10.0, watchOS 3.0, *)
public typealias clock_t = UInt
public var CLOCKS_PER_SEC: clock_t { 1_000_000 }
public func clock() -> clock_t { 0 }
public var CLOCK_REALTIME: clockid_t { clockid_t(0) }
@available(macOS 10.12, iOS 10.0, tvOS 10.0, watchOS 3.0, *)
@discardableResult
public func clock_gettime(_ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!) -> Int32 { 0 }

@discardableResult public func usleep(_ microseconds: UInt32) -> Int32 { 0 }

public let _SC_PAGESIZE: Int32 = 29
public let _SC_NPROCESSORS_ONLN: Int32 = 58
public func sysconf(_ name: Int32) -> Int { 0 }

@discardableResult
public func sysctlbyname(
    _ name: UnsafePointer<CChar>!, _ old: UnsafeMutableRawPointer!, _ oldSize: UnsafeMutablePointer<Int>!,
    _ new: UnsafeMutableRawPointer!, _ newSize: Int
) -> Int32 { 0 }
public func abort() -> Never { fatalError() }
@discardableResult public func sched_yield() -> Int32 { 0 }

public struct malloc_zone_t {}

public struct malloc_statistics_t {
    public var blocks_in_use: UInt32
    public var size_in_use: Int
    public var max_size_in_use: Int
    public var size_allocated: Int

    public init() { fatalError() }
}

public func malloc_zone_statistics(
    _ zone: UnsafeMutablePointer<malloc_zone_t>!, _ statistics: UnsafeMutablePointer<malloc_statistics_t>!
) {}
