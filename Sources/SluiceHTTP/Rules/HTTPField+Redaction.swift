#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
package import HTTPTypes

extension HTTPField {
    /// Parts of field names that mark the value as a secret.
    private static let wordsOfSecrets = [
        "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
    ]

    /// The value without secrets, for messages. The field's name determines whether its value is a secret (`Authorization`, `Set-Cookie`,
    /// `X-Api-Key`). The query, fragment, user name and password of a URL are left out too.
    package var redactedForDisplay: String {
        let name = name.canonicalName
        switch name {
        // A server's challenge isn't a secret (RFC 9110, section 11.6.1).
        case "www-authenticate", "proxy-authenticate": return value
        case "location", "content-location", "referer":
            return URL(string: value)?.redactedForDisplay ?? "(unreadable URL)"
        case "link", "refresh":
            return value.contains("?") ? value.prefix { $0 != "?" } + "?…" : value
        default: return Self.wordsOfSecrets.contains(where: name.contains) ? "(left out)" : value
        }
    }
}
