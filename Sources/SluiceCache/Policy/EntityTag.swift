import HTTPTypes
import SluiceHTTP

/// An entity tag, `"…"` or `W/"…"` (RFC 9110, section 8.8.3).
struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    var isWeak: Bool
    /// The tag with its quotes, without `W/`.
    var opaque: String

    var description: String { isWeak ? "W/" + opaque : opaque }

    /// Parses a tag, or returns `nil` if the text isn't one.
    init?(_ text: some StringProtocol) {
        let text = text.trimmingSpaces()
        isWeak = text.hasPrefix("W/")
        opaque = isWeak ? String(text.dropFirst(2)) : text
        guard opaque.utf8.count >= 2, opaque.first == "\"", opaque.last == "\"",
            !opaque.dropFirst().dropLast().utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 <= 0x20 || $0 == 0x7F }
            )
        else { return nil }
    }

    /// The tag of a response.
    init?(of response: HTTPFields) {
        guard let field = response[.eTag] else { return nil }
        self.init(field)
    }

    /// Parses the tags of an `If-None-Match` field. Members that aren't tags are ignored.
    static func list(_ field: String) -> [EntityTag] {
        field.splitOutsideQuotes(at: UInt8(ascii: ",")).compactMap { EntityTag($0) }
    }

    /// Compares two tags weakly (section 8.8.3.2), as for `If-None-Match`.
    func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Compares two tags strongly.
    func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }
}
