import HTTPTypes
import SluiceHTTP

// What a response changes (RFC 9111, sections 3 and 4.3.3).
extension CachePolicy {
    /// Returns what to store, update and remove, and the answer for the caller.
    ///
    /// `stored` has the same stored responses as for the decision.
    func outcome(of exchange: Exchange, stored: [StoredResponse.Head]) -> Outcome {
        let status = exchange.response.status.code
        guard status >= 200 else { return Outcome(answer: .interim) }
        guard exchange.isComplete || !Self.safeMethods.contains(exchange.request.method) else {
            return incomplete(exchange, stored)
        }
        switch (exchange.request.method, status) {
        case (.get, 304), (.head, 304):
            return confirmation(exchange, stored)
        case (.get, _) where Self.failures.contains(status), (.head, _) where Self.failures.contains(status):
            if let (index, served) = staleResponse(
                for: exchange.request, mode: exchange.mode, stored: stored, at: exchange.received, isOffline: false)
            {
                return Outcome(answer: .stored(index, served))
            }
        case (.get, 206):
            return part(head(of: exchange), exchange, stored)
        case (.get, 416) where exchange.isCompletion:
            // The part that should be completed is out of date.
            return Outcome(answer: .again, removals: Set(stored.indices.filter { stored[$0].part != nil }))
        case (.head, 200):
            return headUpdate(exchange, stored)
        case (.get, _), (.head, _), (.options, _), (.trace, _):
            break
        default:
            return unsafe(exchange)
        }
        return exchange.request.method == .get ? full(exchange, stored) : Outcome(answer: .response)
    }

    /// Returns the head to store, or `nil` if the response matches no later request.
    func head(of exchange: Exchange) -> StoredResponse.Head? {
        let fields = exchange.response.headerFields
        guard let variant = Variant(of: fields, for: exchange.request.headerFields, policy: self) else { return nil }
        return StoredResponse.Head(
            status: exchange.response.status.code, fields: fields, length: exchange.bodyLength, variant: variant,
            requested: exchange.requested, received: exchange.received, policy: self)
    }

    /// A full response takes the place of the stored responses for the same variant.
    private func full(_ exchange: Exchange, _ stored: [StoredResponse.Head]) -> Outcome {
        var outcome = Outcome(answer: .response)
        let status = exchange.response.status.code
        let replaced = matching(stored, exchange.request)
        if let head = head(of: exchange), mayStore(head, for: exchange.request) {
            add(Outcome.Addition(head: head, body: [.response]), inPlaceOf: replaced, to: &outcome, stored)
        } else if (200..<400).contains(status) || status == 404 || status == 410 {
            // It can't be stored, but shows that the stored responses are out of date.
            outcome.removals = Set(replaced)
        }
        return outcome
    }

    /// Stores a response in place of others. Removes the oldest of too many variants.
    func add(
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
    func matching(_ stored: [StoredResponse.Head], _ request: TransportRequest) -> [Int] {
        stored.indices.filter { stored[$0].variant.matches(request.headerFields, policy: self) }
    }
}
