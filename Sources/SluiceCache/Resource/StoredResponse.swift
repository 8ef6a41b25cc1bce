import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct StoredResponse: Sendable {
    var head: Head
    var body: Data
    /// The response's row in the index, or `nil` if it isn't on disk.
    var row: Int64?

    struct Head: Sendable {
        let status: Int
        let fields: HTTPFields
        /// The time of the request that brought or last confirmed the response.
        let requested: HTTPDate
        /// The time at which the response arrived or was last confirmed.
        let received: HTTPDate
        let freshness: Freshness

        init(
            status: Int, fields: HTTPFields, requested: HTTPDate, received: HTTPDate, maximumHeuristicLifetime: Duration
        ) {
            self.status = status
            self.fields = Freshness.stored(fields)
            self.requested = requested
            self.received = received
            freshness = Freshness(
                fields: fields, requested: requested, received: received,
                maximumHeuristicLifetime: maximumHeuristicLifetime.components.seconds)
        }

        func isFresh(at now: HTTPDate, _ policy: ResourceCache.Configuration.Policy) -> Bool {
            policy == .immutable || freshness.isFresh(at: now)
        }

        /// Returns whether the response may be stored and can be used or validated later.
        func isWorthStoring(_ policy: ResourceCache.Configuration.Policy) -> Bool {
            guard Freshness.mayStore(status: .init(code: status), fields: fields) else { return false }
            return policy == .immutable || isFresh(at: received, policy) || Freshness.conditions(for: fields) != nil
        }
    }
}

extension HTTPFields {
    var lines: String {
        map { "\($0.name.rawName):\($0.value)\n" }.joined()
    }

    init?(lines: String) {
        self.init()
        for line in lines.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { return nil }
            append(HTTPField(name: name, value: String(parts[1])))
        }
    }
}
