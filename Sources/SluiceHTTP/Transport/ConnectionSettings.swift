#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How a transport connects to servers: the version of HTTP, the addresses, and the network interface.
///
///     var configuration = HTTPTransport.Configuration()
///     configuration.connections.version = .http2
///     configuration.connections.fixedAddresses = [try .init("files.example:443:192.0.2.7")]
///
/// **Proxies.** A proxy looks up the server's name and chooses its address, except for `socks4` and `socks5`. So the fixed addresses and
/// ``addressFamily`` apply to the proxy's own name, and to server names with those two. ``interface`` applies to the connection to the proxy.
/// ``unixSocket`` replaces proxies: requests go through the socket, without a proxy.
///
/// **URLSession** chooses the version itself. With any other setting, requests fail with ``TransferError/Code-swift.struct/connectionFailed``.
public struct ConnectionSettings: Sendable, Hashable {
    /// A version of HTTP. Later releases may add versions.
    public enum Version: Sendable, Hashable, CaseIterable {
        /// HTTP/1.1: each running exchange has its own connection.
        case http1
        /// HTTP/2 for `https` URLs if the server and libcurl have it, and HTTP/1.1 otherwise.
        ///
        /// Exchanges with one server share a connection (two on several processors), which saves a TLS handshake for each. It
        /// costs:
        ///
        /// - Memory: while a reader is slower than the network, up to 32 MiB arrive for each exchange and are kept. With HTTP/1.1, the
        ///   system's buffers and ``HTTPTransport/Configuration/bufferSize`` are the limit.
        /// - Speed of large files: one lost packet delays all exchanges of a connection, and they share its processor.
        case http2
    }

    /// The version of IP.
    public enum AddressFamily: Sendable, Hashable, CaseIterable {
        /// IPv4, such as `192.0.2.7`.
        case ipv4
        /// IPv6, such as `2001:db8::7`.
        case ipv6
    }

    /// The version of HTTP to use.
    public var version: Version
    /// The only version of IP to use, or `nil` for both.
    public var addressFamily: AddressFamily?
    /// The addresses of names that aren't looked up.
    public var fixedAddresses: [FixedAddress]
    /// The network interface to connect from: its name, such as `eth0`, or one of this machine's addresses. `nil` lets the system choose.
    public var interface: String?
    /// The path of a Unix domain socket to send all requests through, or `nil`. The URL's host is only sent in the request.
    public var unixSocket: String?

    /// Creates settings. The defaults suit downloads over the internet.
    public init(
        version: Version = .http1, addressFamily: AddressFamily? = nil, fixedAddresses: [FixedAddress] = [],
        interface: String? = nil, unixSocket: String? = nil
    ) {
        self.version = version
        self.addressFamily = addressFamily
        self.fixedAddresses = fixedAddresses
        self.interface = interface
        self.unixSocket = unixSocket
    }

    /// Whether a setting other than the version differs from its default.
    package var choosesConnections: Bool {
        addressFamily != nil || !fixedAddresses.isEmpty || interface != nil || unixSocket != nil
    }
}

// MARK: - Fixed addresses

extension ConnectionSettings {
    /// The addresses of a host and a port, which replace those of the name service.
    ///
    ///     let address = try ConnectionSettings.FixedAddress("files.example:443:192.0.2.7,[2001:db8::7]")
    ///
    /// The URL, the `Host` field and the check of the certificate keep the name. So a server can be tested before its name points to it.
    public struct FixedAddress: Sendable, Hashable, CustomStringConvertible {
        /// The host, in lowercase.
        public let host: String
        /// The port, from 1 to 65535.
        public let port: Int
        /// The addresses in the order in which they are tried, IPv6 addresses in brackets. There is at least one.
        public let addresses: [String]

