import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which differences between queries don't matter for a response: the field `No-Vary-Search` (draft-ietf-httpbis-no-vary-search-05).
///
/// ```text
/// GET /results?q=shoes&utm_source=email
/// 200, No-Vary-Search: params=("utm_source" "utm_campaign"), key-order
///
/// GET /results?utm_campaign=7&q=shoes             is answered by the stored response
/// ```
///
/// A field that doesn't follow the syntax counts as missing, so that no response answers a request that it wasn't meant for.
struct SearchVariance: Hashable, Sendable {
    private enum Parameters: Hashable, Sendable {
        /// All parameters matter, except these.
        case ignoring(Set<String>)
        /// No parameter matters, except these.
        case only(Set<String>)
    }

    private var parameters: Parameters
    private var ignoresOrder: Bool

    /// `nil` if the whole query matters, as without the field (section 4.1).
    init?(_ fields: HTTPFields) {
        guard let field = fields.value(of: .noVarySearch) else { return nil }
        self.init(field: field)
    }

    init?(field: String) {
        var (order, params, except): (Member?, Member?, Member?)
        for text in field.splitOutsideQuotes(at: UInt8(ascii: ",")) {
            guard let (name, member) = Member.parse(text.trimmingSpaces()) else { return nil }
            switch name {
            case "key-order": order = member
            case "params": params = member
            case "except": except = member
            default: break
            }
        }
        switch order {
        case nil: ignoresOrder = false
        case .boolean(let isTrue): ignoresOrder = isTrue
        case .list, .other: return nil
        }
        switch (params, except) {
        case (nil, nil), (.boolean(false), nil): parameters = .ignoring([])
        case (.list(let names), nil): parameters = .ignoring(Set(names))
        case (.boolean(true), nil): parameters = .only([])
        case (.boolean(true), .list(let names)): parameters = .only(Set(names))
        default: return nil
        }
        if !ignoresOrder, parameters == .ignoring([]) { return nil }
    }

    /// The field in a normal form, so that equal variances have equal texts.
    var text: String {
        func list(_ names: Set<String>) -> String { names.sorted().map { $0.formEncoded }.joined(separator: "&") }
        let order = ignoresOrder ? "unordered " : ""
        switch parameters {
        case .ignoring(let names): return "\(order)ignoring \(list(names))"
        case .only(let names): return "\(order)only \(list(names))"
        }
    }

    /// Returns the URL of a key without what doesn't matter in its query. Two URLs are equivalent if these texts are equal (section 5).
    func normalized(_ key: ResourceKey) -> String {
        let (base, query) = key.baseAndQuery
        var pairs = query.formPairs.filter { pair in
            switch parameters {
            case .ignoring(let names): !names.contains(pair.name)
            case .only(let names): names.contains(pair.name)
            }
        }
        // Stable: the values of a name keep their order.
        if ignoresOrder {
            pairs = pairs.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
                .map(\.element)
        }
        return base + "?" + pairs.map { "\($0.name.formEncoded)=\($0.value.formEncoded)" }.joined(separator: "&")
    }
}

// MARK: - Equivalent URLs in the index

extension SearchVariance {
    /// The text that the rows of equivalent URLs have in common, if their responses have this variance.
    func indexKey(of key: ResourceKey) -> String { "\(text)\n\(normalized(key))" }
}

extension StoredResponse.Head {
    /// The text for the index, or `nil` if the response answers only requests for its own URL.
    func searchKey(of key: ResourceKey) -> String? { SearchVariance(fields)?.indexKey(of: key) }
}

extension ResourceKey {
    /// The URL up to its query, and the query without its question mark.
    fileprivate var baseAndQuery: (base: String, query: Substring) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (text, "") }
        return (String(text[..<mark]), text[text.utf8.index(after: mark)...])
    }

    /// The URL without its query.
    var withoutQuery: String { baseAndQuery.base }
}

extension HTTPField.Name {
    static let noVarySearch = HTTPField.Name("No-Vary-Search")!
}

// MARK: - Syntax

/// A member of a dictionary (RFC 9651, section 3.2). Parameters of members are ignored.
private enum Member {
    case boolean(Bool)
    /// An inner list of strings, decoded like the names in a query.
    case list([String])
    case other

    /// Returns a member with its name, or `nil` if it doesn't follow the syntax.
    static func parse(_ text: String) -> (name: String, member: Member)? {
        let name = text.prefix { $0.isASCII && ($0.isLowercase || $0.isNumber || "_-.*".contains($0)) }
        guard let first = name.first, first.isLowercase || first == "*" else { return nil }
        let rest = text[name.endIndex...]
        if rest.isEmpty || rest.hasPrefix(";") { return (String(name), .boolean(true)) }
        guard rest.hasPrefix("=") else { return nil }
        let value = rest.dropFirst()
        if value.hasPrefix("(") { return (String(name), strings(value.dropFirst()).map { .list($0) } ?? .other) }
        switch value.prefix(while: { $0 != ";" }) {
        case "?1": return (String(name), .boolean(true))
        case "?0": return (String(name), .boolean(false))
        case "": return nil
        default: return (String(name), .other)
        }
    }

    /// Returns the strings of an inner list, whose opening parenthesis is missing.
    private static func strings(_ text: Substring) -> [String]? {
        var rest = text.utf8[...]
        var strings: [String] = []
        while true {
            rest = rest.drop { $0 == UInt8(ascii: " ") }
            guard let byte = rest.popFirst() else { return nil }
            if byte == UInt8(ascii: ")") { return rest.isEmpty || rest.first == UInt8(ascii: ";") ? strings : nil }
            guard byte == UInt8(ascii: "\""), let string = string(&rest) else { return nil }
            strings.append(string)
            guard let next = rest.first, next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else { return nil }
        }
    }

    /// Returns a string whose opening quote is missing.
    private static func string(_ rest: inout Substring.UTF8View.SubSequence) -> String? {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return bytes[...].formDecoded
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
                else { return nil }
                bytes.append(escaped)
            case 0x20...0x7E: bytes.append(byte)
            default: return nil
            }
        }
        return nil
    }
}

// MARK: - Queries

// application/x-www-form-urlencoded (URL Standard, section 5).
extension Substring {
    /// The names and values of a query, decoded.
    fileprivate var formPairs: [(name: String, value: String)] {
        utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let bytes = Array(pair)
            let end = bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.endIndex
            return (bytes[..<end].formDecoded, bytes[end...].dropFirst().formDecoded)
        }
    }
}

extension ArraySlice<UInt8> {
    /// The text, with spaces for `+` and bytes for percent signs with two hexadecimal digits. Other percent signs stay.
    fileprivate var formDecoded: String {
        func digit(_ byte: UInt8?) -> UInt8? {
            byte.flatMap { Character(Unicode.Scalar($0)).hexDigitValue }.map(UInt8.init)
        }
        var decoded: [UInt8] = []
        var rest = self
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = digit(rest.first), let low = digit(rest.dropFirst().first) {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}

extension String {
    /// The text with all bytes but ASCII letters and digits percent-encoded, so that it contains no separator.
    fileprivate var formEncoded: String {
        utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + [byte].hexadecimal
            }
        }
    }
}
