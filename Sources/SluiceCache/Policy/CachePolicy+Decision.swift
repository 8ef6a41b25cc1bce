import HTTPTypes
import SluiceHTTP

// Whether a stored response answers a request (RFC 9111, sections 4, 4.1, 4.2.4 and 5.2.1).
extension CachePolicy {
    /// Returns what to do with a request.
    ///
    /// - Parameter stored: All stored responses of the request's URL.
    func decision(
        for request: TransportRequest, mode: LookupMode = .useCache, stored: [StoredResponse.Head], at now: HTTPDate
    ) -> Decision {
        let control = control(of: request, mode)
        let elsewhere: Decision = control.onlyIfCached && rules[.onlyIfCached] ? .fail : .fetch
        // The field doesn't stop an unsafe method (section 4.4), but the mode is the program's own.
        guard isAnswerable(request) else { return mode == .cacheOnly ? .fail : .fetch }
        guard mode != .reload, !hasOriginConditions(request) else { return elsewhere }
        guard let (index, served) = selection(of: stored, for: request, at: now) else {
            return elsewhere == .fail ? .fail : missing(request, stored, at: now)
        }
        let head = stored[index]
        switch use(head, control, at: now) {
        case .fresh, .accepted: return .serve(index, served)
        case .whileRevalidating:
            if elsewhere == .fail { return .serve(index, served) }
            let fields = validation(of: request, with: head) ?? request.headerFields
            return .serveAndRevalidate(index, served, fields)
        case .needsValidation:
            if elsewhere == .fail { return .fail }
            return validation(of: request, with: head).map { .validate($0) } ?? .fetch
        }
    }

    /// The statuses that a stale response may replace (RFC 5861, section 4).
    static let failures: Set<Int> = [500, 502, 503, 504]

    /// Returns the stale response to use because the server can't be reached (`isOffline`), or has answered with an error
    /// (RFC 5861, section 4).
    func staleResponse(
        for request: TransportRequest, mode: LookupMode = .useCache, stored: [StoredResponse.Head], at now: HTTPDate,
        isOffline: Bool
    ) -> (Int, Served)? {
        let control = control(of: request, mode)
        guard isAnswerable(request), mode != .reload, !hasOriginConditions(request),
            let (index, served) = selection(of: stored, for: request, at: now)
        else { return nil }
        let head = stored[index]
        guard mayBeStale(head), head.freshness.isAgeKnown(at: now) else { return nil }
        if isOffline, mode == .staleIfOffline { return (index, served) }
        // A client that asks for validation gets a stale response only if it asks for that, too.
        let allowed = control.noCache ? [control.staleIfError] : [control.staleIfError, head.control.staleIfError]
        guard rules[.staleIfError], let limit = allowed.compactMap({ $0 }).max() else { return nil }
        return head.freshness.age(at: now) - head.freshness.lifetime <= limit ? (index, served) : nil
    }

    /// Returns whether stored responses can answer the request. All other methods are for the server, and so are responses to `POST`,
    /// although `GET` may use them (RFC 9110, section 9.3.3).
    private func isAnswerable(_ request: TransportRequest) -> Bool {
        request.method == .get || request.method == .head || !rules[.safeMethodsOnly]
    }

    /// The server has the current state of the resource, which these conditions are about (section 4.3.2).
    private func hasOriginConditions(_ request: TransportRequest) -> Bool {
        rules[.originConditions]
            && (request.headerFields[.ifMatch] != nil || request.headerFields[.ifUnmodifiedSince] != nil)
    }

    private func control(of request: TransportRequest, _ mode: LookupMode) -> CacheControl {
        var control = CacheControl.ofRequest(request.headerFields, rules: rules)
        if mode == .cacheOnly {
            control.onlyIfCached = true
            control.maxStale = .max
        }
        return control
    }

    // MARK: Freshness for a request

    private enum Use {
        case fresh
        /// Stale, and the client accepts that.
        case accepted
        case whileRevalidating
        case needsValidation
    }

