package import HTTPTypes

/// A strong validator of a response, for `If-Range`: it identifies one version of a file byte for byte.
///
/// Weak validators aren't supported (RFC 9110, section 13.1.5). With a weak one, the server guarantees equal meaning but not equal
/// bytes, and a resumed file could mix the bytes of two versions.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A `Last-Modified` date as the server wrote it, because servers compare it byte for byte.
    case lastModified(String)

    /// Creates the strong validator of a response, or returns `nil` if it has none. `now` is the current time, for dates with a two-digit
    /// year.
    ///
    /// - If there is an entity tag, the date is ignored, even if the tag is weak or malformed: section 13.1.5 allows a date only
    ///   in a response without an entity tag.
    /// - A date is strong if the response's `Date` is at least 60 s later. Then the file wasn't changed again within the same second,
    ///   even if the server's clock is slightly off. Section 8.8.2.2 doesn't define the interval; RFC 7232 required 60 s.
    package init?(_ headerFields: HTTPFields, now: HTTPDate) {
        if let tag = headerFields[.eTag] {
            guard let tag = Self.strongTag(tag) else { return nil }
            self = .entityTag(tag)
            return
        }
        guard let modified = headerFields[.lastModified]?.trimmingSpaces(), let date = headerFields[.date],
            let modification = HTTPDate(parsing: modified, now: now),
            let response = HTTPDate(parsing: date.trimmingSpaces(), now: now),
            response.secondsSince1970 - modification.secondsSince1970 >= 60
        else { return nil }
        self = .lastModified(modified)
    }

    package var field: String {
        switch self {
        case .entityTag(let field), .lastModified(let field): field
        }
    }

    /// Returns whether a response (a 206 or 416, which may omit its validator) has a different validator. Entity tags are compared strongly
    /// (section 8.8.3.2), so a weak tag always differs.
    package func isContradicted(by headerFields: HTTPFields) -> Bool {
        switch self {
        case .entityTag(let tag): headerFields[.eTag].map { $0.trimmingSpaces() != tag } ?? false
        case .lastModified(let date): headerFields[.lastModified].map { $0.trimmingSpaces() != date } ?? false
        }
    }

    /// Returns the entity tag if it is strong: visible characters other than quotes, between quotes (section 8.8.3).
    private static func strongTag(_ field: String) -> String? {
        let tag = field.trimmingSpaces()
        let bytes = Array(tag.utf8)
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\""),
            bytes.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F })
        else { return nil }
        return tag
    }
}
