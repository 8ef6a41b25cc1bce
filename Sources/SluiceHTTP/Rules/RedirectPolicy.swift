#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
package import HTTPTypes

/// The rules for following redirects (RFC 9110, section 15.4).
///
/// - At most ``maximumRedirects`` redirects are followed, or none with ``unfollowed``. A redirect from `https` to `http`, or to a scheme
///   other than these two, is refused.
/// - After a 303, every method except `HEAD` becomes `GET`. After a 301 or 302, `POST` becomes `GET`, as in browsers. After a 307 or 308,
///   the method stays. A request that becomes a `GET` loses its body and its `Content-` fields.
/// - A redirect to another origin (scheme, host and port) drops the request's own header fields, which may contain secrets. `Range`
///   and `If-Range` are kept: they contain no secrets, and a transfer behind a redirect couldn't resume without them.
/// - The user name and password of the redirected URL are used only within its origin, and only if the target names no user.
/// - If the target has no fragment, it gets the fragment of the redirected URL (section 10.2.2).
public struct RedirectPolicy: Sendable, Hashable {
    /// The maximum number of redirects for one request.
    public var maximumRedirects: Int

    private var isFollowing = true

    /// Creates a policy that follows at most `maximumRedirects` redirects. If there are more, the request fails.
    public init(maximumRedirects: Int = 20) {
        self.maximumRedirects = maximumRedirects
    }

    /// The policy that follows no redirects. A response that redirects is returned like any other, with its `Location` field.
    ///
    ///     let transport = HTTPTransport(configuration: .init(redirects: .unfollowed))
    ///     let response = try await transport.open(TransportRequest(url))
    ///     print(response.status, response.headerFields[.location] ?? "")      // 301 Moved Permanently /new
    ///
    /// Use it in a proxy, or in a cache that should store redirects. Each `ResourceCache` response then belongs to the requested URL.
    public static let unfollowed = {
        var policy = RedirectPolicy(maximumRedirects: 0)
        policy.isFollowing = false
        return policy
    }()

    /// The statuses that redirect. 300 and 304 don't, even with a `Location` field.
    static let statuses: Set<Int> = [301, 302, 303, 307, 308]

    /// Returns the request that a redirect leads to, after `count` earlier redirects, or `nil` if the response isn't a redirect to
    /// follow. Throws a ``TransferError`` with the code `tooManyRedirects` or `redirectRefused`.
    package func next(
        after request: TransportRequest, status: HTTPResponse.Status, headerFields: HTTPFields, count: Int
    ) throws(TransferError) -> TransportRequest? {
        guard isFollowing, Self.statuses.contains(status.code), let location = headerFields.value(of: .location) else {
            return nil
        }
        guard count < maximumRedirects else {
            throw TransferError(.tooManyRedirects, url: request.url, detail: "more than \(maximumRedirects)")
        }
        guard let target = URL(string: location.trimmingSpaces(), relativeTo: request.url)?.absoluteURL,
            let scheme = target.scheme?.lowercased(), scheme == "http" || scheme == "https",
            target.host(percentEncoded: false)?.isEmpty == false, target.hasUsablePort
        else {
            throw TransferError(.redirectRefused, url: request.url, detail: "its target isn't an http or https URL")
        }
        if request.url.scheme?.lowercased() == "https", scheme == "http" {
            throw TransferError(
                .redirectRefused, url: request.url, detail: "from https to http, at \(target.redactedForDisplay)")
        }
        var next = request
        let staysInOrigin = target.origin == request.url.origin
        next.url = target.inheriting(from: request.url, withCredentials: staysInOrigin)
        if !staysInOrigin {
            next.headerFields = request.headerFields.filter { [.range, .ifRange].contains($0.name) }
        }
        if status.code == 303 && request.method != .head
            || (status.code == 301 || status.code == 302) && request.method == .post
        {
            next.method = .get
            // The fields that describe the body are dropped with the body (RFC 9110, section 15.4).
            next.body = nil
            next.headerFields = next.headerFields.filter { !$0.name.canonicalName.hasPrefix("content-") }
        }
        return next
    }
}

extension URL {
    /// Returns the URL with the fragment of another one if it has none, and with its user name and password if it has no user name.
    fileprivate func inheriting(from other: URL, withCredentials: Bool) -> URL {
        let fragment = fragment() == nil ? other.fragment() : nil
        let user = withCredentials && user(percentEncoded: true) == nil ? other.user(percentEncoded: true) : nil
        guard fragment != nil || user != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
            return self
        }
        if let fragment { parts.percentEncodedFragment = fragment }
        if let user {
            parts.percentEncodedUser = user
            parts.percentEncodedPassword = other.password(percentEncoded: true)
        }
        return parts.url ?? self
    }
}
