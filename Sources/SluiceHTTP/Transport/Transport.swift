#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

/// Opens HTTP exchanges: the seam between what Sluice does with a response and who carries it.
///
///     let response = try await transport.open(TransportRequest(url))
///     for try await chunk in response.body { consume(chunk) }
///
/// ``HTTPTransport`` is the one that talks to servers; ``ScriptedTransport`` answers from memory, for tests.
public protocol Transport: Sendable {
    /// Sends `request` and returns when the head of the final response is there; the body streams afterwards.
    ///
    /// Redirects have been followed. A status that says failure, such as 404, is a response like any other and no error.
    ///
    /// - Throws: ``TransferError``; `CancellationError` if the task is cancelled before the head arrives, after which
    ///   nothing is left open.
    func open(_ request: TransportRequest) async throws -> TransportResponse
}

/// What to fetch.
public struct TransportRequest: Sendable {
    /// An absolute `http` or `https` URL.
    public var url: URL
    /// The method; `GET` unless said otherwise.
    public var method: HTTPRequest.Method
    /// Fields beside those that the transport sets itself (`Host`, `User-Agent`, `Accept-Encoding: identity`).
    ///
    /// They are sent to the URL's origin only: a redirect to another host leaves them behind (``RedirectPolicy``).
    public var headerFields: HTTPFields

    /// The bytes to send, or nil for a request without a body. Say in ``headerFields`` what they are (`Content-Type`).
    public var body: Data?

    /// A request for `url`.
    public init(
        _ url: URL, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: Data? = nil
    ) {
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
    }
}

/// The head of a response, and its body as it arrives.
public struct TransportResponse: Sendable {
    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields, in the order of arrival.
    public var headerFields: HTTPFields
    /// Where the response came from: the request's URL, or the last redirect's target.
    public var url: URL
    /// How many redirects were followed.
    public var redirectCount: Int
    /// The bytes, as they arrive. Dropping the response without reading them ends the exchange.
    public var body: ResponseBody

    /// A response from its parts; for transports.
    public init(
        status: HTTPResponse.Status, headerFields: HTTPFields = [:], url: URL, redirectCount: Int = 0,
        body: ResponseBody
    ) {
        self.status = status
        self.headerFields = headerFields
        self.url = url
        self.redirectCount = redirectCount
        self.body = body
    }

    /// How long the steps of the exchange took; nil from a transport that doesn't measure, such as ``ScriptedTransport``.
    ///
    /// Ask again after the body has ended for ``TransportTimings/total``.
    public var timings: TransportTimings? { body.timings }

    /// The bytes that `Content-Length` announces (RFC 9110, section 8.6), or nil where it is absent or not a number.
    ///
    /// A field sent twice with equal values counts once, as the section allows; with different values it counts as absent.
    public var contentLength: Int64? {
        guard let field = headerFields[.contentLength] else { return nil }
        if field.isDigits { return Int64(field) }
        let values = Set(field.split(separator: ",").map { $0.trimmingSpaces() })
        guard values.count == 1, let digits = values.first, digits.isDigits else { return nil }
        return Int64(digits)
    }
}

extension HTTPFields {
    /// The transfer codings of a response, unless they are `chunked` alone, or none (RFC 9112, section 6.1).
    ///
    /// With others the bytes of the body would be those of the coding, or of its framing.
    var unsupportedTransferCoding: String? {
        guard let codings = self[.transferEncoding]?.trimmingSpaces().lowercased() else { return nil }
        return codings == "chunked" ? nil : codings
    }
}

extension StringProtocol {
    /// Whether it is a number without sign or space: what `1*DIGIT` of HTTP's grammars is.
    var isDigits: Bool {
        !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Without the spaces and tabs around it that HTTP allows beside a value (OWS of RFC 9110, section 5.6.3).
    func trimmingSpaces() -> String {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var bytes = Substring(self).utf8
        guard bytes.first.map(isSpace) == true || bytes.last.map(isSpace) == true else { return String(self) }
        bytes = bytes.drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
