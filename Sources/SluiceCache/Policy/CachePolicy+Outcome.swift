import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// What a response changes (RFC 9111, sections 3 and 4.3.3).
extension CachePolicy {
    /// Returns what to store, update and remove, and what the caller gets.
    ///
    /// `stored` must be the same stored responses that the decision was based on.
    func outcome(of record: ExchangeRecord, stored: [StoredResponse.Head]) -> Outcome {
        let status = record.response.status.code
        guard status >= 200 else { return Outcome(delivery: .interim) }
        guard record.isComplete || !Self.safeMethods.contains(record.request.method) else {
            return incomplete(record, stored)
        }
        switch (record.request.method, status) {
        case (.get, 304), (.head, 304):
            return confirmation(record, stored)
        case (.get, _) where Self.failures.contains(status), (.head, _) where Self.failures.contains(status):
            if let (index, served) = staleResponse(
                for: record.request, mode: record.mode, stored: stored, at: record.received, isOffline: false)
            {
                return Outcome(delivery: .stored(index, served))
            }
        case (.get, 206):
            return part(head(of: record), record, stored)
        case (.get, 416) where record.isCompletion:
            // The part that we tried to complete is out of date.
            return Outcome(delivery: .again, removals: Set(stored.indices.filter { stored[$0].part != nil }))
        case (.head, 200):
            return headUpdate(record, stored)
        case (.get, _), (.head, _), (.options, _), (.trace, _):
            break
        default:
            return unsafe(record)
        }
        return record.request.method == .get ? full(record, stored) : Outcome(delivery: .response)
    }

    /// Returns the head to store, or `nil` if the response matches no later request.
    func head(of record: ExchangeRecord) -> StoredResponse.Head? {
        let fields = record.response.headerFields
        guard let variant = Variant(of: fields, for: record.request.headerFields, policy: self) else { return nil }
        return StoredResponse.Head(
            status: record.response.status.code, fields: fields, length: record.bodyLength, variant: variant,
            requested: record.requested, received: record.received, policy: self)
    }

    /// A full response replaces the stored responses for the same variant.
    private func full(_ record: ExchangeRecord, _ stored: [StoredResponse.Head]) -> Outcome {
        var outcome = Outcome(delivery: .response)
        let status = record.response.status.code
        let replaced = matching(stored, record.request)
        if let head = head(of: record), mayStore(head, for: record.request) {
            add(Outcome.Addition(head: head, body: [.response]), inPlaceOf: replaced, to: &outcome, stored)
        } else if (200..<400).contains(status) || status == 404 || status == 410 {
            // It can't be stored, but it shows that the stored responses are out of date.
            outcome.removals = Set(replaced)
        }
        return outcome
    }

    /// Stores a response in place of others. If there are too many variants, removes the oldest.
    private func add(
        _ addition: Outcome.Addition, inPlaceOf replaced: [Int], to outcome: inout Outcome,
        _ stored: [StoredResponse.Head]
    ) {
        outcome.addition = addition
        outcome.removals = Set(replaced)
        let others = stored.indices.filter { !outcome.removals.contains($0) }
            .sorted { stored[$0].received.secondsSince1970 < stored[$1].received.secondsSince1970 }
        outcome.removals.formUnion(others.prefix(max(0, others.count + 1 - Self.maximumVariants)))
    }

    /// Returns the stored responses that could answer the request (section 4.1).
    private func matching(_ stored: [StoredResponse.Head], _ request: TransportRequest) -> [Int] {
        stored.indices.filter { stored[$0].variant.matches(request.headerFields, policy: self) }
    }
}

// MARK: - Whether a response may be stored (RFC 9111, section 3)

extension CachePolicy {
    /// The statuses that are cacheable without explicit freshness (RFC 9110, section 15.1).
    static let cacheableStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    /// The statuses with caching rules that this policy follows: those above, redirects and "not modified".
    private static let understoodStatuses = cacheableStatuses.union([302, 303, 304, 307])

    /// The statuses that depend on a request's conditions or range. The response doesn't answer other requests.
    private static let statusesOfConditions: Set<Int> = [304, 412, 416]

    /// Returns whether the response to a request may be stored, and can be used or validated later.
    func mayStore(_ head: StoredResponse.Head, for request: TransportRequest) -> Bool {
        guard !forbidsStoring(request), mayStore(head), isUseful(head) else { return false }
        return request.method == .get || request.method == .post && isNewState(head, after: request)
    }

    /// A request with `no-store` must leave no trace (section 5.2.1.5).
    private func forbidsStoring(_ request: TransportRequest) -> Bool { CacheControl(request.headerFields).noStore }

