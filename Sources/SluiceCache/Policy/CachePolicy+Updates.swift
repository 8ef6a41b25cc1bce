import HTTPTypes
import SluiceHTTP

// Responses that change the fields of stored ones: 304, and those to HEAD (RFC 9111, sections 3.2, 4.3.4 and 4.3.5).
extension CachePolicy {
    /// A 304 updates the stored responses that it confirms, and one of them is the answer (sections 4.3.3 and 4.3.4).
    func confirmation(_ exchange: Exchange, _ stored: [StoredResponse.Head]) -> Outcome {
        let (request, client) = (exchange.request, exchange.request.headerFields)
        let fields = exchange.response.headerFields
        let known = stored.indices.filter { stored[$0].variant.isForUser(of: client, policy: self) }
        let asked = client[.ifNoneMatch] == nil ? asked(by: exchange.sent, known, stored) : []
        let confirmed = confirmed(by: fields, asked: asked, known: known, stored: stored)
        let heads = Dictionary(
            uniqueKeysWithValues: confirmed.map { index in
                (index, stored[index].updated(by: exchange, policy: self))
            })
        var all = stored
        for (index, head) in heads { all[index] = head }
        // If the server has confirmed another variant, that one is the answer.
        var answers: [(Int, Served)] = []
        if let selected = selection(of: all, for: request, at: exchange.received, isValidated: true),
            heads[selected.0] != nil
        {
            answers = [selected]
        } else {
            answers = confirmed.compactMap { index in
                served(all[index], for: request, at: exchange.received, isValidated: true).map { (index, $0) }
            }
        }
        guard let answer = answers.first else {
            let isForClient = client[.ifNoneMatch] != nil || client[.ifModifiedSince] != nil
            return Outcome(answer: isForClient ? .response : .again)
        }
        var outcome = Outcome(answer: .stored(answer.0, answer.1))
        update(&outcome, heads, for: request)
        // The 304 may have changed `Vary`. It belongs to this request.
        if let head = outcome.updates[answer.0], head.fields[.vary] != stored[answer.0].fields[.vary] {
            outcome.updates[answer.0] = Variant(of: head.fields, for: client, policy: self).map {
                head.of($0, policy: self)
            }
            if outcome.updates[answer.0] == nil { outcome.removals.insert(answer.0) }
        }
        return outcome
    }

    private func asked(by sent: HTTPFields, _ known: [Int], _ stored: [StoredResponse.Head]) -> [Int] {
        let tags = sent[.ifNoneMatch].map(EntityTag.list) ?? []
        return known.filter { index in
            EntityTag(of: stored[index].fields).map(tags.contains) ?? false
                || sent[.ifModifiedSince] != nil && sent[.ifModifiedSince] == stored[index].modified
        }
    }

    func update(
        _ outcome: inout Outcome, _ heads: [Int: StoredResponse.Head], for request: TransportRequest
    ) {
        // A request with no-store leaves no trace.
        if rules[.requestNoStore], CacheControl(request.headerFields, rules: rules).noStore { return }
        for (index, head) in heads {
            if mayStore(head) { outcome.updates[index] = head } else { outcome.removals.insert(index) }
        }
    }

    /// A response to `HEAD` updates the stored responses that it could describe, or removes them if it contradicts them (section 4.3.5).
    func headUpdate(_ exchange: Exchange, _ stored: [StoredResponse.Head]) -> Outcome {
        let fields = exchange.response.headerFields
        var outcome = Outcome(answer: .response)
        guard rules[.headUpdates] else { return outcome }
        var heads: [Int: StoredResponse.Head] = [:]
        for index in matching(stored, exchange.request) {
            let head = stored[index]
            let isSame =
                [.eTag, .lastModified].allSatisfy { name in
                    fields[name].map { $0.trimmingSpaces() == head.fields[name]?.trimmingSpaces() } ?? true
                } && (fields[.contentLength].map { $0.trimmingSpaces() == head.total.map(String.init) } ?? true)
            if isSame {
                heads[index] = head.updated(by: exchange, policy: self)
            } else {
                outcome.removals.insert(index)
            }
        }
        update(&outcome, heads, for: exchange.request)
        return outcome
    }
}
