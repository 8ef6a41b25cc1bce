import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Requests with equal keys have the same response.
struct ResponseKey: Hashable, Sendable {
    var resource: ResourceKey
    var fields: HTTPFields
    var mode: ResourceCache.LookupMode
    /// The state of the resource. A request after a `PUT` has a different generation than a request before it.
    var generation: UInt64 = 0

    func of(_ visit: ResourceCache.Visit) -> Self {
        var key = self
        key.generation = visit.generation
        return key
    }

    /// Most requests have no fields, and hashing those takes longer than hashing the rest.
    func hash(into hasher: inout Hasher) {
        hasher.combine(resource)
        hasher.combine(generation)
        if !fields.isEmpty { hasher.combine(fields) }
    }
}

extension ResponseKey {
    init(_ request: TransportRequest) {
        self.init(resource: ResourceKey(request.url), fields: request.headerFields, mode: .useCache)
    }
}

/// The key of an entry: the URL without its fragment, which isn't sent to servers. Equivalent URLs with different spellings are different
/// keys, which costs a second request. A `PUT` invalidates its own spelling and the normal one.
struct ResourceKey: Hashable, Sendable {
    let text: String
    /// A lookup in the cache asks several tables, so the text is hashed once.
    private let hash: Int

    init(_ url: URL) {
        let absolute = url.absoluteString
        let fragment = absolute.offset(of: UInt8(ascii: "#"))
        self.init(text: fragment.map { String(decoding: absolute.utf8.prefix($0), as: UTF8.self) } ?? absolute)
    }

    init(text: String) {
        self.text = text
        hash = text.hashValue
    }

    /// The key of values whose bytes come from a closure. It differs from the key of any URL, because a URL has no NUL.
    init(ofClosure key: String) { self.init(text: "\0\(key)") }

    static func == (one: Self, other: Self) -> Bool { one.hash == other.hash && one.text == other.text }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension URL {
    /// Whether the URL contains a user name or password, so that its responses are for one user.
    var holdsCredentials: Bool {
        // Nearly every URL lacks the character after them, which is found faster than they are.
        absoluteString.offset(of: UInt8(ascii: "@")) != nil
            && (user(percentEncoded: true) != nil || password(percentEncoded: true) != nil)
    }
}

extension String {
    /// The position of a byte. Searching ``utf8`` takes several times as long.
    fileprivate func offset(of byte: UInt8) -> Int? {
        var text = self
        return text.withUTF8 { $0.firstIndex(of: byte) }
    }
}
