/// A `Content-Range` field (RFC 9110, section 14.4): the bytes of a file that a response contains, or the length of the file.
///
///     ContentRange("bytes 500-999/1000")      // .part(first: 500, last: 999, total: 1000)
///     ContentRange("bytes 500-999/*")         // .part(first: 500, last: 999, total: nil)
///     ContentRange("bytes */1000")            // .unsatisfied(total: 1000)
///
/// The initializer returns `nil` for a field with another unit, for one that contradicts itself, and for one that was sent twice.
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
        // refused because the length, `last + 1`, would overflow.
        guard first <= last, last < .max, total.map({ last < $0 }) ?? true else { return nil }
        self = .part(first: first, last: last, total: total)
    }

    private static func number(_ digits: Substring) -> Int64? {
        digits.isDigits ? Int64(digits) : nil
    }
}
