import HTTPTypes
import SluiceHTTP

/// The request fields that the `Vary` field of a response names (RFC 9111, section 4.1). A stored response may be used only for requests
/// with the same variant.
///
/// Values with the same meaning are equal: white space in lists and the number of field lines don't matter, nor do the order and the case
/// of preferences, such as in `Accept-Language`.
struct Variant: Sendable, Hashable {
    /// The values by lowercase name. `nil` means that the request had no such field, which isn't the same as an empty field.
    private var values: [String: String?] = [:]

    /// The variant of a response that is the same for all requests.
    static let any = Variant()

    private init() {}

    /// Returns `nil` if the response matches no request: if `Vary` contains `*` or a name that can't be the name of a field.
    init?(of response: HTTPFields, for request: HTTPFields, rules: CacheRules) {
        for member in (response[.vary] ?? "").split(separator: ",") {
            let name = member.trimmingSpaces().lowercased()
            if name.isEmpty || !rules[.varyStar] && name == "*" { continue }
            guard name != "*", let field = HTTPField.Name(name) else { return nil }
            values[name] = .some(request[field].map { Self.normalized($0, name, rules) })
        }
    }

    var isAny: Bool { values.isEmpty }

    func matches(_ request: HTTPFields, rules: CacheRules) -> Bool {
        guard rules[.vary] else { return true }
        return values.allSatisfy { name, value in
            HTTPField.Name(name).flatMap { request[$0] }.map { Self.normalized($0, name, rules) } == value
        }
    }

    private static let preferences: Set<String> = ["accept-language", "accept-encoding", "accept-charset"]

    private static func normalized(_ value: String, _ name: String, _ rules: CacheRules) -> String {
        guard rules[.varyWhitespace] else { return value }
        let members = value.splitOutsideQuotes(at: UInt8(ascii: ",")).map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
        guard rules[.varyPreferences], preferences.contains(name) else { return members.joined(separator: ",") }
        return members.map(preference).sorted().joined(separator: ",")
    }

    /// Returns a preference such as `en;q=0.5` in lowercase, without spaces and with the shortest weight (RFC 9110, section 12.4.2).
    private static func preference(_ member: String) -> String {
        let parts = member.lowercased().split(separator: ";").map { $0.trimmingSpaces() }
        guard parts.count == 2, parts[1].hasPrefix("q=") else { return parts.joined(separator: ";") }
        var weight = parts[1].dropFirst(2)
        if weight.contains(".") {
            while weight.last == "0" { weight.removeLast() }
            if weight.last == "." { weight.removeLast() }
        }
        return weight == "1" ? parts[0] : "\(parts[0]);q=\(weight)"
    }
}
