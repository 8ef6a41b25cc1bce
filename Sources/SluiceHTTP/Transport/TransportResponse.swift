#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

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
