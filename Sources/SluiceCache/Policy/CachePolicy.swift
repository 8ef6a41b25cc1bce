import HTTPTypes
import SluiceHTTP

/// The decisions of a private cache according to RFC 9111, without I/O, clocks or tasks.
///
/// The cache consults the policy twice. Before it sends a request, ``decision(for:mode:stored:at:)`` tells whether a stored response
/// answers it. When a response has arrived, ``outcome(of:stored:)`` tells what to store, update and remove, and what the caller gets.
///
/// ```text
/// request ─▶ decision ─┬─ serve, serveAndRevalidate ──────────────────▶ caller
///                      ├─ fetch, validate, complete ─▶ server ─▶ outcome ─▶ store, caller
///                      │                               (failed) ─▶ staleResponse ─▶ caller
///                      └─ fail (504) ─────────────────────────────────▶ caller
/// ```
///
/// - `stored` contains all stored responses for the request's URL, one for each variant (`Vary`). Decisions refer to them by index.
/// - A single user's cache may store responses to requests with `Authorization`, and responses with `Set-Cookie` (sections 3.5 and 7.3).
///   The former are only used for requests with the same credentials.
/// - Responses to `HEAD` aren't stored; they update stored responses to `GET`. Interim responses (1xx) are never stored.
/// - Parts are stored, too: the part in a 206, and the beginning of a truncated response. Each variant has one contiguous part.
struct CachePolicy: Sendable {
    /// The longest lifetime, in seconds, of a response that doesn't specify one.
    var maximumHeuristicLifetime: Int64 = 86_400
    /// Whether stored responses are used forever, for URLs whose content never changes.
    var isImmutable = false
    /// Random bytes for the digests of the request fields that stored responses depend on (``Variant``).
    var salt: [UInt8] = []

    /// The maximum number of stored responses for one URL. A server that varies by `User-Agent` would otherwise fill the cache.
    static let maximumVariants = 16

    typealias LookupMode = ResourceCache.LookupMode

    /// What to do with a request.
    enum Decision: Sendable, Hashable {
        /// Answer with a stored response.
        case serve(Int, Served)
        /// Answer with a stored response, and then send the request with these fields in the background.
        case serveAndRevalidate(Int, Served, HTTPFields)
        /// Send the request as it is.
        case fetch
        /// Send the request with these fields, so that the server can confirm a stored response (304).
        case validate(HTTPFields)
        /// Send the request with these fields for the missing rest of a stored part.
        case complete(HTTPFields)
        /// Answer with 504, because nothing suitable is stored.
        case fail

        /// Whether a stored response is the answer.
        var isServed: Bool {
            switch self {
            case .serve, .serveAndRevalidate: true
            case .fetch, .validate, .complete, .fail: false
            }
        }
    }

    /// What a caller gets from a stored response.
    struct Served: Sendable, Hashable {
        var status: Int
        var fields: HTTPFields
        /// The range of the stored body to return.
        var bytes: Range<Int64>
    }

    /// What the rules need to know about an exchange: the request, its response and the times of both.
    struct ExchangeRecord: Sendable {
        /// The request of the caller.
        var request: TransportRequest
        var mode = LookupMode.useCache
        /// The fields that the request was sent with: the decision's or the caller's.
        var sent: HTTPFields
        var response: HTTPResponse
        /// The number of bytes of the body that have arrived.
        var bodyLength: Int64
        /// Whether the whole body has arrived.
        var isComplete = true
        var requested: HTTPDate
        var received: HTTPDate

        /// Whether the request asked for the missing rest of a part.
        var isCompletion: Bool { sent.value(of: .range) != request.headerFields.value(of: .range) }
    }

    /// What an exchange changes in the cache, and what the caller gets.
    struct Outcome: Sendable {
        /// A response to store for the URL of the request.
        struct Addition: Sendable {
            var head: StoredResponse.Head
            var body: [Piece]
        }

