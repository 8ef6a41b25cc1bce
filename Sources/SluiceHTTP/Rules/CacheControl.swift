package import HTTPTypes

/// The `Cache-Control` field of a response, as a private cache reads it (RFC 9111, section 5.2.2).
///
/// Directives for shared caches (`public`, `s-maxage`, `proxy-revalidate`) and unknown directives are ignored. A directive that is
/// limited to some fields (`no-cache="Set-Cookie"`) counts as unlimited, which is the safe reading.
package struct CacheControl: Sendable, Hashable {
    package var noStore = false
    /// Whether a stored response must be validated before each use.
    package var noCache = false
    package var isPrivate = false
    package var mustRevalidate = false
    /// The seconds for which the response is fresh. Zero if the value isn't a number, or if two values contradict each other.
    package var maxAge: Int64?

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

    /// Returns the seconds of an argument (section 1.2.2): at most `deltaSecondsLimit`, and zero if the argument isn't a number.
    private static func seconds(_ argument: Substring) -> Int64 {
        var digits = argument.trimmingSpaces()[...]
        // The argument may be a token or a quoted string (section 5.2).
        if digits.utf8.count >= 2, digits.first == "\"", digits.last == "\"" { digits = digits.dropFirst().dropLast() }
        guard digits.isDigits else { return 0 }
        return min(Int64(digits) ?? .max, deltaSecondsLimit)
    }

    /// 2³¹ seconds, 68 years: larger values count as this one (section 1.2.2).
    static let deltaSecondsLimit: Int64 = 1 << 31
}

extension StringProtocol {
    /// Returns the parts between separators, ignoring separators in quoted strings (RFC 9110, section 5.6.4).
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
