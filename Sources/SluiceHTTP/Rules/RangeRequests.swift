package import HTTPTypes

// MARK: - If-Range

/// A response's strong validator, for `If-Range`. It identifies one version of a file byte for byte.
///
/// Weak validators aren't supported (RFC 9110, section 13.1.5). With a weak one, the server guarantees the same meaning but not the same
/// bytes, so a resumed file could mix bytes from two versions.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// A `Last-Modified` date as the server wrote it, because servers compare it byte for byte.
    case lastModified(String)

    /// Creates a response's strong validator, or returns `nil` if it has none. `now` is the current time, for dates with a two-digit year.
    ///
    /// - If there is an entity tag, the date is ignored, even if the tag is weak or malformed: section 13.1.5 allows a date only
    ///   in a response without an entity tag.
    /// - A date is strong if the response's `Date` is at least 60 s later. Then the file wasn't changed again within the same second, even
    ///   if the server's clock is slightly off. Section 8.8.2.2 doesn't specify the interval; RFC 7232 required 60 s.
    package init?(_ headerFields: HTTPFields, now: HTTPDate) {
        if headerFields.contains(.eTag) {
            guard let tag = EntityTag(of: headerFields), !tag.isWeak else { return nil }
            self = .entityTag(tag.description)
            return
        }
        guard let modified = headerFields.value(of: .lastModified)?.trimmingSpaces(),
            let date = headerFields.value(of: .date),
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
        case .entityTag(let tag): headerFields.value(of: .eTag).map { $0.trimmingSpaces() != tag } ?? false
        case .lastModified(let date): headerFields.value(of: .lastModified).map { $0.trimmingSpaces() != date } ?? false
        }
    }
}

// MARK: - Content-Range

/// A `Content-Range` field (RFC 9110, section 14.4): the bytes of a file that a response contains, or the length of the file.
///
///     ContentRange("bytes 500-999/1000")      // .part(first: 500, last: 999, total: 1000)
///     ContentRange("bytes 500-999/*")         // .part(first: 500, last: 999, total: nil)
///     ContentRange("bytes */1000")            // .unsatisfied(total: 1000)
///
/// The initializer returns `nil` if the field has a different unit, contradicts itself, or was sent twice.
package enum ContentRange: Sendable, Hashable {
    /// The bytes from `first` to `last`, inclusive, of a file with `total` bytes; `total` is `nil` if the server doesn't know it.
    case part(first: Int64, last: Int64, total: Int64?)
    /// The requested range contains no byte of the file, which has `total` bytes.
    case unsatisfied(total: Int64)

    package init?(_ field: String) {
        let words = field.trimmingSpaces().split(separator: " ", omittingEmptySubsequences: false)
        // Unit names are case-insensitive (section 14.1).
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let total = Self.number(parts[1])
        guard total != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = Self.number(bounds[0]), let last = Self.number(bounds[1]) else {
            return nil
        }
        // "Invalid if last-pos is less than first-pos, or complete-length is less than or equal to last-pos." The largest `Int64` is
        // rejected because the length, `last + 1`, would overflow.
        guard first <= last, last < .max, total.map({ last < $0 }) ?? true else { return nil }
        self = .part(first: first, last: last, total: total)
    }

    private static func number(_ digits: Substring) -> Int64? {
        digits.isDigits ? Int64(digits) : nil
    }
}
