import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the cache keeps of a response: the head, including what its fields mean to a cache, and the body.
struct StoredResponse: Sendable {
    var head: Head
    var body: Data
    /// The response's row in the index, or `nil` if it isn't on disk.
    var row: Int64?

    struct Head: Sendable {
        let status: Int
        let fields: HTTPFields
        /// The length of the stored body. The body of a part (206) is shorter than the representation.
        let length: Int64
        /// The request fields that the response depends on.
        let variant: Variant
        /// When the request was sent that fetched or last confirmed the response.
        let requested: HTTPDate
        /// When the response arrived or was last confirmed.
        let received: HTTPDate
        let control: CacheControl
        let freshness: Freshness

        init(
            status: Int, fields: HTTPFields, length: Int64, variant: Variant = .any, requested: HTTPDate,
            received: HTTPDate, policy: CachePolicy
        ) {
            self.status = status
            self.fields = fields.stored(receivedAt: received)
            self.length = length
            self.variant = variant
            self.requested = requested
            self.received = received
            control = CacheControl(self.fields)
            freshness = Freshness(
                status: status, fields: self.fields, control: control, requested: requested, received: received,
                policy: policy)
        }
    }
}

// MARK: - What the fields say

extension StoredResponse.Head {
    /// The bytes of a part (206) within the representation, or `nil` if the response isn't a part.
    var part: Range<Int64>? {
        guard status == 206, case .part(let first, let last, _) = fields[.contentRange].flatMap({ ContentRange($0) })
        else { return nil }
        return first..<last + 1
    }

    /// The length of the whole representation, or `nil` if this is a part that doesn't say.
    var total: Int64? {
        guard status == 206 else { return length }
        guard case .part(_, _, let total) = fields[.contentRange].flatMap({ ContentRange($0) }) else { return nil }
        return total
    }

    /// The length that the server announced, which differs from `length` if the response was cut off.
    var announcedLength: Int64? {
        fields[.contentLength].flatMap { $0.isDigits ? Int64($0) : nil }
    }

    /// The `Last-Modified` field as the server wrote it, if it is a date.
    var modified: String? {
        fields[.lastModified].flatMap { HTTPDate(parsing: $0, now: received) == nil ? nil : $0.trimmingSpaces() }
    }

    /// Whether the body is the resource itself: not a part of it, an error text, or compressed.
    var isUsableAsData: Bool {
        (status == 200 || status == 203) && fields.contentCoding == nil
    }

    var hasExplicitFreshness: Bool { control.maxAge != nil || fields[.expires] != nil }

    /// When the response was created, in seconds since 1970: the `Date` field, or the time of arrival.
    var created: Int64 {
        (fields[.date].flatMap { HTTPDate(parsing: $0, now: received) } ?? received).secondsSince1970
    }
}

extension StoredResponse.Head {
    /// Whether a stored response takes precedence over this one, which just arrived: its request was sent later, during this exchange, and
    /// it is more recent by the server's clock (RFC 9111, section 4).
    ///
    /// Servers' clocks may differ, so the dates alone don't decide.
    func isSuperseded(by stored: Self, at now: HTTPDate) -> Bool {
        variant == stored.variant && created < stored.created
            && requested.secondsSince1970 < stored.requested.secondsSince1970
            && stored.requested.secondsSince1970 <= now.secondsSince1970
    }
}

// MARK: - Changes

extension StoredResponse.Head {
    /// Returns the head after a 304, a response to `HEAD` or another part of the same representation.
    func updated(by exchange: CachePolicy.Exchange, policy: CachePolicy) -> Self {
        Self(
            status: status, fields: fields.updated(by: exchange.response.headerFields),
            length: length, variant: variant, requested: exchange.requested, received: exchange.received,
            policy: policy)
    }

    /// Returns the head with another variant.
    func of(_ variant: Variant, policy: CachePolicy) -> Self {
        Self(
            status: status, fields: fields, length: length, variant: variant, requested: requested,
            received: received, policy: policy)
    }

