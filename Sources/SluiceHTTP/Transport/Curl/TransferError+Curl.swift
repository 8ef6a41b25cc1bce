#if !canImport(Darwin) || os(macOS)
import CSluiceHTTP
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import SluiceFiles

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension TransferError {
    /// Creates the error for a result code of libcurl (libcurl-errors(3)). `text` is the redacted text in the transfer's error buffer.
    init(_ code: CURLcode, text: String?, facts: csluice_curl_facts, isProxied: Bool, url: URL) {
        let isConnected = facts.request_time > 0
        switch code {
        case _ where facts.proxy_status >= 300:
            self.init(.proxyFailed, url: url, detail: "it answered \(facts.proxy_status)")
        // With a SOCKS proxy, this code is about the proxy's host. If the URL's host is unknown, the code is CURLE_PROXY.
        case CURLE_COULDNT_RESOLVE_HOST where isProxied: self.init(.proxyFailed, url: url, detail: text)
        case CURLE_COULDNT_RESOLVE_HOST: self.init(.hostNotFound, url: url)
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: self.init(.proxyFailed, url: url, detail: text)
        case CURLE_COULDNT_CONNECT:
            let number = Self.systemError(facts)
            if isProxied, !Self.isExhaustion(number) {
                self.init(.proxyFailed, url: url, detail: number == 0 ? text : String(cString: strerror(number)))
            } else {
                self.init(connecting: number, text, url)
            }
        case CURLE_OPERATION_TIMEDOUT: self.init(isConnected ? .stalled : .connectTimedOut, url: url)
        case CURLE_URL_MALFORMAT: self.init(.invalidURL, url: url, detail: text)
        // libcurl also reports this code for an invalid status line.
        case CURLE_UNSUPPORTED_PROTOCOL:
            self.init(isConnected ? .protocolViolation : .invalidURL, url: url, detail: text)
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR: self.init(.connectionClosed, url: url)
        case CURLE_RECV_ERROR:
            // libcurl also reports this code for an invalid chunked body and for a head of more than 300 KiB.
            if let text, text.contains("chunk") || text.contains("Too large response headers") {
                self.init(.protocolViolation, url: url, detail: text)
            } else {
                self.init(.connectionClosed, url: url)
            }
        // What libcurl 7.88 returns for a folded field that continues nothing.
        case CURLE_BAD_FUNCTION_ARGUMENT where isConnected:
            self.init(.protocolViolation, url: url, detail: "its head isn't valid")
        // The server ended the stream of this exchange.
        case CURLE_HTTP2_STREAM: self.init(.connectionClosed, url: url, detail: text)
        // The server ended the connection's streams with GOAWAY. Errors of the protocol have a text.
        case CURLE_HTTP2 where text == nil: self.init(.connectionClosed, url: url)
        case CURLE_INTERFACE_FAILED:
            self.init(
                .connectionFailed, url: url, detail: "the chosen network interface can't be used",
                remedy: "Check that the interface is up and has an address of the server's kind.")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2:
            self.init(.protocolViolation, url: url, detail: text)
        case CURLE_SSL_CERTPROBLEM:
            self.init(
                .tlsFailed, url: url, detail: text,
                remedy: "Check the files of the client certificate and its key. The key must not be encrypted.")
        case CURLE_SSL_CONNECT_ERROR where Self.isClosed(text):
            self.init(.connectionClosed, url: url, detail: "during the TLS handshake")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CLIENTCERT, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self.init(.tlsFailed, url: url, detail: text)
        // What libcurl returns if a line is longer than 100 KiB. Since version 8.6, it is the second code (CURLE_TOO_LARGE).
        case CURLE_OUT_OF_MEMORY where isConnected, CURLcode(100):
            self.init(.protocolViolation, url: url, detail: "a line of its head is too long")
        case CURLE_OUT_OF_MEMORY: self.init(connecting: ENOMEM, nil, url)
        default: self.init(.connectionFailed, url: url, detail: text ?? String(cString: curl_easy_strerror(code)))
        }
    }

    /// Creates the error for a failed connection. `number` is the errno(3) of the last address that was tried. If this process or the
    /// system is out of resources for a connection, the cause is a `FileError`, to distinguish that from a failure of the host or the
    /// network.
    init(connecting number: CInt, _ text: String?, _ url: URL) {
        switch number {
        case ECONNREFUSED: self.init(.connectionRefused, url: url)
        case ETIMEDOUT: self.init(.connectTimedOut, url: url)
        case _ where Self.isExhaustion(number):
            let cause = FileError(operation: "connect to", path: url.host() ?? "", systemError: number)
            self.init(
                .connectionFailed, url: url, detail: String(cString: strerror(number)),
                remedy: [EMFILE, ENFILE].contains(number)
                    ? "Run fewer concurrent downloads, or allow more open files (ulimit -n)." : cause.remedy,
                cause: cause)
        case 0: self.init(.connectionFailed, url: url, detail: text)
        default: self.init(.connectionFailed, url: url, detail: String(cString: strerror(number)))
        }
    }

    /// Returns whether a text about a failed handshake says that the connection was closed or reset, as a server that is overloaded or
    /// restarts does. libcurl has one code for that and for servers that refuse the handshake. The texts are those of OpenSSL and GnuTLS.
    private static func isClosed(_ text: String?) -> Bool {
        guard let text else { return false }
        return ["SSL_ERROR_SYSCALL", "reset by peer", "Broken pipe", "unexpected eof", "non-properly terminated"]
            .contains { text.contains($0) }
    }

    /// The errno(3) of the failed connection. If a socket couldn't be created, libcurl reports none, but then we can't create one either.
    private static func systemError(_ facts: csluice_curl_facts) -> CInt {
        guard facts.system_error == 0 else { return CInt(truncatingIfNeeded: facts.system_error) }
        let number = csluice_curl_socket_error()
        return isExhaustion(number) ? number : 0
    }

    private static func isExhaustion(_ number: CInt) -> Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(number) }
}
#endif
