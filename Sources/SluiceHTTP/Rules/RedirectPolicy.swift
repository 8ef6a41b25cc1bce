#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
package import HTTPTypes

/// Which redirects are followed, and what of a request goes along (RFC 9110, section 15.4).
///
/// - At most ``maximumRedirects`` of them, and never from `https` to `http`, nor to another scheme.
/// - 303 turns any method but `HEAD` into `GET`; 301 and 302 do so with `POST`, as every browser does; 307 and 308 keep it.
/// - The request's own header fields stay with its origin (scheme, host and port): another one never sees them. `Range` and
///   `If-Range` go along: they say nothing about who asks, and without them no transfer from behind a redirect could resume.
/// - A fragment of the first URL is kept where the target has none (section 10.2.2).
public struct RedirectPolicy: Sendable, Hashable {
    /// How many redirects are followed for one request.
    public var maximumRedirects: Int

    /// A policy that follows `maximumRedirects` redirects, 20 unless said otherwise.
    public init(maximumRedirects: Int = 20) {
        self.maximumRedirects = maximumRedirects
    }

    /// The statuses that send a client elsewhere. 300 and 304 do not, whatever their `Location` says.
    static let statuses: Set<Int> = [301, 302, 303, 307, 308]

    /// The request that a response asks for, or nil if it asks for none; `count` redirects have been followed already.
    ///
    /// - Throws: ``TransferError`` with `tooManyRedirects` or `redirectRefused`.
    package func next(
        after request: TransportRequest, status: HTTPResponse.Status, headerFields: HTTPFields, count: Int
    ) throws(TransferError) -> TransportRequest? {
        guard Self.statuses.contains(status.code), let location = headerFields[.location] else { return nil }
        guard count < maximumRedirects else {
            throw TransferError(.tooManyRedirects, url: request.url, detail: "more than \(maximumRedirects)")
        }
        guard let target = URL(string: location.trimmingSpaces(), relativeTo: request.url)?.absoluteURL,
            let scheme = target.scheme?.lowercased(), scheme == "http" || scheme == "https",
            target.host(percentEncoded: false)?.isEmpty == false, target.hasUsablePort
        else {
            throw TransferError(.redirectRefused, url: request.url, detail: "its target is no http or https URL")
        }
        if request.url.scheme?.lowercased() == "https", scheme == "http" {
            throw TransferError(
                .redirectRefused, url: request.url, detail: "from https to http, at \(target.redactedForDisplay)")
        }
        var next = request
        next.url = target.inheritingFragment(of: request.url)
        if target.origin != request.url.origin {
            next.headerFields = request.headerFields.filter { [.range, .ifRange].contains($0.name) }
        }
        if status.code == 303 && request.method != .head
            || (status.code == 301 || status.code == 302) && request.method == .post
        {
            next.method = .get
            // A request without a body has no fields that describe one (RFC 9110, section 15.4).
            next.body = nil
            next.headerFields = next.headerFields.filter { !$0.name.canonicalName.hasPrefix("content-") }
        }
        return next
    }
}

extension URL {
    fileprivate func inheritingFragment(of other: URL) -> URL {
        guard fragment() == nil, let inherited = other.fragment(),
            var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        parts.percentEncodedFragment = inherited
        return parts.url ?? self
    }
}