    /// Returns the head of a longer part, or of the whole if the part has all bytes.
    func asPart(_ range: Range<Int64>, total: Int64?, policy: CachePolicy) -> Self {
        if range.lowerBound == 0, range.upperBound == total { return changed(nil, length: range.upperBound, policy) }
        let text = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map(String.init) ?? "*")"
        return changed(text, length: range.upperBound - range.lowerBound, policy)
    }

    /// Returns the head of a part that has all bytes.
    func asWhole(policy: CachePolicy) -> Self { changed(nil, length: length, policy) }

    private func changed(_ contentRange: String?, length: Int64, _ policy: CachePolicy) -> Self {
        var fields = fields
        fields[.contentRange] = contentRange
        fields[.contentLength] = "\(length)"
        return Self(
            status: contentRange == nil ? 200 : 206, fields: fields, length: length, variant: variant,
            requested: requested, received: received, policy: policy)
    }
}

// MARK: - The stored fields (RFC 9111, sections 3.1 and 3.2)

extension HTTPFields {
    /// Returns the fields to store: all fields that don't describe the connection, plus a `Date` if there is none (RFC 9110, section
    /// 6.6.1).
    func stored(receivedAt received: HTTPDate) -> HTTPFields {
        let named = namesInConnection
        var fields = HTTPFields(
            filter { !Self.aboutConnection.contains($0.name) && !named.contains($0.name.canonicalName) })
        if self[.date].flatMap({ HTTPDate(parsing: $0, now: received) }) == nil {
            fields[.date] = received.description
        }
        return fields
    }

    /// Returns the fields of a stored response after a 304 or a response to `HEAD` (section 3.2).
    ///
    /// The fields that describe the stored bytes don't change. If a server sends new names again and again, the fields of earlier responses
    /// are dropped, except those that a cache or a client needs to use the response.
    func updated(by confirmation: HTTPFields) -> HTTPFields {
        var fields = self
        // Both describe the earlier response. If the new one doesn't have these fields, its time of arrival counts.
        fields[.age] = nil
        fields[.date] = nil
        let kept = Self.aboutConnection.union([.contentLength, .contentEncoding, .contentRange])
        let named = confirmation.namesInConnection
        for name in confirmation.map(\.name) where !kept.contains(name) && !named.contains(name.canonicalName) {
            fields[fields: name] = confirmation[fields: name]
        }
        guard fields.count > Self.maximumStored else { return fields }
        let needed = kept.union(Self.forAllRecipients).union(confirmation.map(\.name))
        return HTTPFields(fields.filter { needed.contains($0.name) })
    }

    /// The number of fields of a stored response from which on an update drops old ones. `HTTPFields` traps at 65,535, so a damaged index
    /// with twice as many isn't read.
    private static let maximumStored = 2 * HTTPTransport.maximumFields

    /// Whether `Vary` contains `*`, so that the response matches no other request (section 4.1).
    var variesByEverything: Bool {
        (self[.vary] ?? "").split(separator: ",").contains { $0.trimmingSpaces() == "*" }
    }

    /// The content coding, or `nil` for none.
    var contentCoding: String? {
        self[.contentEncoding].flatMap { $0.trimmingSpaces().lowercased() == "identity" ? nil : $0 }
    }

    /// The names of fields that are only for the next recipient. Fields for all recipients are excluded; otherwise a server's mistake could
    /// hide `Cache-Control: no-store` (RFC 9110, section 7.6.1).
    private var namesInConnection: Set<String> {
        let names = (self[.connection] ?? "").split(separator: ",").map { $0.trimmingSpaces().lowercased() }
        return Set(names).subtracting(Self.forAllRecipients.lazy.map(\.canonicalName))
    }

    private static let forAllRecipients: [HTTPField.Name] = [
        .age, .cacheControl, .contentEncoding, .contentLength, .contentLocation, .contentRange, .contentType, .date,
        .eTag, .expires, .lastModified, .vary,
    ]

    /// Section 3.1, plus the fields for proxies and the fields in RFC 9110, section 7.6.1.
    private static let aboutConnection: Set<HTTPField.Name> = {
        let names = ["Keep-Alive", "Proxy-Connection"].compactMap { HTTPField.Name($0) }
        return Set(names).union([
            .connection, .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization, .te, .trailer,
            .transferEncoding, .upgrade,
        ])
    }()
}