        /// Bytes of the response, or of a stored response.
        enum Piece: Sendable, Hashable {
            case response
            case stored(Int, Range<Int64>)
        }

        /// What the caller gets.
        enum Delivery: Sendable, Hashable {
            /// The response itself.
            case response
            /// A stored response, updated or stale.
            case stored(Int, Served)
            /// The response in ``Outcome/addition``, which completes a part.
            case addition(Served)
            /// Nothing yet: resend the request as it is, because the server confirmed an unknown response.
            case again
            /// Nothing yet: the final response follows.
            case interim
        }

        var delivery: Delivery
        /// New heads of stored responses, by index.
        var updates: [Int: StoredResponse.Head] = [:]
        /// The stored responses to remove.
        var removals: Set<Int> = []
        var addition: Addition?
        /// The URLs whose stored responses must all be removed. If the URL of the request is among them, remove them before the addition.
        var invalidations: Set<ResourceKey> = []
        /// The groups of the request's origin whose stored responses must all be removed.
        var groupInvalidations: Set<String> = []
    }
}

// MARK: - Whether a stored response answers a request (RFC 9111, sections 4, 4.1, 4.2.4 and 5.2.1)

extension CachePolicy {
    /// Returns what to do with a request.
    ///
    /// - Parameter stored: All stored responses for the request's URL.
    func decision(
        for request: TransportRequest, mode: LookupMode = .useCache, stored: [StoredResponse.Head], at now: HTTPDate
    ) -> Decision {
        let control = control(of: request, mode)
        let elsewhere: Decision = control.onlyIfCached ? .fail : .fetch
        // `only-if-cached` doesn't stop an unsafe method (section 4.4). `cacheOnly` does, because it comes from the program itself.
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

    /// Returns the stale response to use because the server can't be reached (`isOffline`) or responded with an error (RFC 5861, section
    /// 4).
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
        guard let limit = allowed.compactMap({ $0 }).max() else { return nil }
        return head.freshness.age(at: now) - head.freshness.lifetime <= limit ? (index, served) : nil
    }

    /// Returns whether stored responses can answer the request. All other methods go to the server, including `POST`, although a `GET` may
    /// use the response to a `POST` (RFC 9110, section 9.3.3).
    func isAnswerable(_ request: TransportRequest) -> Bool {
        request.method == .get || request.method == .head
    }

    /// These conditions are about the current state of the resource, which only the server knows (section 4.3.2).
    private func hasOriginConditions(_ request: TransportRequest) -> Bool {
        request.headerFields.contains(.ifMatch) || request.headerFields.contains(.ifUnmodifiedSince)
    }

