import HTTPTypes
import SluiceHTTP
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A response as the cache keeps it: the head, including what its fields mean to a cache, and the body.
struct StoredResponse: Sendable {
    var head: Head
    var body: Data
    /// The response's row in the index.
    var location = RowReference()

    /// The response's row in the index, or `nil` if it isn't on disk.
    var row: Int64? { location.row }

    init(head: Head, body: Data, row: Int64? = nil) {
        (self.head, self.body) = (head, body)
        location = RowReference(row)
    }

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

/// The row of a response in the index, which is known once the response has been stored.
final class RowReference: Sendable {
    private let number: Atomic<Int64>

    init(_ row: Int64? = nil) { number = Atomic(row ?? 0) }

    /// `nil` if the response isn't on disk. Rows are numbered from 1.
    var row: Int64? {
        let number = number.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// Notes that the response has been stored.
    func set(_ row: Int64) { number.store(row, ordering: .relaxed) }
}

// MARK: - What the fields say

extension StoredResponse.Head {
    /// The bytes of a part (206) within the representation, or `nil` if the response isn't a part.
    var part: Range<Int64>? {
        guard status == 206,
            case .part(let first, let last, _) = fields.value(of: .contentRange).flatMap({ ContentRange($0) })
        else { return nil }
        return first..<last + 1
    }

    /// The length of the whole representation, or `nil` if this is a part that doesn't say.
    var total: Int64? {
        guard status == 206 else { return length }
        guard case .part(_, _, let total) = fields.value(of: .contentRange).flatMap({ ContentRange($0) }) else {
            return nil
        }
        return total
    }

    /// The length that the server announced, which differs from `length` if the response was cut off.
    var announcedLength: Int64? {
        fields.value(of: .contentLength).flatMap { $0.isDigits ? Int64($0) : nil }
    }

    /// The `Last-Modified` field as the server wrote it, if it is a date.
    var modified: String? {
        fields.value(of: .lastModified).flatMap {
            HTTPDate(parsing: $0, now: received) == nil ? nil : $0.trimmingSpaces()
        }
    }

    /// Whether the body is the resource itself: not a part of it, an error text, or compressed.
    var isUsableAsData: Bool {
        (status == 200 || status == 203) && fields.contentCoding == nil
    }

    var hasExplicitFreshness: Bool { control.maxAge != nil || fields.contains(.expires) }

    /// When the response was created, in seconds since 1970: the `Date` field, or the time of arrival.
    var created: Int64 {
        (fields.value(of: .date).flatMap { HTTPDate(parsing: $0, now: received) } ?? received).secondsSince1970
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
    func updated(by record: CachePolicy.ExchangeRecord, policy: CachePolicy) -> Self {
        Self(
            status: status, fields: fields.updated(by: record.response.headerFields),
            length: length, variant: variant, requested: record.requested, received: record.received,
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
        if length != self.length { fields[.contentDigest] = nil }
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
        var fields = filter {
            !Self.aboutConnection.contains($0.name) && (named.isEmpty || !named.contains($0.name.canonicalName))
        }
        if value(of: .date).flatMap({ HTTPDate(parsing: $0, now: received) }) == nil {
            fields[.date] = received.description
        }
        return fields
    }

    /// Returns the fields of a stored response after a 304 or a response to `HEAD` (section 3.2).
    ///
    /// The fields that describe the stored bytes don't change. If a server sends new names again and again, the fields of earlier responses
    /// are dropped, except those that a cache or a client needs to use the response.
    func updated(by confirmation: HTTPFields) -> HTTPFields {
        let kept = Self.aboutConnection.union([.contentLength, .contentEncoding, .contentRange])
        let named = confirmation.namesInConnection
        let replacing = confirmation.filter { !kept.contains($0.name) && !named.contains($0.name.canonicalName) }
        // Both describe the earlier response. If the new one lacks them, its time of arrival counts.
        let replaced = Set(replacing.map(\.name)).union([.age, .date])
        // One pass, because each lookup in `HTTPFields` takes time in proportion to their number.
        let fields = HTTPFields(filter { !replaced.contains($0.name) } + replacing)
        guard fields.count > Self.maximumStored else { return fields }
        let needed = kept.union(Self.forAllRecipients).union(confirmation.map(\.name))
        return HTTPFields(fields.filter { needed.contains($0.name) })
    }

    /// When a stored response has more fields than this, an update drops old ones. `HTTPFields` traps at 65,535 fields, so a row
    /// with twice as many as this, from a damaged index, isn't read.
    private static let maximumStored = 2 * HTTPTransport.maximumFields

    /// Whether `Vary` contains `*`, so that the response matches no other request (section 4.1).
    var variesByEverything: Bool {
        (value(of: .vary) ?? "").split(separator: ",").contains { $0.trimmingSpaces() == "*" }
    }

    /// The content coding, or `nil` for none.
    var contentCoding: String? {
        value(of: .contentEncoding).flatMap { $0.trimmingSpaces().lowercased() == "identity" ? nil : $0 }
    }

    /// The names of other fields that are only for the next recipient. Fields for all recipients are excluded; otherwise a server's mistake
    /// could hide `Cache-Control: no-store` (RFC 9110, section 7.6.1).
    private var namesInConnection: Set<String> {
        // The usual value names a field that is dropped anyway.
        guard let connection = value(of: .connection), connection != "keep-alive" else { return [] }
        let names = connection.split(separator: ",").compactMap { HTTPField.Name($0.trimmingSpaces()) }
        return Set(
            names.lazy.filter { !Self.aboutConnection.contains($0) && !Self.forAllRecipients.contains($0) }
                .map(\.canonicalName))
    }

    private static let forAllRecipients: Set<HTTPField.Name> = [
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
        var lines = ""
        lines.reserveCapacity(linesSize)
        for field in self {
            lines += field.name.rawName
            lines += ":"
            lines += field.value
            lines += "\n"
        }
        return lines
    }

    /// The size of ``lines`` in bytes.
    var linesSize: Int { reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 2 } }

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
