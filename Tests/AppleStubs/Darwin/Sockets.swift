// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Sockets: <sys/socket.h>, <netinet/in.h>, <netinet/tcp.h>, socket(2), getsockopt(2), tcp(4) of macOS.
public let AF_INET: Int32 = 2
public let AF_INET6: Int32 = 30

// <arpa/inet.h>, <net/if.h>
public struct in6_addr {
    public init() { fatalError() }
}

public func inet_pton(
    _ family: Int32, _ text: UnsafePointer<CChar>!, _ address: UnsafeMutableRawPointer!
) -> Int32 { 0 }
public func if_nametoindex(_ name: UnsafePointer<CChar>!) -> UInt32 { 0 }

// <sys/un.h>, where the path has 104 bytes.
public struct sockaddr_un {
    public var sun_len: UInt8
    public var sun_family: UInt8
    public var sun_path: (CChar, CChar)

    public init() { fatalError() }
}

#if os(macOS)
public let AF_UNIX: Int32 = 1
public typealias sa_family_t = UInt8
public typealias socklen_t = UInt32
public typealias in_addr_t = UInt32
public typealias in_port_t = UInt16

public let SOCK_STREAM: Int32 = 1
public let SOL_SOCKET: Int32 = 0xffff
public let SO_REUSEADDR: Int32 = 0x0004
public let SO_LINGER: Int32 = 0x0080
public let SO_NOSIGPIPE: Int32 = 0x1022
public let IPPROTO_TCP: Int32 = 6
public let TCP_NODELAY: Int32 = 0x01

public struct sockaddr {
    public init() { fatalError() }
}

public struct in_addr {
    public var s_addr: in_addr_t

    public init() { fatalError() }
    public init(s_addr: in_addr_t) { fatalError() }
}

public struct sockaddr_in {
    public var sin_len: UInt8
    public var sin_family: sa_family_t
    public var sin_port: in_port_t
    public var sin_addr: in_addr

    public init() { fatalError() }
}

public struct sockaddr_storage {
    public init() { fatalError() }
}

// <netdb.h>
public let AI_PASSIVE: Int32 = 0x00000001
public let AI_NUMERICHOST: Int32 = 0x00000004
public let AI_NUMERICSERV: Int32 = 0x00001000

public struct addrinfo {
    public var ai_flags: Int32
    public var ai_family: Int32
    public var ai_socktype: Int32
    public var ai_protocol: Int32
    public var ai_addrlen: socklen_t
    public var ai_canonname: UnsafeMutablePointer<CChar>!
    public var ai_addr: UnsafeMutablePointer<sockaddr>!
    public var ai_next: UnsafeMutablePointer<addrinfo>!

    public init() { fatalError() }
}

public func getaddrinfo(
    _ node: UnsafePointer<CChar>!, _ service: UnsafePointer<CChar>!, _ hints: UnsafePointer<addrinfo>!,
    _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>!
) -> Int32 { 0 }
public func freeaddrinfo(_ list: UnsafeMutablePointer<addrinfo>!) {}

public struct linger {
    public init(l_onoff: Int32, l_linger: Int32) { fatalError() }
}

@discardableResult public func socket(_ domain: Int32, _ type: Int32, _ protocol: Int32) -> Int32 { 0 }
@discardableResult
public func bind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>!, _ size: socklen_t) -> Int32 { 0 }
@discardableResult
public func connect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>!, _ size: socklen_t) -> Int32 { 0 }
public let SHUT_WR: Int32 = 1
@discardableResult public func shutdown(_ descriptor: Int32, _ how: Int32) -> Int32 { 0 }
@discardableResult public func listen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { 0 }
@discardableResult
public func getsockname(
    _ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>!, _ size: UnsafeMutablePointer<socklen_t>!
) -> Int32 { 0 }
@discardableResult
public func setsockopt(
    _ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: UnsafeRawPointer!, _ size: socklen_t
) -> Int32 { 0 }
#endif
