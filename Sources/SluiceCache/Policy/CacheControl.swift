import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The `Cache-Control` field of a request or a response, as a private cache reads it (RFC 9111, section 5.2).
///
/// Directives for shared caches (`s-maxage`, `proxy-revalidate`) and unknown directives are ignored, as are arguments to directives that
/// take none.
struct CacheControl: Sendable, Hashable {
    var noStore = false
    /// Whether a response must be validated before it is used.
    var noCache = false
    /// The lowercase names of the fields that only a validated response may have (`no-cache="Set-Cookie"`).
    var noCacheFields: Set<String> = []
    var isPublic = false
    var isPrivate = false
    var mustRevalidate = false
    var mustUnderstand = false
    var isImmutable = false
    var onlyIfCached = false
    /// Zero if the value isn't a number, or if two values contradict each other.
    var maxAge: Int64?
    /// The largest number of seconds if the directive has no argument.
    var maxStale: Int64?
    var minFresh: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?

    init(_ fields: HTTPFields) {
        guard let field = fields.value(of: .cacheControl) else { return }
        for directive in Self.directives(of: field) {
            let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let argument = parts.count == 2 ? parts[1] : nil
            func number() -> Int64? { argument.flatMap(Self.seconds) }
            switch parts[0].trimmingSpaces().lowercased() {
            case "no-store": noStore = true
            case "no-cache":
                let names = argument.map(Self.names) ?? []
                if names.isEmpty { noCache = true } else { noCacheFields.formUnion(names) }
            case "public": isPublic = true
            case "private": isPrivate = true
            case "must-revalidate": mustRevalidate = true
            case "must-understand": mustUnderstand = true
            case "immutable": isImmutable = true
            case "only-if-cached": onlyIfCached = true
            case "max-age":
                // A space around the equals sign is an error.
                let isWellFormed = !parts[0].hasSuffix(" ") && !parts[0].hasSuffix("\t")
                let seconds = isWellFormed ? number() ?? 0 : 0
                maxAge = maxAge.map { $0 == seconds ? $0 : 0 } ?? seconds
            case "max-stale": maxStale = argument == nil ? .max : number()
            case "min-fresh": minFresh = number()
            case "stale-while-revalidate": staleWhileRevalidate = number()
            case "stale-if-error": staleIfError = number()
            default: break
            }
        }
    }

    /// The directives of a request. `Pragma: no-cache` is the HTTP/1.0 form (section 5.4).
    static func ofRequest(_ fields: HTTPFields) -> CacheControl {
        var control = CacheControl(fields)
        // In a request, the directive takes no names.
        if !control.noCacheFields.isEmpty { control.noCache = true }
        if !fields.contains(.cacheControl), let pragma = fields.value(of: .pragma) {
            control.noCache = pragma.split(separator: ",").contains { $0.trimmingSpaces().lowercased() == "no-cache" }
        }
        return control
    }

    /// An unterminated quoted string must not hide the directives after it.
    private static func directives(of field: String) -> [String] {
        let directives = field.splitOutsideQuotes(at: UInt8(ascii: ","))
        let isClosed = !directives.isEmpty && isBalanced(directives[directives.count - 1])
        return (isClosed ? directives : field.split(separator: ",").map(String.init)).map { $0.trimmingSpaces() }
    }

    private static func isBalanced(_ text: String) -> Bool {
        var (isQuoted, isEscaped) = (false, false)
        for byte in text.utf8 {
            if !isEscaped, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
        }
        return !isQuoted
    }

    /// Returns the seconds of an argument, or `nil` if it isn't a number (section 1.2.2).
    private static func seconds(_ argument: Substring) -> Int64? {
        let digits = unquoted(argument)
        guard digits.isDigits else { return nil }
        return min(Int64(digits) ?? .max, deltaSecondsLimit)
    }

    private static func names(_ argument: Substring) -> Set<String> {
        Set(unquoted(argument).split(separator: ",").map { $0.trimmingSpaces().lowercased() }.filter { !$0.isEmpty })
    }

    /// An argument may be a token or a quoted string (section 5.2).
    private static func unquoted(_ argument: Substring) -> Substring {
        guard argument.utf8.count >= 2, argument.first == "\"", argument.last == "\"" else { return argument }
        return argument.dropFirst().dropLast()
    }

    /// 2³¹ seconds, 68 years: larger values count as this one (section 1.2.2).
    static let deltaSecondsLimit: Int64 = 1 << 31
}

extension HTTPField.Name {
    static let pragma = Self("Pragma")!
}
