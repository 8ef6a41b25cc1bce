import AsyncHTTPClient
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension TransportError {
    /// What an error of the client, of its connections or of the system means for the one who asked for `url`.
    init(_ error: any Error, url: URL) {
        switch error {
        case let error as TransportError: self = error
        case let error as HTTPClientError: self.init(Self.code(of: error), url: url, cause: error.shortDescription)
        case let error as NIOConnectionError: self.init(connecting: error, url: url)
        case is SocketAddressError: self.init(.hostNotFound, url: url)
        case let error as IOError: self.init(system: error, url: url)
        case let error as ChannelError: self.init(channel: error, url: url)
        case let error as HTTPParserError: self.init(parsing: error, url: url)
        // A body that ends with the connection, and a connection that ends without TLS's good-bye: it may be cut off.
        case NIOSSLError.uncleanShutdown: self.init(.connectionClosed, url: url)
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self.init(.tlsFailed, url: url, cause: Self.reason(ofTLS: "\(error)"))
        default: self.init(.connectionFailed, url: url, cause: "\(error)")
        }
    }

    private static func code(of error: HTTPClientError) -> Code {
        switch error {
        case .invalidURL, .emptyHost, .emptyScheme: .invalidURL
        case .connectTimeout, .getConnectionFromPoolTimeout: .connectTimedOut
        case .tlsHandshakeTimeout: .connectTimedOut
        case .readTimeout, .writeTimeout, .deadlineExceeded: .stalled
        case .remoteConnectionClosed, .requestStreamCancelled, .uncleanShutdown: .connectionClosed
        // Our own cancelling ends the exchange before the client says so: this is its shutdown.
        case .alreadyShutdown, .cancelled: .shutDown
        default: .protocolViolation
        }
    }

    /// A name that has addresses fails with the error of the last of them, a name without any with none.
    private init(connecting error: NIOConnectionError, url: URL) {
        guard let last = error.connectionErrors.last?.error else {
            self.init(.hostNotFound, url: url)
            return
        }
        self.init(last, url: url)
    }

    /// The reason in BoringSSL's words, without the places in its sources: `CERTIFICATE_VERIFY_FAILED`.
    private static func reason(ofTLS description: String) -> String {
        guard let start = description.firstRange(of: "OPENSSL_internal:")?.upperBound else { return description }
        return String(description[start...].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }

    private init(system error: IOError, url: URL) {
        let code: Code =
            switch error.errnoCode {
            case ECONNREFUSED: .connectionRefused
            case ECONNRESET, EPIPE, ENOTCONN, ECONNABORTED: .connectionClosed
            case ETIMEDOUT: .connectTimedOut
            default: .connectionFailed
            }
        if error.errnoCode == EMFILE || error.errnoCode == ENFILE {
            self.init(
                .connectionFailed, url: url, cause: String(cString: strerror(error.errnoCode)),
                remedy: "run fewer downloads at once, or allow more open files (ulimit -n)")
            return
        }
        self.init(code, url: url, cause: code == .connectionFailed ? String(cString: strerror(error.errnoCode)) : nil)
    }

    private init(channel error: ChannelError, url: URL) {
        switch error {
        case .connectTimeout: self.init(.connectTimedOut, url: url)
        case .eof, .ioOnClosedChannel, .alreadyClosed, .inputClosed, .outputClosed:
            self.init(.connectionClosed, url: url)
        default: self.init(.connectionFailed, url: url, cause: "\(error)")
        }
    }

    private init(parsing error: HTTPParserError, url: URL) {
        if error == .invalidEOFState {
            self.init(.connectionClosed, url: url)
        } else {
            self.init(.protocolViolation, url: url, cause: "\(error)")
        }
    }
}