    private func control(of request: TransportRequest, _ mode: LookupMode) -> CacheControl {
        var control = CacheControl.ofRequest(request.headerFields)
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

    /// Returns whether a stored response answers a request without header fields. This is the common case, and must be fast.
    func isFresh(_ head: StoredResponse.Head, at now: HTTPDate) -> Bool {
        isImmutable || !head.control.noCache && head.freshness.isFresh(at: now)
    }

    private func use(_ head: StoredResponse.Head, _ control: CacheControl, at now: HTTPDate) -> Use {
        if isImmutable { return .fresh }
        let freshness = head.freshness
        guard freshness.isAgeKnown(at: now), !head.control.noCache, !control.noCache else { return .needsValidation }
        let age = freshness.age(at: now)
        if let minimum = control.minFresh, freshness.lifetime - age < minimum { return .needsValidation }
        let maxAge = control.maxAge
        if isFresh(head, at: now), head.control.isImmutable || maxAge.map({ age <= $0 }) ?? true { return .fresh }
        guard mayBeStale(head) else { return .needsValidation }
        let staleness = age - freshness.lifetime
        if let limit = control.maxStale {
            return max(staleness, maxAge.map { age - $0 } ?? 0) <= limit ? .accepted : .needsValidation
        }
        // Without max-stale, a client that specifies an age doesn't accept a stale response (section 5.2.1.1).
        if let limit = head.control.staleWhileRevalidate, maxAge == nil, staleness <= limit {
            return .whileRevalidating
        }
        return .needsValidation
    }

    /// Returns whether the server allows any use of the response while it is stale (section 4.2.4).
    func mayBeStale(_ head: StoredResponse.Head) -> Bool {
        !head.control.mustRevalidate && !head.control.noCache
    }

    // MARK: Selection

    /// Returns the stored response that would answer the request if fresh, and the answer it gives.
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
            if one.variant.isAny != other.variant.isAny { return one.variant.isAny }
            return one.created < other.created
        }
    }

    /// What to send if no stored response answers the request: the other variants' entity tags, or a request for the rest of a part.
    private func missing(
        _ request: TransportRequest, _ stored: [StoredResponse.Head], at now: HTTPDate
    ) -> Decision {
        let fields = request.headerFields
        guard request.method == .get, !fields.contains(.ifModifiedSince) else { return .fetch }
        if !fields.contains(.ifNoneMatch),
            let part = stored.first(where: { $0.variant.matches(fields, policy: self) && $0.part != nil }),
            let rest = rest(of: part, for: request), let validator = Validator(part.fields, now: part.received)
        {
            var fields = fields
            fields[.range] = rest
            fields[.ifRange] = validator.field
            return .complete(fields)
        }
        guard !fields.contains(.range) else { return .fetch }
        let tags = stored.filter { $0.part == nil && $0.variant.isForUser(of: fields, policy: self) }
            .compactMap { EntityTag(of: $0.fields) }
        return tags.isEmpty ? .fetch : union(of: fields, with: tags).map { .validate($0) } ?? .fetch
    }
}

// MARK: - The rest of a stored part (RFC 9111, section 3.4)

extension CachePolicy {
    /// Returns the range that completes a stored part to what a request asks for, or `nil` if that isn't one range next to the part.
    ///
    /// ```text
    /// stored     ░░░░████████░░░░        stored     ░░░░████████
    /// request        ·███████████        request    ████████████
    /// missing                ████        missing    ████
    /// ```
    private func rest(of head: StoredResponse.Head, for request: TransportRequest) -> String? {
        guard let part = head.part else { return nil }
        guard request.headerFields.contains(.range) else {
            if part.lowerBound == 0 { return "bytes=\(part.upperBound)-" }
            return part.upperBound == head.total ? "bytes=0-\(part.lowerBound - 1)" : nil
        }
        guard let range = RequestedRange(request.headerFields), ifRangeHolds(request, head) else { return nil }
        guard let wanted = head.total.map({ range.bytes(of: $0) }) ?? range.bytes else {
            // Without the length, only the start of an open range is known.
            guard head.total == nil, case .from(let first, .max) = range else { return nil }
            return part.contains(first) ? "bytes=\(part.upperBound)-" : nil
        }
        if part.contains(wanted.lowerBound) { return "bytes=\(part.upperBound)-\(wanted.upperBound - 1)" }
        if part.contains(wanted.upperBound - 1) { return "bytes=\(wanted.lowerBound)-\(part.lowerBound - 1)" }
        return nil
    }
}

// MARK: - The answer from a stored response

