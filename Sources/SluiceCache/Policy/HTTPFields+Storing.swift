import HTTPTypes
import SluiceHTTP

// The fields of a stored response (RFC 9111, sections 3.1 and 3.2).
extension HTTPFields {
    /// Returns the fields to store: all except those that describe the connection, and with a `Date` (RFC 9110, section 6.6.1).
    func stored(receivedAt received: HTTPDate, rules: CacheRules) -> HTTPFields {
        let named = rules[.namedByConnection] ? namesInConnection : []
        var fields = HTTPFields(
            filter {
                !(rules[.connectionFields] && Self.aboutConnection.contains($0.name))
                    && !named.contains($0.name.canonicalName)
            })
        if rules[.addedDate], self[.date].flatMap({ HTTPDate(parsing: $0, now: received) }) == nil {
            fields[.date] = received.description
        }
        return fields
    }

    /// Returns the fields of a stored response after a 304 or a response to `HEAD` (section 3.2).
    ///
    /// The fields that describe the stored bytes don't change.
    func updated(by confirmation: HTTPFields, rules: CacheRules) -> HTTPFields {
        var fields = self
        // Both describe the earlier response. If the new one has no such fields, its time of arrival counts.
        fields[.age] = nil
        fields[.date] = nil
        var kept = Self.aboutConnection
        if rules[.fieldsOfBody] { kept.formUnion([.contentLength, .contentEncoding, .contentRange]) }
        let named = rules[.namedByConnection] ? confirmation.namesInConnection : []
        for name in confirmation.map(\.name) where !kept.contains(name) && !named.contains(name.canonicalName) {
            fields[fields: name] = confirmation[fields: name]
        }
        return fields
    }

    /// The names of fields that are for the next recipient only. A field for all recipients can't be one: otherwise a mistake of the
    /// server would hide `Cache-Control: no-store` (RFC 9110, section 7.6.1).
    private var namesInConnection: Set<String> {
        let names = (self[.connection] ?? "").split(separator: ",").map { $0.trimmingSpaces().lowercased() }
        return Set(names).subtracting(Self.forAllRecipients.lazy.map(\.canonicalName))
    }

    private static let forAllRecipients: [HTTPField.Name] = [
        .age, .cacheControl, .contentEncoding, .contentLength, .contentLocation, .contentRange, .contentType, .date,
        .eTag, .expires, .lastModified, .vary,
    ]

    /// Section 3.1, with the fields for proxies and those of RFC 9110, section 7.6.1.
    private static let aboutConnection: Set<HTTPField.Name> = {
        let names = ["Keep-Alive", "Proxy-Connection"].compactMap { HTTPField.Name($0) }
        return Set(names).union([
            .connection, .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization, .te, .trailer,
            .transferEncoding, .upgrade,
        ])
    }()
}
