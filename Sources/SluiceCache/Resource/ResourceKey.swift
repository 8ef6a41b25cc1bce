import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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

/// Returns the SHA-256 of the data. It runs off the caller's actor, because a large body takes milliseconds.
@concurrent func sha256(_ data: Data) async -> Data { Data(SHA256Digest.of(data)) }
