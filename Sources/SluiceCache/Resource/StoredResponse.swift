import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A whole response as the stages keep it.
struct StoredResponse: Sendable {
    var head: Head
    var body: Data
    /// Its row in the index; nil if it is not on disk.
    var row: Int64?

    /// What is kept beside the body.
    struct Head: Sendable {
        let status: Int
        let fields: HTTPFields
        /// When it was asked for, and when it arrived, or was last confirmed.
        let requested: HTTPDate
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

        /// Whether it will be of use again.
        func isWorthStoring(_ policy: ResourceCache.Configuration.Policy) -> Bool {
            guard Freshness.mayStore(status: .init(code: status), fields: fields) else { return false }
            return policy == .immutable || isFresh(at: received, policy) || Freshness.conditions(for: fields) != nil
        }
    }
}

extension HTTPFields {
    /// One line for each field.
    var lines: String {
        map { "\($0.name.rawName):\($0.value)\n" }.joined()
    }

    /// The fields of such lines; nil if they are none.
    init?(lines: String) {
        self.init()
        for line in lines.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { return nil }
            append(HTTPField(name: name, value: String(parts[1])))
        }
    }
}