// The whole, a range of it, or "not modified" (RFC 9111, section 4.3.2; RFC 9110, sections 13 and 14).
extension CachePolicy {
    /// Returns the answer, or `nil` if the stored response can't answer the request because it is a part without the requested bytes.
    ///
    /// - Parameter isValidated: Whether the server just confirmed the response.
    func served(
        _ head: StoredResponse.Head, for request: TransportRequest, at now: HTTPDate, isValidated: Bool
    ) -> Served? {
        let fields = fields(of: head, at: now, isValidated: isValidated)
        let range = request.method == .get ? RequestedRange(request.headerFields) : nil
        if let part = head.part {
            guard let range, ifRangeHolds(request, head) else { return nil }
            guard let bytes = head.total.map({ range.bytes(of: $0) }) ?? range.bytes,
                part.lowerBound <= bytes.lowerBound, bytes.upperBound <= part.upperBound
            else { return nil }
            return self.part(bytes, of: head, fields, startingAt: part.lowerBound)
        }
        // Conditions apply only to a response that would be a success without them (RFC 9110, section 13.2.1).
        if head.status == 200, isNotModified(head, for: request) {
            return Served(status: 304, fields: notModified(fields), bytes: 0..<0)
        }
        if head.status == 200, let range, ifRangeHolds(request, head) {
            guard let bytes = range.bytes(of: head.length) else {
                var fields: HTTPFields = [.contentRange: "bytes */\(head.length)"]
                fields[.date] = head.fields.value(of: .date)
                return Served(status: 416, fields: fields, bytes: 0..<0)
            }
            return part(bytes, of: head, fields, startingAt: 0)
        }
        return Served(status: head.status, fields: fields, bytes: 0..<(request.method == .head ? 0 : head.length))
    }

    private func part(
        _ bytes: Range<Int64>, of head: StoredResponse.Head, _ fields: HTTPFields, startingAt start: Int64
    ) -> Served {
        var fields = fields
        let total = head.total.map { "\($0)" } ?? "*"
        fields[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(total)"
        fields[.contentLength] = "\(bytes.count)"
        if bytes.count != head.length { fields[.contentDigest] = nil }
        return Served(status: 206, fields: fields, bytes: bytes.lowerBound - start..<bytes.upperBound - start)
    }

    private func fields(of head: StoredResponse.Head, at now: HTTPDate, isValidated: Bool) -> HTTPFields {
        var fields = head.fields
        fields[.age] = "\(head.freshness.age(at: now))"
        let hidden = head.control.noCacheFields
        if !isValidated, !hidden.isEmpty {
            fields = HTTPFields(fields.filter { !hidden.contains($0.name.canonicalName) })
        }
        return fields
    }

    /// Returns whether the client already has the stored response. `If-None-Match` takes precedence over `If-Modified-Since`.
    private func isNotModified(_ head: StoredResponse.Head, for request: TransportRequest) -> Bool {
        if let field = request.headerFields.value(of: .ifNoneMatch) {
            if field.trimmingSpaces() == "*" { return true }
            guard let tag = EntityTag(of: head.fields) else { return false }
            return EntityTag.list(field).contains { $0.matchesWeakly(tag) }
        }
        guard let field = request.headerFields.value(of: .ifModifiedSince),
            let since = HTTPDate(parsing: field, now: head.received)
        else { return false }
        let modified = head.fields.value(of: .lastModified).flatMap { HTTPDate(parsing: $0, now: head.received) }
        return (modified?.secondsSince1970 ?? head.created) <= since.secondsSince1970
    }

    /// The fields of a 304 (RFC 9110, section 15.4.5).
    private func notModified(_ fields: HTTPFields) -> HTTPFields {
        let kept: Set<HTTPField.Name> = [
            .age, .cacheControl, .contentLocation, .date, .eTag, .expires, .lastModified, .vary,
        ]
        return HTTPFields(fields.filter { kept.contains($0.name) })
    }

    /// Returns whether the client wants a range of the stored response rather than all of a newer one.
    private func ifRangeHolds(_ request: TransportRequest, _ head: StoredResponse.Head) -> Bool {
        guard let field = request.headerFields.value(of: .ifRange) else { return true }
        return Validator(head.fields, now: head.received)?.field == field.trimmingSpaces()
    }
}

// MARK: - Conditional requests (RFC 9111, section 4.3)

extension CachePolicy {
    /// Returns the fields of a request that validates a stored response (sections 4.3.1 and 4.3.2), or `nil` if the response has no usable
    /// validator.
    func validation(of request: TransportRequest, with head: StoredResponse.Head) -> HTTPFields? {
        guard let conditions = conditions(for: head) else { return nil }
        var fields = request.headerFields
        if let tag = conditions[.ifNoneMatch].flatMap({ EntityTag($0) }) {
            guard let united = union(of: fields, with: [tag]) else { return nil }
            fields = united
        } else if fields.contains(.ifNoneMatch) {
            // The server would ignore a date next to the client's tags.
            return nil
        }
        // The date replaces the client's date, which the cache compares itself after a 304.
        if let modified = conditions[.ifModifiedSince] { fields[.ifModifiedSince] = modified }
        return fields
    }

