// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Terminals: <termios.h>, <sys/ttycom.h>, termios(4), tty(4) of macOS.
#if os(macOS)
public typealias tcflag_t = UInt

public let ECHO: Int32 = 0x0000_0008
public let ICANON: Int32 = 0x0000_0100
public let TCSANOW: Int32 = 0
// A computed property in Swift's Darwin module.
public var TIOCGWINSZ: UInt { 0x4008_7468 }
public var TIOCSWINSZ: UInt { 0x8008_7467 }

public struct termios {
    public var c_lflag: tcflag_t

    public init() { fatalError() }
}

public struct winsize {
    public var ws_row: UInt16
    public var ws_col: UInt16
    public var ws_xpixel: UInt16
    public var ws_ypixel: UInt16

    public init() { fatalError() }
    public init(ws_row: UInt16, ws_col: UInt16, ws_xpixel: UInt16, ws_ypixel: UInt16) { fatalError() }
}

@discardableResult public func posix_openpt(_ flags: Int32) -> Int32 { 0 }
@discardableResult public func grantpt(_ descriptor: Int32) -> Int32 { 0 }
@discardableResult public func unlockpt(_ descriptor: Int32) -> Int32 { 0 }
public func ptsname(_ descriptor: Int32) -> UnsafeMutablePointer<CChar>! { nil }
public func ioctl(_ descriptor: Int32, _ request: UInt, _ pointer: UnsafeMutableRawPointer) -> Int32 { 0 }
@discardableResult public func isatty(_ descriptor: Int32) -> Int32 { 0 }
public func tcgetpgrp(_ descriptor: Int32) -> pid_t { 0 }
@discardableResult
public func tcgetattr(_ descriptor: Int32, _ terminal: UnsafeMutablePointer<termios>!) -> Int32 { 0 }
@discardableResult
public func tcsetattr(_ descriptor: Int32, _ when: Int32, _ terminal: UnsafePointer<termios>!) -> Int32 { 0 }
#endif
