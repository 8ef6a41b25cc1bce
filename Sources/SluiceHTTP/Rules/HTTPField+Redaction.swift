#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
package import HTTPTypes

extension HTTPField {
    /// What of a field's name says that its value is a secret, or has one in it.
    private static let wordsOfSecrets = [
        "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
    ]

    /// The value as messages may show it: a secret is left out, and what may be one in a URL.
    ///
    /// Which value is a secret is told from the field's name: `Authorization`, `Set-Cookie`, `X-Api-Key`.
    package var redactedForDisplay: String {
        let name = name.canonicalName
        switch name {
        // What a server asks for is no secret (RFC 9110, section 11.6.1).
        case "www-authenticate", "proxy-authenticate": return value
        case "location", "content-location", "referer":
            return URL(string: value)?.redactedForDisplay ?? "(unreadable URL)"
        case "link", "refresh":
            return value.contains("?") ? value.prefix { $0 != "?" } + "?…" : value
        default: return Self.wordsOfSecrets.contains(where: name.contains) ? "(left out)" : value
        }
    }
}