    /// Returns whether the server allows a response to a `GET` to be stored.
    func mayStore(_ head: StoredResponse.Head) -> Bool {
        let (status, control) = (head.status, head.control)
        // Other numbers are invalid (RFC 9110, section 15).
        guard (200..<600).contains(status) else { return false }
        if Self.statusesOfConditions.contains(status) { return false }
        // In a single user's cache, `private` and `Authorization` need no rule (sections 3.5 and 5.2.2.7).
        if control.mustUnderstand {
            guard Self.understoodStatuses.contains(status) else { return false }
        } else if control.noStore {
            return false
        }
        if head.fields.variesByEverything { return false }
        // Without a valid range, a 206 could be mistaken for a whole response (section 3.3). In other responses, the field has no meaning
        // (RFC 9110, section 14.4).
        if status == 206, head.part == nil { return false }
        return Self.cacheableStatuses.contains(status) || control.isPublic || control.isPrivate
            || head.hasExplicitFreshness
    }

    /// Returns whether the response is fresh on arrival, can be validated, or may be used while it is stale.
    private func isUseful(_ head: StoredResponse.Head) -> Bool {
        isFresh(head, at: head.received)
            || conditions(for: head) != nil
            || mayBeStale(head)
                && max(head.control.staleWhileRevalidate ?? 0, head.control.staleIfError ?? 0) > 0
    }

    /// Whether the response to a `POST` says that it is the new state of the resource (RFC 9110, section 9.3.3), so that a `GET` can use
    /// it.
    private func isNewState(_ head: StoredResponse.Head, after request: TransportRequest) -> Bool {
        guard head.status == 200, head.hasExplicitFreshness, let location = head.fields.value(of: .contentLocation)
        else { return false }
        return resolved(location, of: request.url).map { ResourceKey($0) } == ResourceKey(request.url)
    }
}

// MARK: - Updates

// Responses that change the fields of stored responses: a 304, and a response to HEAD (RFC 9111, sections 3.2, 4.3.4 and 4.3.5).
extension CachePolicy {
    /// A 304 updates the stored responses that it confirms, and one of these is the answer (sections 4.3.3 and 4.3.4).
    private func confirmation(_ record: ExchangeRecord, _ stored: [StoredResponse.Head]) -> Outcome {
        let (request, client) = (record.request, record.request.headerFields)
        let fields = record.response.headerFields
        let known = stored.indices.filter { stored[$0].variant.isForUser(of: client, policy: self) }
        let asked = client.contains(.ifNoneMatch) ? [] : asked(by: record.sent, known, stored)
        let confirmed = confirmed(by: fields, asked: asked, known: known, stored: stored)
        let heads = Dictionary(
            uniqueKeysWithValues: confirmed.map { index in
                (index, stored[index].updated(by: record, policy: self))
            })
        var all = stored
        for (index, head) in heads { all[index] = head }
        // If the server confirmed a different variant, that one is the answer.
        var answers: [(Int, Served)] = []
        if let selected = selection(of: all, for: request, at: record.received, isValidated: true),
            heads[selected.0] != nil
        {
            answers = [selected]
        } else {
            answers = confirmed.compactMap { index in
                served(all[index], for: request, at: record.received, isValidated: true).map { (index, $0) }
            }
        }
        guard let answer = answers.first else {
            let isForClient = client.contains(.ifNoneMatch) || client.contains(.ifModifiedSince)
            return Outcome(delivery: isForClient ? .response : .again)
        }
        var outcome = Outcome(delivery: .stored(answer.0, answer.1))
        update(&outcome, heads, for: request)
        // If the 304 changed `Vary`, the new variant is that of this request.
        if let head = outcome.updates[answer.0],
            head.fields.value(of: .vary) != stored[answer.0].fields.value(of: .vary)
        {
            outcome.updates[answer.0] = Variant(of: head.fields, for: client, policy: self).map {
                head.of($0, policy: self)
            }
            if outcome.updates[answer.0] == nil { outcome.removals.insert(answer.0) }
        }
        return outcome
    }

