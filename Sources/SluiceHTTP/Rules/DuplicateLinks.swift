package import HTTPTypes

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The other servers of a file that a response names in its `Link` fields (RFC 6249, section 3; RFC 8288 for the syntax).
///
/// ```text
/// Link: <https://mirror.example/a.iso>; rel=duplicate; pri=1, <https://other.example/a.iso>; rel="duplicate"; pri=2
/// ```
package enum DuplicateLinks {
    /// The most URLs that count. A server could name any number.
    package static let maximumCount = 16

    /// Returns the URLs with the relation `duplicate`, by priority, each once. Those that can't be requested are left out, and so are those
    /// with http if the response came with https.
    package static func urls(in fields: HTTPFields, of url: URL) -> [URL] {
        var found: [(priority: Int, url: URL)] = []
        for field in fields[fields: .link] {
            var reader = LinkReader(rest: field.value[...])
            while found.count < 4 * maximumCount, let link = reader.next() {
                guard link.relations.contains("duplicate"), let target = URL(string: link.target, relativeTo: url),
                    let absolute = try? URL(fetchable: target.absoluteString), absolute != url,
                    absolute.scheme?.lowercased() == "https" || url.scheme?.lowercased() != "https",
                    !found.contains(where: { $0.url == absolute })
                else { continue }
                found.append((link.priority, absolute))
            }
        }
        // The sort is stable.
        return found.sorted { $0.priority < $1.priority }.prefix(maximumCount).map(\.url)
    }
}

private struct LinkReader {
    struct Link {
        var target: String
        var relations: Set<String> = []
        /// Lower numbers first. Section 3.1 of RFC 6249: links without a priority come last.
        var priority = 1_000_000
    }

    var rest: Substring

    /// Returns the next link, or `nil` at the end of the field or if the rest isn't a link.
    mutating func next() -> Link? {
        rest = rest.drop { $0 == "," || $0 == " " || $0 == "\t" }
        guard rest.first == "<", let end = rest.firstIndex(of: ">") else { return nil }
        var link = Link(target: String(rest[rest.index(after: rest.startIndex)..<end]))
        rest = rest[rest.index(after: end)...]
        var hasRelation = false
        while let (name, value) = parameter() {
            switch name {
            // "Occurrences after the first MUST be ignored" (RFC 8288, section 3.3).
            case "rel" where !hasRelation:
                hasRelation = true
                link.relations = Set(value.lowercased().split(separator: " ").map(String.init))
            case "pri": link.priority = Int(value).map { min(max($0, 0), 1_000_000) } ?? link.priority
            default: break
            }
        }
        return link
    }

    private mutating func parameter() -> (name: String, value: String)? {
        skipSpaces()
        guard rest.first == ";" else { return nil }
        rest.removeFirst()
        skipSpaces()
        let name = rest.prefix { !"=;, \t".contains($0) }
        rest = rest.dropFirst(name.count)
        skipSpaces()
        guard rest.first == "=" else { return (name.lowercased(), "") }
        rest.removeFirst()
        skipSpaces()
        return (name.lowercased(), rest.first == "\"" ? quoted() : token())
    }

    private mutating func token() -> String {
        let token = rest.prefix { !";, \t".contains($0) }
        rest = rest.dropFirst(token.count)
        return String(token)
    }

    private mutating func quoted() -> String {
        rest.removeFirst()
        var value = ""
        while let next = rest.popFirst(), next != "\"" {
            if next == "\\", let escaped = rest.popFirst() { value.append(escaped) } else { value.append(next) }
        }
        return value
    }

    private mutating func skipSpaces() { rest = rest.drop { $0 == " " || $0 == "\t" } }
}

extension HTTPField.Name {
    /// RFC 8288.
    fileprivate static let link = Self("Link")!
}
