#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

/// A request for a ``Transport``: URL, method, header fields and body.
public struct TransportRequest: Sendable {
    /// An absolute `http` or `https` URL.
    public var url: URL
    /// The method.
    public var method: HTTPRequest.Method
    /// The header fields, in addition to those that the transport sets: `Host`, `Accept: */*`, `User-Agent` and
    /// `Accept-Encoding: identity`. A field of the same name here replaces the transport's.
    ///
    /// A redirect to another origin drops these fields, except `Range` and `If-Range` (``RedirectPolicy``).
    public var headerFields: HTTPFields

    /// The bytes to send, or `nil` for a request without a body. Describe them with a `Content-Type` field in ``headerFields``.
    public var body: Data?

    /// Creates a request for `url`.
    public init(
        _ url: URL, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: Data? = nil
    ) {
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
    }
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without its user name, password, query and fragment.
    public var description: String { "\(method.rawValue) \(url.redactedForDisplay)" }

    /// The properties without their secrets, for `dump(_:)` and the reports of tests.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url.redactedForDisplay, "method": method.rawValue,
                "headerFields": headerFields.map { "\($0.name): \($0.redactedForDisplay)" },
                "body": body.map { "\($0.count) bytes" } as Any,
            ])
    }
}