    /// Returns which of the `known` stored responses a 304 confirms (section 4.3.4). The rest belong to other users.
    ///
    /// - With a strong entity tag, it confirms the responses with the same strong tag.
    /// - With a weak tag, or only a modification date, it confirms the most recent response with the same validator.
    /// - Without validators, it confirms the response that the request asked about, if there was only one. (The RFC allows this only if
    ///   that response has no validator either. But servers omit the fields, and a 304 can't mean another response if the client has no
    ///   other.)
    private func confirmed(
        by confirmation: HTTPFields, asked: [Int], known: [Int], stored: [StoredResponse.Head]
    ) -> [Int] {
        func latest(_ matches: [Int]) -> [Int] {
            matches.max { stored[$0].created < stored[$1].created }.map { [$0] } ?? []
        }
        if let field = confirmation.value(of: .eTag) {
            guard let tag = EntityTag(field) else { return [] }
            let matches = known.filter { index in
                EntityTag(of: stored[index].fields).map { own in
                    tag.isWeak ? own.matchesWeakly(tag) : own.matchesStrongly(tag)
                } ?? false
            }
            return tag.isWeak ? latest(matches) : matches
        }
        if let modified = confirmation.value(of: .lastModified)?.trimmingSpaces() {
            let matches = asked.filter { stored[$0].fields.value(of: .lastModified)?.trimmingSpaces() == modified }
            if !matches.isEmpty { return latest(matches) }
            // A date contradicts a different date, but not a response that has only an entity tag.
            return asked.count == 1 && !stored[asked[0]].fields.contains(.lastModified) ? asked : []
        }
        return asked.count == 1 ? asked : []
    }

    private func asked(by sent: HTTPFields, _ known: [Int], _ stored: [StoredResponse.Head]) -> [Int] {
        let tags = sent[.ifNoneMatch].map(EntityTag.list) ?? []
        return known.filter { index in
            EntityTag(of: stored[index].fields).map(tags.contains) ?? false
                || sent.contains(.ifModifiedSince) && sent[.ifModifiedSince] == stored[index].modified
        }
    }

    private func update(
        _ outcome: inout Outcome, _ heads: [Int: StoredResponse.Head], for request: TransportRequest
    ) {
        if forbidsStoring(request) { return }
        for (index, head) in heads {
            if mayStore(head) { outcome.updates[index] = head } else { outcome.removals.insert(index) }
        }
    }

    /// A response to `HEAD` updates the stored responses that it could describe, or removes them if it contradicts them (section 4.3.5).
    private func headUpdate(_ record: ExchangeRecord, _ stored: [StoredResponse.Head]) -> Outcome {
        let fields = record.response.headerFields
        var outcome = Outcome(delivery: .response)
        var heads: [Int: StoredResponse.Head] = [:]
        for index in matching(stored, record.request) {
            let head = stored[index]
            let isSame =
                [.eTag, .lastModified].allSatisfy { name in
                    fields[name].map { $0.trimmingSpaces() == head.fields[name]?.trimmingSpaces() } ?? true
                }
                && (fields.value(of: .contentLength).map { $0.trimmingSpaces() == head.total.map(String.init) } ?? true)
            if isSame {
                heads[index] = head.updated(by: record, policy: self)
            } else {
                outcome.removals.insert(index)
            }
        }
        update(&outcome, heads, for: record.request)
        return outcome
    }
}

// MARK: - Parts of a representation (RFC 9111, sections 3.3 and 3.4)

extension CachePolicy {
    /// Combines a part with a stored response that has the same strong validator (section 3.4), or stores the part on its own.
    private func part(_ new: StoredResponse.Head?, _ record: ExchangeRecord, _ stored: [StoredResponse.Head]) -> Outcome
    {
        let (request, isCompletion) = (record.request, record.isCompletion)
        guard let new, let range = new.part, range.upperBound - range.lowerBound == new.length else {
            return Outcome(delivery: isCompletion ? .again : .response)
        }
        let replaced = matching(stored, request)
        var outcome = Outcome(delivery: .response)
        if let index = replaced.first(where: { canCombine(stored[$0], new) }) {
            let old = stored[index]
            if old.part == nil {
                update(&outcome, [index: old.updated(by: record, policy: self)], for: request)
                return outcome
            }
            if let (head, body) = combination(old, index, new, record), mayStore(head, for: request) {
                add(Outcome.Addition(head: head, body: body), inPlaceOf: replaced, to: &outcome, stored)
                if isCompletion {
                    let served = served(head, for: request, at: record.received, isValidated: true)
                    outcome.delivery = served.map { .addition($0) } ?? .again
                }
                return outcome
            }
        }
        if isCompletion {
            // The part is from a different version, or isn't the missing rest.
            return Outcome(delivery: .again, removals: Set(replaced.filter { stored[$0].part != nil }))
        }
        let whole = new.total == new.length && range.lowerBound == 0 ? new.asWhole(policy: self) : new
        if mayStore(whole, for: request) {
            add(Outcome.Addition(head: whole, body: [.response]), inPlaceOf: replaced, to: &outcome, stored)
        }
        return outcome
    }

