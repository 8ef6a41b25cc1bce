import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The request fields that the `Vary` field of a response names (RFC 9111, section 4.1). A stored response may be used only for requests
/// with the same variant.
///
/// Values with the same meaning are equal: white space in lists and the number of field lines don't matter, and neither do the order and
/// case of preferences, such as in `Accept-Language`.
///
/// A response to a request with `Authorization` varies by that field, even if the server doesn't say so, because a program may have several
/// accounts.
///
/// The values may be secrets, as in `Cookie` and `Authorization`, so a variant stores only salted digests.
struct Variant: Sendable, Hashable {
    /// The digests of the normalized values, in hexadecimal, by lowercase name. `nil` means that the request didn't have the field, which
    /// isn't the same as an empty field.
    private var digests: [String: String?] = [:]

    /// The variant of a response that is the same for all requests.
    static let any = Variant()

    private init() {}

    /// Returns `nil` if the response matches no request, because `Vary` contains `*` or something that can't be a field name.
    init?(of response: HTTPFields, for request: HTTPFields, policy: CachePolicy) {
        if response.variesByEverything { return nil }
        for member in (response.value(of: .vary) ?? "").split(separator: ",") {
            let name = member.trimmingSpaces().lowercased()
            if name.isEmpty { continue }
            guard let field = HTTPField.Name(name) else { return nil }
            digests[name] = .some(request[field].map { Self.digest($0, name, policy) })
        }
        if let credentials = request.value(of: .authorization) {
            digests[Self.credentials] = .some(Self.digest(credentials, Self.credentials, policy))
        }
    }

    var isAny: Bool { digests.isEmpty }

    /// The bytes that the variant takes in memory.
    var memoryCost: Int { digests.reduce(0) { $0 + $1.key.utf8.count + ($1.value?.utf8.count ?? 0) + 64 } }

    func matches(_ request: HTTPFields, policy: CachePolicy) -> Bool {
        digests.allSatisfy { name, digest in
            HTTPField.Name(name).flatMap { request[$0] }.map { Self.digest($0, name, policy) } == digest
        }
    }

    /// Whether the response is for the user of the request, or for all users.
    func isForUser(of request: HTTPFields, policy: CachePolicy) -> Bool {
        guard let digest = digests[Self.credentials] else { return true }
        return request.value(of: .authorization).map { Self.digest($0, Self.credentials, policy) } == digest
    }

    private static let credentials = "authorization"

    private static func digest(_ value: String, _ name: String, _ policy: CachePolicy) -> String {
        SHA256Digest.of(policy.salt + Array("\(name):\(normalized(value, name))".utf8)).hexadecimal
    }

    private static let preferences: Set<String> = ["accept-language", "accept-encoding", "accept-charset"]

    private static func normalized(_ value: String, _ name: String) -> String {
        let members = value.splitOutsideQuotes(at: UInt8(ascii: ",")).map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
        guard preferences.contains(name) else { return members.joined(separator: ",") }
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

extension Variant {
    /// One line for each name, sorted: `name` if the request didn't have the field, otherwise `name:digest`. Equal variants have equal
    /// texts.
    var lines: String {
        if digests.isEmpty { return "" }
        return digests.sorted { $0.key < $1.key }
            .map { name, digest in digest.map { "\(name):\($0)\n" } ?? "\(name)\n" }.joined()
    }

    init?(lines: String) {
        for line in lines.split(separator: "\n") {
            let parts = line.split(separator: ":", omittingEmptySubsequences: false)
            let (name, digest) = (String(parts[0]), parts.count == 2 ? String(parts[1]) : nil)
            guard parts.count <= 2, HTTPField.Name(name) != nil, digest.map({ $0.utf8.count == 64 }) ?? true else {
                return nil
            }
            digests[name] = .some(digest)
        }
    }
}
