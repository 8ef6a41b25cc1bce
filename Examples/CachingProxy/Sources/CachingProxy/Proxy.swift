import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import SluiceCache
import SluiceHTTP

/// Forwards requests to one origin, through a cache.
struct Proxy: Sendable {
    /// The maximum size of a request body or a response body in bytes. Both are held in memory.
    static let maximumBodySize = 64 << 20

    private let origin: String
    private let cache: ResourceCache

    init(origin: URL, cache: ResourceCache) {
        let text = origin.absoluteString
        self.origin = text.hasSuffix("/") ? String(text.dropLast()) : text
        self.cache = cache
    }

    /// Answers a request. An error ends the connection.
    func respond(to request: Request, _ writer: consuming ResponseWriter) async throws {
        if request.headers[.expect]?.lowercased() == "100-continue", !request.announcesTooMuch {
            try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        let response: CachedReply
        do {
            response = CachedReply(try await cache.response(for: forwarded(request)), to: request.method)
        } catch let refusal as Refusal {
            response = CachedReply(refusal.status, refusal.reason, to: request.method)
        } catch let error as TransferError {
            let isTimeout = error.code == .connectTimedOut || error.code == .stalled
            let status: HTTPResponse.Status = isTimeout ? .gatewayTimeout : .badGateway
            response = CachedReply(status, error.description, to: request.method)
        }
        try await writer.write(response: response.head, body: response.body)
    }

    /// Returns the request for the origin. The transport sets `Host` and `Content-Length`.
    private func forwarded(_ request: Request) async throws -> TransportRequest {
        guard request.method != .connect else { throw Refusal(.notImplemented, "This proxy has no tunnels.") }
        guard let path = request.head.path, path.hasPrefix("/"), let url = URL(string: origin + path.validForURL) else {
            throw Refusal(.badRequest, "The request's target isn't a path. Request a path such as /index.html.")
        }
        guard !request.announcesTooMuch else { throw Refusal.bodyTooLarge }
        var fields = request.headers.withoutConnectionFields
        for name in [HTTPField.Name.contentLength, .expect, .host] { fields[name] = nil }
        fields.append(HTTPField(name: .via, value: "1.1 sluice"))
        var outgoing = TransportRequest(url, method: request.method, headerFields: fields)
        if request.hasBody {
            do {
                outgoing.body = Data(try await request.body.collect(upTo: Self.maximumBodySize).readableBytesView)
            } catch is NIOTooManyBytesError {
                throw Refusal.bodyTooLarge
            }
        }
        return outgoing
    }
}

/// A request that isn't forwarded.
private struct Refusal: Error {
    static let bodyTooLarge = Refusal(
        .contentTooLarge, "The request's body is larger than \(Proxy.maximumBodySize >> 20) MiB.")

    var status: HTTPResponse.Status
    var reason: String

    init(_ status: HTTPResponse.Status, _ reason: String) { (self.status, self.reason) = (status, reason) }
}

/// A response in the form that the server needs.
private struct CachedReply {
    var head: HTTPResponse
    var body: HummingbirdCore.ResponseBody

    init(_ response: CachedResponse, to method: HTTPRequest.Method) {
        head = HTTPResponse(status: response.status, headerFields: response.headerFields.withoutConnectionFields)
        body = response.body.isEmpty ? .init() : .init(byteBuffer: ByteBuffer(bytes: response.body))
        // In a response to HEAD, this field is the length of the body that GET would get. The server removes it from a 204 and a 304.
        if method != .head { head.headerFields[.contentLength] = "\(response.body.count)" }
        // A proxy adds a missing date (RFC 9110, section 6.6.1). Stored responses have one.
        if head.headerFields[.date] == nil { head.headerFields[.date] = Self.date() }
    }

    /// The current time in HTTP's format.
    private static func date() -> String {
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        return String(unsafeUninitializedCapacity: 32) { buffer in
            // The names of days and months are English, because the program doesn't set a locale.
            buffer.withMemoryRebound(to: CChar.self) { text in
                strftime(text.baseAddress!, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            }
        }
    }

    /// A response from the proxy itself.
    init(_ status: HTTPResponse.Status, _ text: String, to method: HTTPRequest.Method) {
        let bytes = ByteBuffer(string: text + "\n")
        head = HTTPResponse(status: status, headerFields: [.contentType: "text/plain; charset=utf-8"])
        head.headerFields[.contentLength] = "\(bytes.readableBytes)"
        body = method == .head ? .init() : .init(byteBuffer: bytes)
    }
}

extension Request {
    /// Whether the request has a body, which may be empty (RFC 9112, section 6.3).
    fileprivate var hasBody: Bool { headers[.contentLength] != nil || headers[.transferEncoding] != nil }

    fileprivate var announcesTooMuch: Bool {
        headers[.contentLength].flatMap { Int($0) }.map { $0 > Proxy.maximumBodySize } ?? false
    }
}

extension String {
    /// The target of a request, in which everything that a URL can't contain is percent-encoded, such as `|` and a `%` without digits. If
    /// this were left to `URL`, it would encode each `%` again.
    fileprivate var validForURL: String {
        var rest = utf8[...]
        var valid: [UInt8] = []
        while let byte = rest.popFirst() {
            let isEscape = byte == UInt8(ascii: "%") && rest.count > 1 && rest.prefix(2).allSatisfy(Self.isHexadecimal)
            if isEscape || Self.allowed.contains(byte) {
                valid.append(byte)
            } else {
                valid += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
            }
        }
        return String(decoding: valid, as: UTF8.self)
    }

    /// Unreserved characters, and characters with a meaning in a path or query (RFC 3986, sections 3.3 and 3.4).
    private static let allowed = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/?".utf8)

    private static func isHexadecimal(_ byte: UInt8) -> Bool { Character(UnicodeScalar(byte)).isHexDigit }
}