    private func canCombine(_ old: StoredResponse.Head, _ new: StoredResponse.Head) -> Bool {
        guard old.status == 200 || old.status == 206 else { return false }
        if let total = old.total, let other = new.total, total != other { return false }
        guard let validator = Validator(old.fields, now: old.received) else { return false }
        return validator == Validator(new.fields, now: new.received)
    }

    /// Returns the union of two parts, or `nil` if there is a gap between them.
    private func combination(
        _ old: StoredResponse.Head, _ index: Int, _ new: StoredResponse.Head, _ record: ExchangeRecord
    ) -> (StoredResponse.Head, [Outcome.Piece])? {
        guard let first = old.part, let second = new.part, second.lowerBound <= first.upperBound,
            first.lowerBound <= second.upperBound
        else { return nil }
        var body: [Outcome.Piece] = []
        if first.lowerBound < second.lowerBound {
            body.append(.stored(index, 0..<second.lowerBound - first.lowerBound))
        }
        body.append(.response)
        if second.upperBound < first.upperBound {
            body.append(.stored(index, second.upperBound - first.lowerBound..<first.upperBound - first.lowerBound))
        }
        let union = min(first.lowerBound, second.lowerBound)..<max(first.upperBound, second.upperBound)
        let updated = old.updated(by: record, policy: self)
        return (updated.asPart(union, total: old.total ?? new.total, policy: self), body)
    }

    /// A truncated response is stored as a part if it has a strong validator, which shows later whether the rest belongs to it (section
    /// 3.3). It doesn't replace a whole response, which may be the only answer if the server fails again.
    private func incomplete(_ record: ExchangeRecord, _ stored: [StoredResponse.Head]) -> Outcome {
        guard record.request.method == .get, record.bodyLength > 0,
            let head = head(of: record), Validator(head.fields, now: head.received) != nil,
            matching(stored, record.request).allSatisfy({ stored[$0].part != nil })
        else { return Outcome(delivery: .response) }
        let announced: Range<Int64>
        switch (head.status, head.part, head.announcedLength) {
        case (200, _, let length?): announced = 0..<length
        case (206, let part?, _): announced = part
        default: return Outcome(delivery: .response)
        }
        let start = announced.lowerBound
        guard head.length < announced.upperBound - start else { return Outcome(delivery: .response) }
        let total = head.status == 206 ? head.total : announced.upperBound
        let received = head.asPart(start..<start + head.length, total: total, policy: self)
        var outcome = part(received, record, stored)
        outcome.delivery = .response
        return outcome
    }
}

// MARK: - Requests that change the resource (RFC 9111, section 4.4)

extension CachePolicy {
    /// A successful request with an unsafe method invalidates its URL, and the URLs of the same origin that its response names. A response
    /// to `POST` may be stored.
    private func unsafe(_ record: ExchangeRecord) -> Outcome {
        var outcome = Outcome(
            delivery: .response, invalidations: invalidations(by: record),
            groupInvalidations: groupInvalidations(by: record))
        if record.isComplete, let head = head(of: record), mayStore(head, for: record.request) {
            outcome.addition = Outcome.Addition(head: head, body: [.response])
        }
        return outcome
    }

    /// Returns the URLs whose stored responses this response invalidates. Only the head matters, because the request has changed the
    /// resource even if the body is cut off.
    func invalidations(by record: ExchangeRecord) -> Set<ResourceKey> {
        let (request, response) = (record.request, record.response)
        guard !Self.safeMethods.contains(request.method), (200..<400).contains(response.status.code) else { return [] }
        var urls = [request.url]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let field = response.headerFields[name], let url = resolved(field, of: request.url) else {
                continue
            }
            if url.origin == request.url.origin { urls.append(url) }
        }
        return Set(urls.map { withoutCredentials($0) }.flatMap { [$0, normalized($0)] }.map { ResourceKey($0) })
    }

    static let safeMethods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace]

    /// Nothing is stored for a URL with credentials, but the server has the same resource without them.
    private func withoutCredentials(_ url: URL) -> URL {
        guard url.holdsCredentials, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return url
        }
        parts.user = nil
        parts.password = nil
        return parts.url ?? url
    }

    /// Returns the normal spelling of a URL (RFC 9110, section 4.2.3), because the server may use a different spelling than the cache's
    /// users.
    private func normalized(_ url: URL) -> URL {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
        let scheme = parts.scheme?.lowercased()
        parts.scheme = scheme
        parts.host = parts.host?.lowercased()
        if parts.port == (scheme == "https" ? 443 : 80) { parts.port = nil }
        if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
        return parts.url ?? url
    }

    private func resolved(_ reference: String, of base: URL) -> URL? {
        URL(string: reference.trimmingSpaces(), relativeTo: base)?.absoluteURL
    }
}