        /// Reads text such as `files.example:443:192.0.2.7`, with several addresses separated by commas.
        ///
        /// - Throws: ``Invalid``.
        public init(_ text: String) throws(Invalid) {
            let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
                .map { String(Substring($0)) }
            guard parts.count == 3 else { throw Invalid(problem: "The text isn't HOST:PORT:ADDRESS.") }
            guard let url = URL(string: "http://\(parts[0])/"), !parts[0].isEmpty,
                url.canonicalHost.utf8.allSatisfy(Self.isOfName),
                url.path(percentEncoded: true) == "/", url.user(percentEncoded: true) == nil
            else { throw Invalid(problem: "The host isn't valid.") }
            guard parts[1].isDigits, let port = Int(parts[1]), (1...65535).contains(port) else {
                throw Invalid(problem: "The port isn't from 1 to 65535.")
            }
            var addresses: [String] = []
            for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) {
                let isBracketed = part.hasPrefix("[") && part.hasSuffix("]") && part.utf8.count > 2
                let address = String(isBracketed ? part.dropFirst().dropLast() : part)
                switch AddressFamily(of: address) {
                case .ipv4 where !isBracketed: addresses.append(address)
                case .ipv6: addresses.append("[\(address)]")
                default: throw Invalid(problem: "An address isn't an IPv4 or IPv6 address.")
                }
            }
            self.host = url.canonicalHost
            self.port = port
            self.addresses = addresses
        }

        private static func isOfName(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "-._".utf8.contains(byte)
            }
        }

        /// The text that ``init(_:)`` reads.
        public var description: String { "\(host):\(port):\(addresses.joined(separator: ","))" }

        /// The error for text that isn't a host, a port and addresses.
        public struct Invalid: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
            /// What is wrong, in one sentence.
            public let problem: String

            /// The problem and a remedy, on one line.
            public var description: String {
                "\(problem) Write HOST:PORT:ADDRESS, such as files.example:443:192.0.2.7."
            }

            /// The same text as ``description``.
            public var errorDescription: String? { description }
        }
    }
}

extension ConnectionSettings.AddressFamily {
    /// The family of an address in its usual form, without brackets; `nil` if the text isn't an address (inet_pton(3)).
    package init?(of text: String) {
        // Text with a zero byte would be read only up to there.
        guard !text.utf8.contains(0) else { return nil }
        var address = in6_addr()
        if inet_pton(AF_INET, text, &address) == 1 {
            self = .ipv4
        } else if inet_pton(AF_INET6, text, &address) == 1 {
            self = .ipv6
        } else {
            return nil
        }
    }
}

// MARK: - Invalid settings

extension ConnectionSettings {
    /// What is wrong with ``interface``; `nil` if there is an interface with that name, or if it is an address.
    package static func problem(ofInterface name: String) -> String? {
        if AddressFamily(of: name) != nil { return nil }
        // libcurl would look up another text as a host name, and block all exchanges meanwhile.
        guard !name.utf8.contains(0), if_nametoindex(name) != 0 else {
            return "this machine has no network interface with that name, and it isn't an address"
        }
        return nil
    }

    /// What is wrong with ``unixSocket``; `nil` if it is the path of a socket.
    package static func problem(ofSocket path: String) -> String? {
        guard !path.isEmpty, !path.utf8.contains(0) else { return "the path is empty or has a zero byte" }
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard path.utf8.count <= limit else { return "the path has more than \(limit) bytes" }
        return nil
    }

    /// Why requests can't be sent with these settings, and the remedy; `nil` if they can.
    func problem() -> (detail: String, remedy: String)? {
        if let interface, let problem = Self.problem(ofInterface: interface) {
            return (problem, "Name an interface or an address of this machine.")
        }
        if let unixSocket, let problem = Self.problem(ofSocket: unixSocket) {
            return (problem, "Name the socket with a shorter path.")
        }
        return nil
    }

    /// The interface in the form that libcurl takes without a lookup (CURLOPT_INTERFACE(3)).
    var interfaceForCurl: String? {
        interface.map { AddressFamily(of: $0) == nil ? "if!\($0)" : "host!\($0)" }
    }
}
