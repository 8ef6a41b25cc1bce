package import HTTPTypes

/// What tells one state of a file on a server from another, byte for byte: what `If-Range` may carry.
///
///     if let validator = Validator(response.headerFields, now: now) { request.headerFields[.ifRange] = validator.field }
///
/// Only strong ones exist (RFC 9110, section 13.1.5): with a weak one the server vouches for the meaning and not the bytes,
/// and old bytes would be followed by new ones.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A `Last-Modified` date as the server wrote it: servers compare it by its bytes.
    case lastModified(String)

    /// The validator that a response brings, or nil if it has none that is strong.
    ///
    /// - An entity tag decides alone. If it is weak or malformed, the date does not stand in for it: section 13.1.5 allows
    ///   a date only where there is no entity tag.
    /// - A date is strong if the response's `Date` is at least 60 s later: then the file was not changed again within the
    ///   second that the date names, by a clock that may be a little off (section 8.8.2.2 leaves the time open; 60 s is
    ///   what RFC 7232 asked for).
    ///
    /// `now` is for dates with two digits for the year.
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

    /// What `If-Range` carries.
    package var field: String {
        switch self {
        case .entityTag(let field), .lastModified(let field): field
        }
    }

    /// Whether a response that may leave its validator out (a 206 or 416) says that it is about another state.
    ///
    /// Entity tags are compared strongly (section 8.8.3.2): a weak one is another.
    package func isContradicted(by headerFields: HTTPFields) -> Bool {
        switch self {
        case .entityTag(let tag): headerFields[.eTag].map { $0.trimmingSpaces() != tag } ?? false
        case .lastModified(let date): headerFields[.lastModified].map { $0.trimmingSpaces() != date } ?? false
        }
    }

    /// An entity tag if it is strong: quotes around any visible characters but quotes (section 8.8.3).
    private static func strongTag(_ field: String) -> String? {
        let tag = field.trimmingSpaces()
        let bytes = Array(tag.utf8)
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\""),
            bytes.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F })
        else { return nil }
        return tag
    }
}
