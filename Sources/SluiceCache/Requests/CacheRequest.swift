import HTTPTypes
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request to the cache.
struct CacheRequest: Sendable {
    let transport: TransportRequest
    let resource: ResourceKey
    var mode: ResourceCache.LookupMode
    /// Whether a response is stored in memory.
    var keepsInMemory: Bool
    /// Whether the response is for one caller only, and isn't looked up or stored. This is the case for a URL with credentials, and for a
    /// `GET` with a body, which isn't part of the key.
    var isAlone: Bool
    /// Whether the caller reads the body while it arrives.
    var isStreamed: Bool

    init(
        _ transport: TransportRequest, mode: ResourceCache.LookupMode = .useCache, keepsInMemory: Bool = true,
        isStreamed: Bool = false
    ) {
        self.transport = transport
        resource = ResourceKey(transport.url)
        self.mode = mode
        self.keepsInMemory = keepsInMemory
        let hasBody = transport.body != nil && (transport.method == .get || transport.method == .head)
        isAlone = transport.url.holdsCredentials || hasBody
        self.isStreamed = isStreamed
    }

    var url: URL { transport.url }
    var headerFields: HTTPFields { transport.headerFields }
    var host: String { url.canonicalHost }
    var isShared: Bool { transport.method == .get && transport.body == nil && !isAlone }
    var arrives: Bool { isStreamed && transport.method == .get }
    var isSafe: Bool { CachePolicy.safeMethods.contains(transport.method) }
    var key: ResponseKey { ResponseKey(resource: resource, fields: headerFields, mode: mode) }
}
