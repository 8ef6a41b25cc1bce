import HTTPTypes
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How long a response is fresh (RFC 9111, section 4.2). All times are in seconds, on this machine's clock, which the caller reads.
struct Freshness: Sendable, Hashable {
    /// How many seconds the response is fresh, counted from its creation at the origin server (section 4.2.1).
    var lifetime: Int64
    /// The age in seconds that the response had when it arrived (section 4.2.3).
    var initialAge: Int64
    /// When the response arrived, in seconds since 1970.
    var received: Int64

    init(
        status: Int, fields: HTTPFields, control: CacheControl, requested: HTTPDate, received: HTTPDate,
        policy: CachePolicy
    ) {
        func date(_ name: HTTPField.Name) -> HTTPDate? {
            fields.value(of: name).flatMap { HTTPDate(parsing: $0, now: received) }
        }
        let created = date(.date) ?? received
        if let maxAge = control.maxAge {
            lifetime = maxAge
        } else if fields.contains(.expires) {
            // A value that isn't a date, "0" in particular, means that the response is stale (section 5.3).
            lifetime = date(.expires).map { max(0, $0.secondsSince1970 - created.secondsSince1970) } ?? 0
        } else if let modified = date(.lastModified),
            control.isPublic || CachePolicy.cacheableStatuses.contains(status)
        {
            // A tenth of the time since the last modification (section 4.2.2).
            let tenth = max(0, created.secondsSince1970 - modified.secondsSince1970) / 10
            lifetime = min(tenth, policy.maximumHeuristicLifetime)
        } else {
            lifetime = 0
        }
        let apparentAge = max(0, received.secondsSince1970 - created.secondsSince1970)
        let delay = max(0, received.secondsSince1970 - requested.secondsSince1970)
        initialAge = max(apparentAge, Self.age(in: fields) + delay)
        self.received = received.secondsSince1970
    }

    func age(at now: HTTPDate) -> Int64 {
        initialAge + max(0, now.secondsSince1970 - received)
    }

    /// How many seconds longer the response is fresh. Negative if it is stale.
    func timeLeft(at now: HTTPDate) -> Int64 { lifetime - age(at: now) }

    /// Whether the age is known. It isn't if the clock was set back to before the time of arrival.
    func isAgeKnown(at now: HTTPDate) -> Bool {
        now.secondsSince1970 >= received
    }

    func isFresh(at now: HTTPDate) -> Bool {
        isAgeKnown(at: now) && lifetime > age(at: now)
    }

    /// Returns the first value of the `Age` field, or zero if it isn't a number (section 5.1).
    private static func age(in fields: HTTPFields) -> Int64 {
        guard let field = fields.value(of: .age) else { return 0 }
        let values = field.split(separator: ",", omittingEmptySubsequences: false)
        guard let age = values.first?.trimmingSpaces(), age.isDigits else { return 0 }
        return min(Int64(age) ?? .max, CacheControl.deltaSecondsLimit)
    }
}
