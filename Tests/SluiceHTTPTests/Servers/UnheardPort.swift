import Foundation

/// A port of 127.0.0.1 that is taken, and refuses connections: its socket is bound and does not listen (tcp(7)).
final class UnheardPort: Sendable {
    let number: UInt16
    private let descriptor: CInt

    init() throws {
        #if os(Linux)
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, address, size) == 0 ? getsockname(descriptor, address, &size) : -1
        }
        number = UInt16(bigEndian: address.sin_port)
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }
}
