import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Groups of responses, which are invalidated together (RFC 9875):
//
//     GET /songs/1      Cache-Groups: "songs", "artist-7"
//     POST /upload      Cache-Group-Invalidation: "songs"         removes the response above, and all others of its group
//
// A group belongs to an origin. Names are equal if their bytes are equal.

extension HTTPFields {
    /// The groups that a response belongs to (section 2).
    var cacheGroups: Set<String> { strings(in: .cacheGroups) }

    /// The groups that a response to an unsafe request invalidates (section 3).
    var invalidatedCacheGroups: Set<String> { strings(in: .cacheGroupInvalidation) }

    /// Returns the members of a list of strings (RFC 9651, sections 3.1 and 3.3.3), without their parameters. A field that contains
    /// anything else is ignored as a whole.
    private func strings(in name: HTTPField.Name) -> Set<String> {
        guard let field = self[name] else { return [] }
        var strings: Set<String> = []
        for member in field.splitOutsideQuotes(at: UInt8(ascii: ",")) {
            let value = member.splitOutsideQuotes(at: UInt8(ascii: ";"))[0].trimmingSpaces()
            guard let string = Self.string(value) else { return [] }
            strings.insert(string)
        }
        return strings
    }

    /// Returns the text of a string in quotes, in which only `"` and `\` are escaped. They stay escaped: equal strings are written alike.
    private static func string(_ value: String) -> String? {
        let bytes = value.utf8
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
        let text = bytes.dropFirst().dropLast()
        var isEscaped = false
        for byte in text {
            guard (0x20...0x7E).contains(byte) else { return nil }
            if isEscaped {
                guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { return nil }
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                return nil
            }
        }
        return isEscaped ? nil : String(Substring(text))
    }
}

extension HTTPField.Name {
    static let cacheGroups = HTTPField.Name("Cache-Groups")!
    static let cacheGroupInvalidation = HTTPField.Name("Cache-Group-Invalidation")!
}

extension CachePolicy {
    /// Returns the groups of the request's origin whose stored responses this response invalidates. Safe requests invalidate none (section
    /// 3).
    func groupInvalidations(by record: ExchangeRecord) -> Set<String> {
        guard !Self.safeMethods.contains(record.request.method), (200..<400).contains(record.response.status.code)
        else {
            return []
        }
        return record.response.headerFields.invalidatedCacheGroups
    }
}

// MARK: - The invalidation of groups in all stages

extension ResourceCache {
    /// Returns the groups that the stored responses of a URL belong to.
    func groups(of key: ResourceKey) async throws -> Set<String> {
        let kept = memory.value(for: key)?.responses.map(\.head) ?? []
        let stored = try await find(key).ready.map(\.head)
        return (kept + stored).reduce(into: []) { $0.formUnion($1.fields.cacheGroups) }
    }

    /// Removes the stored responses of groups. Reads the whole index, because servers seldom ask for this.
    func invalidate(_ groups: Set<String>, of origin: String) async throws {
        guard !groups.isEmpty else { return }
        // What is being stored is found in the index then.
        await backlog.drain()
        let isOfOrigin = { (key: ResourceKey) in URL(string: key.text)?.origin == origin }
        let (values, visited) = memory.contents
        let members = values.filter { _, kept in
            kept.responses.contains { !$0.head.fields.cacheGroups.isDisjoint(with: groups) }
        }
        // Responses that are arriving may belong to a group, too, so none of the origin are stored.
        for key in visited + members.map(\.key) where isOfOrigin(key) { forget(key) }
        for key in try await disk.keys(inGroups: groups) where isOfOrigin(key) { try await invalidate(key) }
    }
}
