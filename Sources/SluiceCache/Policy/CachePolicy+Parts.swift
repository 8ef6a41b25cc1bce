import HTTPTypes
import SluiceHTTP

// Parts of a representation (RFC 9111, sections 3.3 and 3.4).
extension CachePolicy {
    /// A part is combined with a stored response that has the same strong validator (section 3.4), or stored.
    func part(_ new: StoredResponse.Head?, _ exchange: Exchange, _ stored: [StoredResponse.Head]) -> Outcome {
        let (request, isCompletion) = (exchange.request, exchange.isCompletion)
        guard let new, let range = new.part, range.upperBound - range.lowerBound == new.length else {
            return Outcome(answer: isCompletion ? .again : .response)
        }
        let replaced = matching(stored, request)
        var outcome = Outcome(answer: .response)
        if let index = replaced.first(where: { canCombine(stored[$0], new) }) {
            let old = stored[index]
            if old.part == nil {
                update(&outcome, [index: old.updated(by: exchange, policy: self)], for: request)
                return outcome
            }
            if let (head, body) = combination(old, index, new, exchange), mayStore(head, for: request) {
                add(Outcome.Addition(head: head, body: body), inPlaceOf: replaced, to: &outcome, stored)
                if isCompletion {
                    let served = served(head, for: request, at: exchange.received, isValidated: true)
                    outcome.answer = served.map { .addition($0) } ?? .again
                }
                return outcome
            }
        }
        if isCompletion {
            // Another version of the representation, or not the missing rest.
            return Outcome(answer: .again, removals: Set(replaced.filter { stored[$0].part != nil }))
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
        guard rules[.strongCombination] else { return true }
        guard let validator = Validator(old.fields, now: old.received) else { return false }
        return validator == Validator(new.fields, now: new.received)
    }

    /// Returns the union of two parts, or `nil` if there is a gap between them.
    private func combination(
        _ old: StoredResponse.Head, _ index: Int, _ new: StoredResponse.Head, _ exchange: Exchange
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
        let updated = old.updated(by: exchange, policy: self)
        return (updated.asPart(union, total: old.total ?? new.total, policy: self), body)
    }

    /// A response that was cut off is a part, if a strong validator tells whether the rest belongs to it (section 3.3). It doesn't take the
    /// place of a whole response, which may be the only answer if the server fails again.
    func incomplete(_ exchange: Exchange, _ stored: [StoredResponse.Head]) -> Outcome {
        guard rules[.cutOffParts], exchange.request.method == .get, exchange.bodyLength > 0,
            let head = head(of: exchange), Validator(head.fields, now: head.received) != nil,
            matching(stored, exchange.request).allSatisfy({ stored[$0].part != nil })
        else { return Outcome(answer: .response) }
        let announced: Range<Int64>
        switch (head.status, head.part, head.announcedLength) {
        case (200, _, let length?): announced = 0..<length
        case (206, let part?, _): announced = part
        default: return Outcome(answer: .response)
        }
        let start = announced.lowerBound
        guard head.length < announced.upperBound - start else { return Outcome(answer: .response) }
        let total = head.status == 206 ? head.total : announced.upperBound
        let received = head.asPart(start..<start + head.length, total: total, policy: self)
        var outcome = part(received, exchange, stored)
        outcome.answer = .response
        return outcome
    }
}
