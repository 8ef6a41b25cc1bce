import HTTPTypes
import SluiceHTTP

/// How long a response is fresh (RFC 9111, section 4.2). All times are in seconds of this machine's clock, which the caller reads.
struct Freshness: Sendable, Hashable {
    /// The seconds for which the response is fresh, counted from its creation at the origin server (section 4.2.1).
    var lifetime: Int64
    /// The age in seconds at which the response arrived (section 4.2.3).
    var initialAge: Int64
    /// The time at which the response arrived, in seconds since 1970.
    var received: Int64
    /// Whether a response that arrived in the future isn't fresh.
    private var detectsClockSetBack: Bool

    init(
        status: Int, fields: HTTPFields, control: CacheControl, requested: HTTPDate, received: HTTPDate,
        policy: CachePolicy
    ) {
        let rules = policy.rules
        func date(_ name: HTTPField.Name) -> HTTPDate? { fields[name].flatMap { HTTPDate(parsing: $0, now: received) } }
        let created = date(.date) ?? received
        let expires = fields[.expires] == nil ? nil : date(.expires)
        if let maxAge = control.maxAge, rules[.maxAgeFirst] || expires == nil {
            lifetime = maxAge
        } else if fields[.expires] != nil, expires != nil || rules[.invalidExpires] {
            // A value that isn't a date, in particular "0", means that the response is stale (section 5.3).
            lifetime = expires.map { max(0, $0.secondsSince1970 - created.secondsSince1970) } ?? 0
        } else if let modified = date(.lastModified), Self.allowsHeuristics(status, control, rules) {
            // A tenth of the time since the last modification (section 4.2.2).
            let tenth = max(0, created.secondsSince1970 - modified.secondsSince1970) / 10
            lifetime = rules[.heuristicLimit] ? min(tenth, policy.maximumHeuristicLifetime) : tenth
        } else {
            lifetime = 0
        }
        let apparentAge = rules[.apparentAge] ? max(0, received.secondsSince1970 - created.secondsSince1970) : 0
        let delay = rules[.responseDelay] ? max(0, received.secondsSince1970 - requested.secondsSince1970) : 0
        initialAge = max(apparentAge, Self.age(in: fields, rules) + delay)
        self.received = received.secondsSince1970
        detectsClockSetBack = rules[.clockSetBack]
    }

    func age(at now: HTTPDate) -> Int64 {
        initialAge + max(0, now.secondsSince1970 - received)
    }

    /// Whether the age is known. It isn't if the clock was set back before the time of arrival.
    func isAgeKnown(at now: HTTPDate) -> Bool {
        !detectsClockSetBack || now.secondsSince1970 >= received
    }

    func isFresh(at now: HTTPDate) -> Bool {
        isAgeKnown(at: now) && lifetime > age(at: now)
    }

    private static func allowsHeuristics(_ status: Int, _ control: CacheControl, _ rules: CacheRules) -> Bool {
        !rules[.heuristicStatuses] || control.isPublic || CachePolicy.cacheableStatuses.contains(status)
    }

    /// Returns the first value of the `Age` field, or zero if it isn't a number (section 5.1).
    private static func age(in fields: HTTPFields, _ rules: CacheRules) -> Int64 {
        guard rules[.ageField], let field = fields[.age] else { return 0 }
        let values = field.split(separator: ",", omittingEmptySubsequences: false)
        guard let age = (rules[.firstAge] ? values.first : values.last)?.trimmingSpaces(), age.isDigits else {
            return 0
        }
        return min(Int64(age) ?? .max, CacheControl.deltaSecondsLimit)
    }
}