// MARK: - The index

extension HTTPFields {
    var lines: String {
        map { "\($0.name.rawName):\($0.value)\n" }.joined()
    }

    init?(lines: String) {
        self.init()
        for line in lines.utf8.split(separator: UInt8(ascii: "\n")) {
            guard count < 2 * Self.maximumStored, let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(Substring(line[..<colon])))
            else { return nil }
            append(HTTPField(name: name, value: String(Substring(line[line.index(after: colon)...]))))
        }
    }
}

// MARK: - Freshness

/// How long a response is fresh (RFC 9111, section 4.2). All times are in seconds, on this machine's clock, which the caller reads.
struct Freshness: Sendable, Hashable {
    /// How many seconds the response is fresh, counted from its creation at the origin server (section 4.2.1).
    var lifetime: Int64
    /// The age in seconds that the response had when it arrived (section 4.2.3).
    var initialAge: Int64
    /// When the response arrived, in seconds since 1970.
    var received: Int64

    init(
        status: Int, fields: HTTPFields, control: CacheControl, requested: HTTPDate, received: HTTPDate,
        policy: CachePolicy
    ) {
        func date(_ name: HTTPField.Name) -> HTTPDate? { fields[name].flatMap { HTTPDate(parsing: $0, now: received) } }
        let created = date(.date) ?? received
        if let maxAge = control.maxAge {
            lifetime = maxAge
        } else if fields[.expires] != nil {
            // A value that isn't a date, "0" in particular, means that the response is stale (section 5.3).
            lifetime = date(.expires).map { max(0, $0.secondsSince1970 - created.secondsSince1970) } ?? 0
        } else if let modified = date(.lastModified),
            control.isPublic || CachePolicy.cacheableStatuses.contains(status)
        {
            // A tenth of the time since the last modification (section 4.2.2).
            let tenth = max(0, created.secondsSince1970 - modified.secondsSince1970) / 10
            lifetime = min(tenth, policy.maximumHeuristicLifetime)
        } else {
            lifetime = 0
        }
        let apparentAge = max(0, received.secondsSince1970 - created.secondsSince1970)
        let delay = max(0, received.secondsSince1970 - requested.secondsSince1970)
        initialAge = max(apparentAge, Self.age(in: fields) + delay)
        self.received = received.secondsSince1970
    }

    func age(at now: HTTPDate) -> Int64 {
        initialAge + max(0, now.secondsSince1970 - received)
    }

    /// Whether the age is known. It isn't if the clock was set back to before the time of arrival.
    func isAgeKnown(at now: HTTPDate) -> Bool {
        now.secondsSince1970 >= received
    }

    func isFresh(at now: HTTPDate) -> Bool {
        isAgeKnown(at: now) && lifetime > age(at: now)
    }

    /// Returns the first value of the `Age` field, or zero if it isn't a number (section 5.1).
    private static func age(in fields: HTTPFields) -> Int64 {
        guard let field = fields[.age] else { return 0 }
        let values = field.split(separator: ",", omittingEmptySubsequences: false)
        guard let age = values.first?.trimmingSpaces(), age.isDigits else { return 0 }
        return min(Int64(age) ?? .max, CacheControl.deltaSecondsLimit)
    }
}

// MARK: - Variants

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
        for member in (response[.vary] ?? "").split(separator: ",") {
            let name = member.trimmingSpaces().lowercased()
            if name.isEmpty { continue }
            guard let field = HTTPField.Name(name) else { return nil }
            digests[name] = .some(request[field].map { Self.digest($0, name, policy) })
        }
        if let credentials = request[.authorization] {
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
        return request[.authorization].map { Self.digest($0, Self.credentials, policy) } == digest
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

// MARK: - The index

extension Variant {
    /// One line for each name, sorted: `name` if the request didn't have the field, otherwise `name:digest`. Equal variants have equal
    /// texts.
    var lines: String {
        digests.sorted { $0.key < $1.key }
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

// MARK: - Cache-Control

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
        guard let field = fields[.cacheControl] else { return }
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
        if fields[.cacheControl] == nil, let pragma = fields[.pragma] {
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