    /// Returns whether a stored response answers a request without header fields. That is the usual case, which must be fast.
    func isFresh(_ head: StoredResponse.Head, at now: HTTPDate) -> Bool {
        isImmutable || !(head.control.noCache && rules[.responseNoCache]) && head.freshness.isFresh(at: now)
    }

    private func use(_ head: StoredResponse.Head, _ control: CacheControl, at now: HTTPDate) -> Use {
        if isImmutable { return .fresh }
        let freshness = head.freshness
        guard freshness.isAgeKnown(at: now), !(head.control.noCache && rules[.responseNoCache]),
            !(control.noCache && rules[.requestNoCache])
        else { return .needsValidation }
        let age = freshness.age(at: now)
        if let minimum = control.minFresh, rules[.minFresh], freshness.lifetime - age < minimum {
            return .needsValidation
        }
        let maxAge = rules[.requestMaxAge] ? control.maxAge : nil
        let isImmutable = head.control.isImmutable && rules[.immutable]
        if isFresh(head, at: now), isImmutable || maxAge.map({ age <= $0 }) ?? true { return .fresh }
        guard mayBeStale(head) else { return .needsValidation }
        let staleness = age - freshness.lifetime
        if rules[.maxStale], let limit = control.maxStale {
            return max(staleness, maxAge.map { age - $0 } ?? 0) <= limit ? .accepted : .needsValidation
        }
        // Without max-stale, a client that names an age accepts no stale response (section 5.2.1.1).
        if rules[.staleWhileRevalidate], let limit = head.control.staleWhileRevalidate, maxAge == nil,
            staleness <= limit
        {
            return .whileRevalidating
        }
        return .needsValidation
    }

    /// Returns whether the server allows any use of the response while it is stale (section 4.2.4).
    func mayBeStale(_ head: StoredResponse.Head) -> Bool {
        !(head.control.mustRevalidate && rules[.mustRevalidate]) && !(head.control.noCache && rules[.responseNoCache])
    }

    // MARK: Selection

    /// Returns the stored response that answers the request if it is fresh, and its answer.
    func selection(
        of stored: [StoredResponse.Head], for request: TransportRequest, at now: HTTPDate, isValidated: Bool = false
    ) -> (Int, Served)? {
        let candidates = stored.indices.lazy
            .filter { stored[$0].variant.matches(request.headerFields, policy: self) }
            .compactMap { index in
                served(stored[index], for: request, at: now, isValidated: isValidated).map { (index, $0) }
            }
        return candidates.max { one, other in
            let (one, other) = (stored[one.0], stored[other.0])
            if rules[.varyFirst], one.variant.isAny != other.variant.isAny { return one.variant.isAny }
            return rules[.mostRecent] ? one.created < other.created : false
        }
    }

    /// What to send if no stored response answers the request: the entity tags of the other variants, or a request for the rest of a part.
    private func missing(
        _ request: TransportRequest, _ stored: [StoredResponse.Head], at now: HTTPDate
    ) -> Decision {
        let fields = request.headerFields
        guard request.method == .get, fields[.range] == nil, fields[.ifModifiedSince] == nil else { return .fetch }
        if fields[.ifNoneMatch] == nil,
            let part = stored.first(where: { $0.variant.matches(fields, policy: self) && $0.part != nil }),
            let range = part.part, range.lowerBound == 0, let validator = Validator(part.fields, now: part.received)
        {
            var fields = fields
            fields[.range] = "bytes=\(range.upperBound)-"
            fields[.ifRange] = validator.field
            return .complete(fields)
        }
        let variants = rules[.tagsOfVariants] ? stored : []
        let tags = variants.filter { $0.part == nil && $0.variant.isForUser(of: fields, policy: self) }
            .compactMap { EntityTag(of: $0.fields) }
        return tags.isEmpty ? .fetch : union(of: fields, with: tags).map { .validate($0) } ?? .fetch
    }
}
