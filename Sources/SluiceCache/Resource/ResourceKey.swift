import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an entry is kept under: the URL without its fragment, which no server sees.
///
/// URLs that mean the same but are spelled differently are different keys: that costs a request, no more.
struct ResourceKey: Hashable, Sendable {
    let text: String

    init(_ url: URL) {
        let absolute = url.absoluteString
        text = absolute.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(absolute[..<$0]) } ?? absolute
    }

    init(text: String) { self.text = text }
}

extension URL {
    /// Whether it holds a user name or password: then what it brings is for one user.
    var holdsCredentials: Bool { user(percentEncoded: true) != nil || password(percentEncoded: true) != nil }
}

/// SHA-256, off the caller's actor: a large body takes milliseconds.
@concurrent func sha256(_ data: Data) async -> Data { Data(SHA256Digest.of(data)) }
