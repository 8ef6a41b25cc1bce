#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

/// A response whose head has arrived and whose body streams.
public struct TransportResponse: Sendable {
    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields, in the order of arrival.
    public var headerFields: HTTPFields
    /// The URL of the response: the request's URL, or the target of the last redirect.
    public var url: URL
    /// The number of redirects that were followed.
    public var redirectCount: Int
    /// The bytes of the body, as they arrive. Dropping the last reference to the body ends the exchange.
    public var body: ResponseBody

    /// Creates a response. Transports call this initializer.
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

    /// The durations of the exchange's steps, or `nil` if the transport doesn't measure them (``ScriptedTransport``). The total is `nil`
    /// until the body has arrived: read this property again after the end of the body.
    public var timings: TransportTimings? { body.timings }

    /// The length in bytes that `Content-Length` announces (RFC 9110, section 8.6), or `nil` if it is absent or not a number. Equal
    /// repeated values count as one, and different values as absent.
    public var contentLength: Int64? {
        guard let field = headerFields[.contentLength] else { return nil }
        if field.isDigits { return Int64(field) }
        let values = headerFields.lengths
        guard values.count == 1, let digits = values.first, digits.isDigits else { return nil }
        return Int64(digits)
    }
}

extension TransportResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the URL, without its user name, password, query and fragment.
    public var description: String { "\(status.code) from \(url.redactedForDisplay)" }

    /// The properties without their secrets, for `dump(_:)` and the reports of tests.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "status": status.code, "url": url.redactedForDisplay, "redirectCount": redirectCount,
                "headerFields": headerFields.map { "\($0.name): \($0.redactedForDisplay)" },
            ])
    }
}

extension HTTPFields {
    /// The different values of `Content-Length`. More than one is an attempt to hide a part of the body, or another response in it
    /// (RFC 9112, section 6.3).
    var lengths: Set<String> {
        Set((self[.contentLength] ?? "").split(separator: ",").map { $0.trimmingSpaces() })
    }

    /// The unsupported transfer codings of a response, or `nil` for no coding and for `chunked` alone (RFC 9112, section 6.1).
    var unsupportedTransferCoding: String? {
        guard let codings = self[.transferEncoding]?.trimmingSpaces().lowercased() else { return nil }
        return codings == "chunked" ? nil : codings
    }
}
