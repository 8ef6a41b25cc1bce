package import HTTPTypes

/// What the `Cache-Control` field of a response says to a cache that serves one user (RFC 9111, section 5.2.2).
///
///     CacheControl(HTTPFields([HTTPField(name: .cacheControl, value: "max-age=60, must-revalidate")])).maxAge   // 60
///
/// Directives that speak to shared caches (`public`, `s-maxage`, `proxy-revalidate`) are not looked at, nor are unknown
/// ones. A directive that is limited to some fields (`no-cache="Set-Cookie"`) counts as if it were not, which errs on the
/// safe side.
package struct CacheControl: Sendable, Hashable {
    /// Nothing of the response may be stored.
    package var noStore = false
    /// It may be stored, and must be validated before each use.
    package var noCache = false
    /// It is for one user.
    package var isPrivate = false
    /// Once stale, it must not be used without validation.
    package var mustRevalidate = false
    /// The seconds for which it is fresh. Zero if the directive is there and is no number, or contradicts itself.
    package var maxAge: Int64?

    /// Reads all `Cache-Control` lines of the fields.
    package init(_ fields: HTTPFields) {
        for directive in (fields[.cacheControl] ?? "").splitOutsideQuotes(at: UInt8(ascii: ",")) {
            let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmingSpaces().lowercased()
            switch name {
            case "no-store": noStore = true
            case "no-cache": noCache = true
            case "private": isPrivate = true
            case "must-revalidate": mustRevalidate = true
            case "max-age":
                let seconds = parts.count == 2 ? Self.seconds(parts[1]) : 0
                maxAge = maxAge.map { $0 == seconds ? $0 : 0 } ?? seconds
            default: break
            }
        }
    }

    /// Seconds as section 1.2.2 reads them: as many as fit where there are more, none where it is no number.
    private static func seconds(_ argument: Substring) -> Int64 {
        var digits = argument.trimmingSpaces()[...]
        // Both forms are accepted (section 5.2).
        if digits.utf8.count >= 2, digits.first == "\"", digits.last == "\"" { digits = digits.dropFirst().dropLast() }
        guard digits.isDigits else { return 0 }
        return min(Int64(digits) ?? .max, deltaSecondsLimit)
    }

    /// The greatest number of seconds that a cache need tell apart: 68 years.
    static let deltaSecondsLimit: Int64 = 1 << 31
}

extension StringProtocol {
    /// The parts between separators, which do not count within a quoted string (RFC 9110, section 5.6.4).
    func splitOutsideQuotes(at separator: UInt8) -> [String] {
        var parts: [String] = []
        var part: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in utf8 {
            if byte == separator, !isQuoted {
                parts.append(String(decoding: part, as: UTF8.self))
                part = []
                continue
            }
            if !isEscaped, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
            part.append(byte)
        }
        parts.append(String(decoding: part, as: UTF8.self))
        return parts
    }
}