    /// Returns the fields with these tags in addition to the client's, or `nil` if the client's condition is `*`.
    private func union(of fields: HTTPFields, with tags: [EntityTag]) -> HTTPFields? {
        let clients = fields.value(of: .ifNoneMatch)
        if clients?.trimmingSpaces() == "*" { return nil }
        let known = clients.map(EntityTag.list) ?? []
        var all: [EntityTag] = []
        for tag in known + tags where !all.contains(tag) { all.append(tag) }
        var fields = fields
        fields[.ifNoneMatch] = all.map(\.description).joined(separator: ", ")
        return fields
    }

    /// Returns the fields that validate a stored response, or `nil` if it has no validator.
    func conditions(for head: StoredResponse.Head) -> HTTPFields? {
        var conditions: HTTPFields = [:]
        if let tag = EntityTag(of: head.fields) { conditions[.ifNoneMatch] = tag.description }
        if let modified = head.modified { conditions[.ifModifiedSince] = modified }
        return conditions.isEmpty ? nil : conditions
    }
}

// MARK: - Ranges

/// The range of bytes that a request asks for (RFC 9110, section 14.2).
///
///     RequestedRange([.range: "bytes=0-99"])      // .from(0, through: 99)
///     RequestedRange([.range: "bytes=100-"])      // .from(100, through: .max)
///     RequestedRange([.range: "bytes=-100"])      // .last(100)
///
/// A malformed field, a different unit or several ranges count as no range, because a server may always send the whole representation.
enum RequestedRange: Sendable, Hashable {
    case from(Int64, through: Int64)
    case last(Int64)

    init?(_ request: HTTPFields) {
        guard let field = request.value(of: .range)?.trimmingSpaces(),
            let equals = field.utf8.firstIndex(of: UInt8(ascii: "=")), field[..<equals].lowercased() == "bytes"
        else { return nil }
        let range = field[field.utf8.index(after: equals)...].trimmingSpaces()
        guard let dash = range.utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let (start, end) = (range.utf8[..<dash], range.utf8[range.utf8.index(after: dash)...])
        switch (start.isEmpty, end.isEmpty) {
        case (true, false):
            guard let count = Self.number(end) else { return nil }
            self = .last(count)
        case (false, true):
            guard let first = Self.number(start) else { return nil }
            self = .from(first, through: .max)
        case (false, false):
            guard let first = Self.number(start), let last = Self.number(end), first <= last else {
                return nil
            }
            self = .from(first, through: last)
        case (true, true): return nil
        }
    }

    /// Returns the bytes in a representation of the given length, or `nil` if the range contains none of them.
    func bytes(of length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last): first < length ? first..<min(last, length - 1) + 1 : nil
        case .last(let count): count > 0 && length > 0 ? max(0, length - count)..<length : nil
        }
    }

    /// Returns the bytes in a representation of unknown length, or `nil` if they depend on the length.
    var bytes: Range<Int64>? {
        guard case .from(let first, let last) = self, last < .max else { return nil }
        return first..<last + 1
    }

    /// A number that is too large counts as the maximum.
    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        var number: Int64 = 0
        for byte in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            let (product, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = product.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            number = overflows || exceeds ? .max : sum
        }
        return number
    }
}
