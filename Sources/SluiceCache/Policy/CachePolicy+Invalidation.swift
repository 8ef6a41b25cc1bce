import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Requests that change the resource (RFC 9111, section 4.4).
extension CachePolicy {
    /// A successful request with an unsafe method invalidates its URL and those of the same origin that its response names. A response to
    /// `POST` may be stored.
    func unsafe(_ exchange: Exchange) -> Outcome {
        let (request, response) = (exchange.request, exchange.response)
        var outcome = Outcome(answer: .response)
        let isSuccess = (200..<400).contains(response.status.code) || !rules[.failuresInvalidateNothing]
        guard isSuccess else { return outcome }
        outcome.invalidations = invalidations(by: exchange)
        if exchange.isComplete, let head = head(of: exchange), mayStore(head, for: request) {
            outcome.addition = Outcome.Addition(head: head, body: [.response])
        }
        return outcome
    }

    /// Returns the URLs whose stored responses a response removes. It depends on the head of the response only, because the request has
    /// changed the resource even if the body is cut off.
    func invalidations(by exchange: Exchange) -> Set<ResourceKey> {
        let (request, response) = (exchange.request, exchange.response)
        let isSuccess = (200..<400).contains(response.status.code) || !rules[.failuresInvalidateNothing]
        guard !Self.safeMethods.contains(request.method), isSuccess, rules[.unsafeMethods] else { return [] }
        var urls = [request.url]
        for name in [HTTPField.Name.location, .contentLocation] where rules[.relatedURLs] {
            guard let field = response.headerFields[name], let url = resolved(field, of: request.url) else {
                continue
            }
            if !rules[.sameOrigin] || url.origin == request.url.origin { urls.append(url) }
        }
        return Set(urls.map { withoutCredentials($0) }.flatMap { [$0, normalized($0)] }.map { ResourceKey($0) })
    }

    static let safeMethods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace]

    /// Nothing is stored for a URL with credentials, but the server has the same resource without them.
    private func withoutCredentials(_ url: URL) -> URL {
        guard url.holdsCredentials, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return url
        }
        parts.user = nil
        parts.password = nil
        return parts.url ?? url
    }

    /// Returns the usual spelling of a URL (RFC 9110, section 4.2.3), because the server may use another one than the cache's users.
    private func normalized(_ url: URL) -> URL {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
        let scheme = parts.scheme?.lowercased()
        parts.scheme = scheme
        parts.host = parts.host?.lowercased()
        if parts.port == (scheme == "https" ? 443 : 80) { parts.port = nil }
        if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
        return parts.url ?? url
    }

    func resolved(_ reference: String, of base: URL) -> URL? {
        URL(string: reference.trimmingSpaces(), relativeTo: base)?.absoluteURL
    }
}
