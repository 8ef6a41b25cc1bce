#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

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
