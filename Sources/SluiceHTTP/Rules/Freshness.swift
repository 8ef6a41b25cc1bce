package import HTTPTypes

/// What a private cache may do with a response, and until when (RFC 9111, sections 3 and 4).
///
///     let freshness = Freshness(fields: response.headerFields, requested: before, received: after)
///     if Freshness.mayStore(status: response.status, fields: response.headerFields) { … }
///     if freshness.isFresh(at: now) { … }
///
/// Pure: every time is handed in, in seconds of this machine's clock.
package struct Freshness: Sendable, Hashable {
    /// How long the response is fresh, counted from when its origin made it (section 4.2.1).
    package var lifetime: Int64
    /// How old it was when it arrived (section 4.2.3).
    package var initialAge: Int64
    /// When it arrived.
    package var received: Int64
    /// It is validated before each use, however fresh it is.
    package var alwaysValidated: Bool

    /// The freshness of a response that was asked for and arrived at these times.
    ///
    /// - Parameter maximumHeuristicLifetime: the most seconds that a response without any lifetime of its own is taken for fresh:
    ///   a tenth of the time since it was last modified, at most this (section 4.2.2).
    package init(
        fields: HTTPFields, requested: HTTPDate, received: HTTPDate, maximumHeuristicLifetime: Int64 = 86_400
    ) {
        let control = CacheControl(fields)
        let date = fields[.date].flatMap { HTTPDate(parsing: $0.trimmingSpaces(), now: received) } ?? received
        if let maxAge = control.maxAge {
            lifetime = maxAge
        } else if let expires = fields[.expires] {
            // A value that is no date, above all "0", means the past (section 5.3).
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

    /// How old it is: since its origin made it, on the way and here.
    package func age(at now: HTTPDate) -> Int64 {
        initialAge + max(0, now.secondsSince1970 - received)
    }

    /// Whether it may be used without asking the server.
    ///
    /// A clock that went back says nothing about the time that has passed: such a response is validated.
    package func isFresh(at now: HTTPDate) -> Bool {
        !alwaysValidated && now.secondsSince1970 >= received && lifetime > age(at: now)
    }

    /// The `Age` field: its first value, nothing where that is no number (section 5.1).
    private static func age(in fields: HTTPFields) -> Int64 {
        guard let first = fields[.age]?.split(separator: ",").first?.trimmingSpaces(), first.isDigits else { return 0 }
        return min(Int64(first) ?? .max, CacheControl.deltaSecondsLimit)
    }

    // MARK: Storing

    /// Whether a whole response to a `GET` may be kept for its user (section 3).
    ///
    /// Only 200 and 203. Not what says `no-store`, sets cookies, or was chosen by fields of the request that a key made of
    /// the URL alone does not tell apart (`Vary`); `Accept-Encoding` may be named, since it is the same for each request.
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

    /// The fields that make a request conditional on the stored response being out of date; nil if nothing identifies it.
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

    /// The fields of a stored response after a 304 has confirmed it (sections 3.2 and 4.3.4); nil if the 304 is about
    /// another one, whose entity tag it bears.
    package static func updated(_ stored: HTTPFields, by confirmation: HTTPFields) -> HTTPFields? {
        if let old = stored[.eTag], let new = confirmation[.eTag], opaqueTag(old) != opaqueTag(new) { return nil }
        var fields = stored
        // They were true of the earlier response; without new ones the 304's arrival counts.
        fields[.age] = nil
        fields[.date] = nil
        let replaced = Set(confirmation.map(\.name)).subtracting(aboutTheMessage)
        for name in replaced { fields[fields: name] = confirmation[fields: name] }
        return fields
    }

    /// The fields of a response that are worth storing: not those about the connection or the message itself.
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

    /// `"…"`, or `W/"…"` (RFC 9110, section 8.8.3).
    private static func isEntityTag(_ text: String) -> Bool {
        let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        guard opaque.utf8.count >= 2, opaque.first == "\"", opaque.last == "\"" else { return false }
        return !opaque.dropFirst().dropLast().utf8.contains { $0 == UInt8(ascii: "\"") || $0 <= 0x20 || $0 == 0x7F }
    }

    /// The tag without its mark of weakness: weak comparison, which `If-None-Match` uses (section 8.8.3.2).
    private static func opaqueTag(_ text: String) -> String {
        let text = text.trimmingSpaces()
        return text.hasPrefix("W/") ? String(text.dropFirst(2)) : text
    }
}
