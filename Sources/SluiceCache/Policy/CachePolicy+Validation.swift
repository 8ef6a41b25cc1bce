import HTTPTypes
import SluiceHTTP

// Conditional requests, and the responses that they confirm (RFC 9111, section 4.3).
extension CachePolicy {
    /// Returns the fields of a request that validates a stored response (sections 4.3.1 and 4.3.2), or `nil` if the response has no
    /// validator that the request can use.
    func validation(of request: TransportRequest, with head: StoredResponse.Head) -> HTTPFields? {
        guard let conditions = conditions(for: head) else { return nil }
        var fields = request.headerFields
        if let tag = conditions[.ifNoneMatch].flatMap({ EntityTag($0) }) {
            guard let united = union(of: fields, with: [tag]) else { return nil }
            fields = united
        } else if fields[.ifNoneMatch] != nil {
            // The server would ignore a date next to the client's tags.
            return nil
        }
        // The date replaces the client's, which the cache compares itself after a 304.
        if let modified = conditions[.ifModifiedSince] { fields[.ifModifiedSince] = modified }
        return fields
    }

    /// Returns the fields with these tags in addition to the client's, or `nil` if the client's condition is `*`.
    func union(of fields: HTTPFields, with tags: [EntityTag]) -> HTTPFields? {
        let clients = fields[.ifNoneMatch]
        if clients?.trimmingSpaces() == "*" { return nil }
        let known = rules[.tagsOfClient] ? clients.map(EntityTag.list) ?? [] : []
        var all: [EntityTag] = []
        for tag in known + tags where !all.contains(tag) { all.append(tag) }
        var fields = fields
        fields[.ifNoneMatch] = all.map(\.description).joined(separator: ", ")
        return fields
    }

    /// Returns the fields that validate a stored response, or `nil` if it has no validator.
    func conditions(for head: StoredResponse.Head) -> HTTPFields? {
        var conditions: HTTPFields = [:]
        if rules[.entityTags], let tag = EntityTag(of: head.fields) { conditions[.ifNoneMatch] = tag.description }
        if rules[.modificationDates], let modified = head.modified { conditions[.ifModifiedSince] = modified }
        return conditions.isEmpty ? nil : conditions
    }

    /// Returns which of the `known` stored responses a 304 confirms (section 4.3.4). The others are those of other users.
    ///
    /// - With a strong entity tag, it confirms those with the same strong tag.
    /// - With a weak one, or only a date of modification, it confirms the most recent of those with the same validator.
    /// - Without validators, it confirms the only response that the request asked about. (The RFC allows this only if that response has no
    ///   validator either. But servers omit the fields, and a 304 can't mean another response if the client has none.)
    func confirmed(
        by confirmation: HTTPFields, asked: [Int], known: [Int], stored: [StoredResponse.Head]
    ) -> [Int] {
        func latest(_ matches: [Int]) -> [Int] {
            matches.max { stored[$0].created < stored[$1].created }.map { [$0] } ?? []
        }
        if let field = confirmation[.eTag] {
            guard let tag = EntityTag(field) else { return [] }
            let matches = known.filter { index in
                EntityTag(of: stored[index].fields).map { own in
                    tag.isWeak || !rules[.strongConfirmation] ? own.matchesWeakly(tag) : own.matchesStrongly(tag)
                } ?? false
            }
            return tag.isWeak ? latest(matches) : matches
        }
        if let modified = confirmation[.lastModified]?.trimmingSpaces() {
            let matches = asked.filter { stored[$0].fields[.lastModified]?.trimmingSpaces() == modified }
            if !matches.isEmpty { return latest(matches) }
            // A date contradicts another date, but not an entity tag alone.
            return asked.count == 1 && stored[asked[0]].fields[.lastModified] == nil ? asked : []
        }
        return asked.count == 1 ? asked : []
    }
}
