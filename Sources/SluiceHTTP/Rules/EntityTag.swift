package import HTTPTypes

/// An entity tag, `"…"` or `W/"…"` (RFC 9110, section 8.8.3).
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    package var isWeak: Bool
    /// The tag with its quotes, without `W/`.
    package var opaque: String

    package var description: String { isWeak ? "W/" + opaque : opaque }

    /// Parses a tag, or returns `nil` if the text isn't one: visible characters other than quotes, between quotes.
    package init?(_ text: some StringProtocol) {
        let text = text.trimmingSpaces()
        // The grammar is one of bytes. As a `Character`, a quote with a combining mark wouldn't be a quote.
        isWeak = text.utf8.starts(with: "W/".utf8)
        let bytes = text.utf8.dropFirst(isWeak ? 2 : 0)
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\""),
            bytes.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F })
        else { return nil }
        opaque = String(Substring(bytes))
    }

    /// The tag of a response.
    package init?(of response: HTTPFields) {
        guard let field = response.value(of: .eTag) else { return nil }
        self.init(field)
    }

    /// Parses the tags of an `If-None-Match` field. Members that aren't tags are ignored.
    package static func list(_ field: String) -> [EntityTag] {
        field.splitOutsideQuotes(at: UInt8(ascii: ",")).compactMap { EntityTag($0) }
    }

    /// Compares two tags weakly (section 8.8.3.2), as for `If-None-Match`.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Compares two tags strongly.
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }
}
