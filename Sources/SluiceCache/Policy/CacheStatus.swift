import HTTPTypes
import SluiceHTTP

/// How the cache handled a request, as the field `Cache-Status` tells it (RFC 9211).
///
/// ```text
/// Cache-Status: Sluice; hit; ttl=376                          from a stored response, which is fresh for 376 more seconds
/// Cache-Status: Sluice; fwd=uri-miss; stored                  from the server, and stored
/// Cache-Status: Sluice; fwd=stale; fwd-status=304; ttl=60     a stored response that the server has just confirmed
/// ```
///
/// A cache appends itself to the field, so the caches closer to the server come first.
struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// Why a request went to the server (section 2.2).
    enum Forwarding: String, Sendable {
        /// The cache doesn't handle such requests: the URL has a user name or password, or a `GET` has a body.
        case bypass
        /// Stored responses don't answer requests with this method.
        case method
        /// No response is stored for the URL.
        case uriMiss = "uri-miss"
        /// Responses are stored for the URL, but for other header fields (`Vary`).
        case varyMiss = "vary-miss"
        /// A fresh response is stored, but the request doesn't allow its use.
        case request
        case stale
        /// A part of the response is stored.
        case partial
    }

    /// `nil` if the answer didn't need the server.
    var forwarding: Forwarding?
    /// The status of the server's response, if the caller gets another one.
    var serverStatus: Int?
    /// How many seconds longer the response is fresh. Negative if it is stale.
    var ttl: Int64?
    var isHit = false
    var isStored = false
    /// Whether the request of another caller was the one that went to the server.
    var isCollapsed = false
    /// Why there is no response.
    var detail: String?

    static func hit(_ head: StoredResponse.Head, at now: HTTPDate) -> Self {
        Self(ttl: head.freshness.timeLeft(at: now), isHit: true)
    }

    var description: String {
        var text = "Sluice"
        if isHit { text += "; hit" }
        if let forwarding { text += "; fwd=\(forwarding.rawValue)" }
        if let serverStatus { text += "; fwd-status=\(serverStatus)" }
        if isStored { text += "; stored" }
        if isCollapsed { text += "; collapsed" }
        if let ttl { text += "; ttl=\(ttl)" }
        if let detail { text += "; detail=\(detail)" }
        return text
    }
}

extension CachePolicy {
    /// Returns why a request goes to the server although these responses are stored for its URL.
    func forwarding(
        of request: TransportRequest, stored: [StoredResponse.Head], at now: HTTPDate
    ) -> CacheStatus.Forwarding {
        guard isAnswerable(request) else { return .method }
        if stored.isEmpty { return .uriMiss }
        guard stored.contains(where: { $0.variant.matches(request.headerFields, policy: self) }) else {
            return .varyMiss
        }
        guard let (index, _) = selection(of: stored, for: request, at: now) else { return .partial }
        return isFresh(stored[index], at: now) ? .request : .stale
    }
}

extension HTTPFields {
    /// Appends the cache's own status to those of the caches before it.
    mutating func append(_ status: CacheStatus) {
        self[.cacheStatus] = self[.cacheStatus].map { "\($0), \(status)" } ?? status.description
    }
}

extension HTTPField.Name {
    static let cacheStatus = HTTPField.Name("Cache-Status")!
}
