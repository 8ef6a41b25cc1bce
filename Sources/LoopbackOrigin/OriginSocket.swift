import CSluiceFiles
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A non-blocking socket of the origin (socket(7)), closed when the last reference is dropped. Waiting for it blocks no thread.
final class OriginSocket: Sendable {
    /// An engine for the origin only, because tests check the statistics of `FileIO.shared`.
    static let files = FileIO(configuration: .init(concurrency: 2))

    let descriptor: CInt

    private let onClose: @Sendable () -> Void

    private init(_ descriptor: CInt, onClose: @escaping @Sendable () -> Void = {}) {
        self.descriptor = descriptor
        self.onClose = onClose
    }

    deinit {
        _ = close(descriptor)
        onClose()
    }

    private static func failed(_ call: String) -> FileError {
        FileError(operation: call, path: "socket of the origin", systemError: errno)
    }

    /// Returns a socket that listens on a port of 127.0.0.1 that the system chooses, and the port.
    static func listening() throws -> (socket: OriginSocket, port: Int) {
        #if os(Linux)
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        #else
        let type = SOCK_STREAM
        #endif
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw failed("create") }
        let made = OriginSocket(descriptor)
        made.prepare()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, address, size) == 0 && listen(descriptor, 1024) == 0
                ? getsockname(descriptor, address, &size) : -1
        }
        guard result == 0 else { throw failed("listen on") }
        return (made, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Waits for the next connection. `onClose` is called when that connection is closed.
    func accepted(onClose: @escaping @Sendable () -> Void) async throws -> OriginSocket {
        while true {
            let descriptor = csluice_accept(self.descriptor)
            if descriptor >= 0 {
                let connection = OriginSocket(descriptor, onClose: onClose)
                connection.prepare()
                // Written bytes are sent immediately (tcp(7)). Tests rely on it.
                connection.set(CInt(IPPROTO_TCP), TCP_NODELAY, CInt(1))
                return connection
            }
            switch -descriptor {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: try await Self.files.waitUntilReady(self.descriptor, .reading, "port of the origin")
            // Too many files are open. No event tells when a connection is closed, so retry soon.
            case EMFILE, ENFILE: try await Task.sleep(for: .milliseconds(20))
            default: throw FileError(operation: "accept from", path: "socket of the origin", systemError: -descriptor)
            }
        }
    }

    /// Sets the options of a new socket that its creating call doesn't take.
    private func prepare() {
        #if !os(Linux)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        set(SOL_SOCKET, SO_NOSIGPIPE, CInt(1))
        #endif
        set(SOL_SOCKET, SO_REUSEADDR, CInt(1))
    }

    private func set<Value>(_ level: CInt, _ option: CInt, _ value: Value) {
        withUnsafeBytes(of: value) { _ = setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count)) }
    }

    /// Makes closing send RST instead of FIN (socket(7)).
    func resetWhenClosed() {
        set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    /// Returns the bytes that have arrived, and waits if there are none. Returns an empty `Data` at the end.
    func read() async throws -> Data {
        try await Self.files.read(upToCount: 64 << 10, descriptor: descriptor, name: "connection of the origin")
    }

    func write(_ bytes: [UInt8]) async throws {
        if bytes.isEmpty { return }
        try await Self.files.write(Data(bytes), descriptor: descriptor, name: "connection of the origin")
    }
}
