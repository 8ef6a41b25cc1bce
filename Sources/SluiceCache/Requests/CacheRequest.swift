import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to the cache.
struct CacheRequest: Sendable {
    var transport: TransportRequest
    var mode: ResourceCache.LookupMode
    /// Whether a response is stored in memory.
    var keepsInMemory: Bool
    /// Whether the response is for one caller: it isn't looked up or stored. That is the case for a URL with credentials, and for a `GET`
    /// with a body, which isn't part of the key.
    var isAlone: Bool
    /// Whether the caller reads the body while it arrives.
    var isStreamed: Bool

    init(
        _ transport: TransportRequest, mode: ResourceCache.LookupMode = .useCache, keepsInMemory: Bool = true,
        isAlone: Bool = false, isStreamed: Bool = false
    ) {
        self.transport = transport
        self.mode = mode
        self.keepsInMemory = keepsInMemory
        let hasBody = transport.body != nil && (transport.method == .get || transport.method == .head)
        self.isAlone = isAlone || transport.url.holdsCredentials || hasBody
        self.isStreamed = isStreamed
    }

    var url: URL { transport.url }
    var headerFields: HTTPFields { transport.headerFields }
    var host: String { url.canonicalHost }
    var isShared: Bool { transport.method == .get && transport.body == nil && !isAlone }
    var arrives: Bool { isStreamed && transport.method == .get }
    var isSafe: Bool { CachePolicy.safeMethods.contains(transport.method) }
    var key: ResponseKey { ResponseKey(transport, mode) }
}

// MARK: - Keys

/// Requests with equal keys have the same response.
struct ResponseKey: Hashable, Sendable {
    var resource: ResourceKey
    var fields: HTTPFields
    var mode: ResourceCache.LookupMode
    /// The state of the resource: a request that follows a `PUT` has another one than a request that came before it.
    var generation: UInt64 = 0

    func of(_ visit: ResourceCache.Visit) -> Self {
        var key = self
        key.generation = visit.generation
        return key
    }

    init(_ request: TransportRequest, _ mode: ResourceCache.LookupMode = .useCache) {
        resource = ResourceKey(request.url)
        fields = request.headerFields
        self.mode = mode
    }
}

/// The key of an entry: the URL without its fragment, which isn't sent to servers. Equivalent URLs with different spellings are different
/// keys, which costs a second request. A `PUT` invalidates its own spelling and the usual one.
struct ResourceKey: Hashable, Sendable {
    let text: String

    init(_ url: URL) {
        let absolute = url.absoluteString
        text = absolute.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(absolute[..<$0]) } ?? absolute
    }

    init(text: String) { self.text = text }
}

extension URL {
    /// Whether the URL contains a user name or password, so that its responses are for one user.
    var holdsCredentials: Bool { user(percentEncoded: true) != nil || password(percentEncoded: true) != nil }
}
