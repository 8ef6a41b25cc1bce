import CSluiceFiles
package import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A non-blocking socket of a server (socket(7)), closed when the last reference is dropped. Waiting for it blocks no thread.
package final class ServerSocket: Sendable {
    private let descriptor: CInt
    private let files: FileIO
    private let onClose: @Sendable () -> Void

    private init(_ descriptor: CInt, using files: FileIO, onClose: @escaping @Sendable () -> Void = {}) {
        self.descriptor = descriptor
        self.files = files
        self.onClose = onClose
    }

    deinit {
        _ = close(descriptor)
        onClose()
    }

    private static func failed(_ call: String, _ address: ServerAddress) -> FileError {
        FileError(operation: call, path: address.description, systemError: errno)
    }

    // MARK: Listening

    /// Returns a socket that listens, and its address with the port that the system chose.
    ///
    /// A Unix socket that no server listens on any longer is replaced. Its file is for its owner and group only.
    ///
    /// - Throws: `FileError`, for example if another server has the address.
    package static func listening(
        on address: ServerAddress, using files: FileIO
    ) async throws -> (socket: ServerSocket, address: ServerAddress) {
        switch address {
        case .ip(let host, let port):
            var hints = addrinfo()
            hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
            var found: UnsafeMutablePointer<addrinfo>?
            // A numeric address isn't looked up.
            guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let found else { throw failed("read", address) }
            defer { freeaddrinfo(found) }
            let socket = try listening(
                address, family: found.pointee.ai_family, found.pointee.ai_addr, found.pointee.ai_addrlen, files)
            return (socket, .ip(host, port: try socket.port(address)))
        case .unixSocket(let url):
            let path = url.path(percentEncoded: false)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            let room = MemoryLayout.size(ofValue: name.sun_path)
            guard path.utf8.count < room else {
                throw FileError(
                    code: .nameTooLong, operation: "listen on", path: path,
                    remedy: "Choose a path with less than \(room) bytes.")
            }
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
            // Linux refuses connections to files that aren't sockets, too, so a refusal isn't enough.
            let isSocket = try await files.status(of: url, followsLinks: false)?.kind == .socket
            let socket = try withUnsafeBytes(of: &name) { bytes in
                let size = socklen_t(bytes.count)
                return try bytes.withMemoryRebound(to: sockaddr.self) { name in
                    if isSocket, isAbandoned(name.baseAddress!, size) { _ = unlink(path) }
                    return try listening(address, family: AF_UNIX, name.baseAddress!, size, files) {
                        chmod(path, 0o660) == 0
                    }
                }
            }
            return (socket, address)
        }
    }

    private static func listening(
        _ address: ServerAddress, family: CInt, _ name: UnsafePointer<sockaddr>, _ size: socklen_t, _ files: FileIO,
        afterBinding: () -> Bool = { true }
    ) throws -> ServerSocket {
        let descriptor = socket(family, streamType, 0)
        guard descriptor >= 0 else { throw failed("create a socket for", address) }
        let made = ServerSocket(descriptor, using: files)
        made.prepare()
        if family != AF_UNIX { made.set(SOL_SOCKET, SO_REUSEADDR, CInt(1)) }
        guard bind(descriptor, name, size) == 0, afterBinding(), listen(descriptor, 1024) == 0 else {
            throw failed("listen on", address)
        }
        return made
    }

    /// Whether there is a Unix socket that refuses connections, because its server has ended.
    private static func isAbandoned(_ name: UnsafePointer<sockaddr>, _ size: socklen_t) -> Bool {
        let descriptor = socket(AF_UNIX, streamType, 0)
        guard descriptor >= 0 else { return false }
        defer { _ = close(descriptor) }
        return connect(descriptor, name, size) != 0 && errno == ECONNREFUSED
    }

    #if os(Linux)
    private static let streamType = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    #else
    private static let streamType = SOCK_STREAM
    #endif

    private func port(_ address: ServerAddress) throws -> Int {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return try withUnsafeMutableBytes(of: &storage) { bytes in
            let name = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard getsockname(descriptor, name, &size) == 0 else { throw Self.failed("read", address) }
            // At the same place in addresses of both versions of IP.
            return Int(bytes[2]) << 8 | Int(bytes[3])
        }
    }

    /// Waits for the next connection. `onClose` is called when that connection is closed.
    package func accepted(onClose: @escaping @Sendable () -> Void) async throws -> ServerSocket {
        while true {
            let descriptor = csluice_accept(self.descriptor)
            if descriptor >= 0 {
                let connection = ServerSocket(descriptor, using: files, onClose: onClose)
                connection.prepare()
                // Written bytes are sent immediately (tcp(7)). Tests rely on it.
                connection.set(CInt(IPPROTO_TCP), TCP_NODELAY, CInt(1))
                return connection
            }
            switch -descriptor {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: try await files.waitUntilReady(self.descriptor, .reading, "port of the server")
            // Too many files are open. No event tells when a connection is closed, so retry soon.
            case EMFILE, ENFILE: try await Task.sleep(for: .milliseconds(20))
            default: throw FileError(operation: "accept from", path: "port of the server", systemError: -descriptor)
            }
        }
    }

    // MARK: Options

    /// Sets the options of a new socket that its creating call doesn't take.
    private func prepare() {
        #if !os(Linux)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        set(SOL_SOCKET, SO_NOSIGPIPE, CInt(1))
        #endif
    }

    private func set<Value>(_ level: CInt, _ option: CInt, _ value: Value) {
        withUnsafeBytes(of: value) { _ = setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count)) }
    }

    /// Makes closing send RST instead of FIN (socket(7)).
    package func resetWhenClosed() {
        set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    /// Tells the client that no more bytes follow. It may still send some.
    package func finishWriting() {
        _ = shutdown(descriptor, CInt(SHUT_WR))
    }

    // MARK: Bytes

    /// Returns the bytes that have arrived, and waits if there are none. Returns an empty `Data` at the end.
    package func read() async throws -> Data {
        try await files.read(upToCount: 64 << 10, descriptor: descriptor, name: "connection of the server")
    }

    package func write(_ bytes: Data) async throws {
        if bytes.isEmpty { return }
        try await files.write(bytes, descriptor: descriptor, name: "connection of the server")
    }
}
