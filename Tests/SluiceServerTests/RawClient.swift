import Foundation
import SluiceFiles
import SluiceServer

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A connection to a server, for requests that no library sends.
final class RawClient: Sendable {
    private let descriptor: CInt

    struct Failed: Error {}

    init(_ address: ServerAddress) throws {
        #if os(Linux)
        let stream = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        #else
        let stream = SOCK_STREAM
        #endif
        switch address {
        case .ip(_, let port):
            descriptor = socket(AF_INET, stream, 0)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            name.sin_port = in_port_t(port).bigEndian
            try Self.connect(descriptor, &name)
        case .unixSocket(let url):
            descriptor = socket(AF_UNIX, stream, 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: url.path(percentEncoded: false).utf8) }
            try Self.connect(descriptor, &name)
        }
    }

    private static func connect<Name>(_ descriptor: CInt, _ name: inout Name) throws {
        let result = withUnsafeBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { sockets in
                #if canImport(Darwin)
                Darwin.connect(descriptor, sockets.baseAddress!, socklen_t(bytes.count))
                #elseif canImport(Glibc)
                Glibc.connect(descriptor, sockets.baseAddress!, socklen_t(bytes.count))
                #else
                Musl.connect(descriptor, sockets.baseAddress!, socklen_t(bytes.count))
                #endif
            }
        }
        guard result == 0 else { throw Failed() }
    }

    deinit { _ = close(descriptor) }

    func send(_ text: String) async throws {
        try await FileIO.shared.write(Data(text.utf8), descriptor: descriptor, name: "client")
    }

    /// What the server sends until it closes the connection.
    func rest() async throws -> String {
        var text = Data()
        while case let bytes = try await FileIO.shared.read(upToCount: 1 << 16, descriptor: descriptor, name: "client"),
            !bytes.isEmpty
        {
            text += bytes
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// What the server sends until the text ends with `end`.
    func text(endingWith end: String) async throws -> String {
        var text = ""
        while !text.hasSuffix(end),
            case let bytes = try await FileIO.shared.read(upToCount: 1 << 16, descriptor: descriptor, name: "client"),
            !bytes.isEmpty
        {
            text += String(decoding: bytes, as: UTF8.self)
        }
        return text
    }
}
