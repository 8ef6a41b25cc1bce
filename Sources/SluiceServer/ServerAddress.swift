import SluiceFiles

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

/// Where a server listens.
///
///     let address = try ServerAddress("127.0.0.1:8080")
package enum ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IP address without brackets, and a port. With port 0, the system chooses one.
    case ip(String, port: Int)
    /// A Unix socket (unix(7)).
    case unixSocket(URL)

    /// Text that isn't an address.
    package struct Malformed: Error, CustomStringConvertible {
        package var description: String {
            "The address must be an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080, or a Unix socket, such as "
                + "unix:/run/sluice.sock."
        }
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `unix:/run/sluice.sock`. Other names aren't looked up: a server must not
    /// listen on an address that its operator didn't expect.
    package init(_ text: String) throws(Malformed) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty else { throw Malformed() }
            self = .unixSocket(URL(filePath: path, directoryHint: .notDirectory))
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            case let digits = text[text.index(after: colon)...], !digits.isEmpty, digits.count <= 5,
            digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = Int(digits), port <= 65_535
        else { throw Malformed() }
        var host = String(text[..<colon])
        if host.lowercased() == "localhost" { host = "127.0.0.1" }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
            var address = in6_addr()
            guard inet_pton(AF_INET6, host, &address) == 1 else { throw Malformed() }
        } else {
            var address = in_addr()
            guard inet_pton(AF_INET, host, &address) == 1 else { throw Malformed() }
        }
        self = .ip(host, port: port)
    }

    /// Whether only programs on this machine can connect.
    package var isLocal: Bool {
        switch self {
        case .ip(let host, _): host == "::1" || host.hasPrefix("127.")
        case .unixSocket: true
        }
    }

    /// The address as the initializer reads it.
    package var description: String {
        switch self {
        case .ip(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let url): "unix:\(url.path(percentEncoded: false))"
        }
    }
}
