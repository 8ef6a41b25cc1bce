package import HTTPTypes

/// The rules of a private cache for storing, reusing and validating a response (RFC 9111, sections 3 and 4).
///
/// The functions read no clock: the caller passes every time, in seconds of this machine's clock.
package struct Freshness: Sendable, Hashable {
    /// The seconds for which the response is fresh, counted from its creation at the origin server (section 4.2.1).
    package var lifetime: Int64
    /// The age in seconds at which the response arrived (section 4.2.3).
    package var initialAge: Int64
    /// The time at which the response arrived, in seconds since 1970.
    package var received: Int64
    /// Whether the response must be validated before each use, even if it is fresh (`no-cache`).
    package var alwaysValidated: Bool

    /// - Parameter maximumHeuristicLifetime: The longest lifetime in seconds of a response that states none. Such a response is
    ///   fresh for a tenth of the time since its last modification, up to this limit (section 4.2.2).
    package init(
        fields: HTTPFields, requested: HTTPDate, received: HTTPDate, maximumHeuristicLifetime: Int64 = 86_400
    ) {
        let control = CacheControl(fields)
        let date = fields[.date].flatMap { HTTPDate(parsing: $0.trimmingSpaces(), now: received) } ?? received
        if let maxAge = control.maxAge {
            lifetime = maxAge
        } else if let expires = fields[.expires] {
            // A value that isn't a date, in particular "0", means that the response is stale (section 5.3).
            let moment = HTTPDate(parsing: expires.trimmingSpaces(), now: received)
            lifetime = moment.map { max(0, $0.secondsSince1970 - date.secondsSince1970) } ?? 0
        } else if let modified = fields[.lastModified].flatMap({ HTTPDate(parsing: $0.trimmingSpaces(), now: received) }
        ) {
            lifetime = min(max(0, date.secondsSince1970 - modified.secondsSince1970) / 10, maximumHeuristicLifetime)
        } else {
            lifetime = 0
        }
        let apparentAge = max(0, received.secondsSince1970 - date.secondsSince1970)
        let delay = max(0, received.secondsSince1970 - requested.secondsSince1970)
        initialAge = max(apparentAge, Self.age(in: fields) + delay)
        self.received = received.secondsSince1970
        alwaysValidated = control.noCache
    }

    package func age(at now: HTTPDate) -> Int64 {
        initialAge + max(0, now.secondsSince1970 - received)
    }

    /// Returns whether the response may be used without validation. If the clock was set back before the time of arrival, the age is
    /// unknown and the response isn't fresh.
    package func isFresh(at now: HTTPDate) -> Bool {
        !alwaysValidated && now.secondsSince1970 >= received && lifetime > age(at: now)
    }

    /// Returns the first value of the `Age` field, or zero if it isn't a number (section 5.1).
    private static func age(in fields: HTTPFields) -> Int64 {
        guard let first = fields[.age]?.split(separator: ",").first?.trimmingSpaces(), first.isDigits else { return 0 }
        return min(Int64(first) ?? .max, CacheControl.deltaSecondsLimit)
    }

    // MARK: Storing

    /// Returns whether a complete response to a `GET` may be stored in a private cache (section 3).
    ///
    /// The status must be 200 or 203. A response isn't stored if it says `no-store`, sets cookies or has a `Content-Range`. A response
    /// that depends on request fields (`Vary`) isn't stored either, because the URL alone is the key. `Vary: Accept-Encoding` is
    /// allowed, because that field is the same in every request.
    package static func mayStore(status: HTTPResponse.Status, fields: HTTPFields) -> Bool {
        guard status.code == 200 || status.code == 203 else { return false }
        guard !CacheControl(fields).noStore, fields[.setCookie] == nil, fields[.contentRange] == nil else {
            return false
        }
        return (fields[.vary] ?? "").split(separator: ",").allSatisfy {
            let name = $0.trimmingSpaces().lowercased()
            return name.isEmpty || name == "accept-encoding"
        }
    }

    // MARK: Validation

    /// Returns the fields that make a request conditional on a change since `stored`, or `nil` if `stored` has no validator.
    package static func conditions(for stored: HTTPFields) -> HTTPFields? {
        var conditions: HTTPFields = [:]
        if let tag = stored[.eTag]?.trimmingSpaces(), isEntityTag(tag) { conditions[.ifNoneMatch] = tag }
        if let modified = stored[.lastModified]?.trimmingSpaces(),
            HTTPDate(parsing: modified, now: HTTPDate(secondsSince1970: 0)) != nil
        {
            conditions[.ifModifiedSince] = modified
        }
        return conditions.isEmpty ? nil : conditions
    }

    /// Returns the fields of a stored response after a 304 has confirmed it (sections 3.2 and 4.3.4), or `nil` if the 304 has another
    /// entity tag and therefore confirms another response.
    package static func updated(_ stored: HTTPFields, by confirmation: HTTPFields) -> HTTPFields? {
        if let old = stored[.eTag], let new = confirmation[.eTag], opaqueTag(old) != opaqueTag(new) { return nil }
        var fields = stored
        // Both describe the earlier response. If the 304 has no such fields, its time of arrival counts.
        fields[.age] = nil
        fields[.date] = nil
        let replaced = Set(confirmation.map(\.name)).subtracting(aboutTheMessage)
        for name in replaced { fields[fields: name] = confirmation[fields: name] }
        return fields
    }

    /// Returns the fields of a response to store: all except those that describe the connection or its framing.
    package static func stored(_ fields: HTTPFields) -> HTTPFields {
        let dropped = aboutTheMessage.subtracting([.contentLength, .contentEncoding, .contentRange, .setCookie])
        let named = (fields[.connection] ?? "").split(separator: ",").map { $0.trimmingSpaces().lowercased() }
        return HTTPFields(fields.filter { !dropped.contains($0.name) && !named.contains($0.name.canonicalName) })
    }

    private static let aboutTheMessage: Set<HTTPField.Name> = {
        var names: Set<HTTPField.Name> = [
            .connection, .proxyAuthenticate, .proxyAuthorization, .te, .trailer, .transferEncoding, .upgrade,
            .contentLength, .contentEncoding, .contentRange, .setCookie,
        ]
        for name in ["Keep-Alive", "Proxy-Connection", "Proxy-Authentication-Info"] {
            if let name = HTTPField.Name(name) { names.insert(name) }
        }
        return names
    }()

    /// Returns whether `text` is an entity tag: `"…"` or `W/"…"` (RFC 9110, section 8.8.3).
    private static func isEntityTag(_ text: String) -> Bool {
        let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        guard opaque.utf8.count >= 2, opaque.first == "\"", opaque.last == "\"" else { return false }
        return !opaque.dropFirst().dropLast().utf8.contains { $0 == UInt8(ascii: "\"") || $0 <= 0x20 || $0 == 0x7F }
    }

    /// Returns the tag without `W/`, for the weak comparison of `If-None-Match` (section 8.8.3.2).
    private static func opaqueTag(_ text: String) -> String {
        let text = text.trimmingSpaces()
        return text.hasPrefix("W/") ? String(text.dropFirst(2)) : text
    }
}
