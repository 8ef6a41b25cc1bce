import HTTPTypes
import SluiceHTTP

// The answer from a stored response: the whole, a range of it, or "not modified" (RFC 9111, section 4.3.2; RFC 9110, sections 13 and 14).
extension CachePolicy {
    /// Returns the answer, or `nil` if the stored response can't answer the request, because it is a part and lacks the bytes.
    ///
    /// - Parameter isValidated: Whether the server has just confirmed the response.
    func served(
        _ head: StoredResponse.Head, for request: TransportRequest, at now: HTTPDate, isValidated: Bool
    ) -> Served? {
        let fields = fields(of: head, at: now, isValidated: isValidated)
        let range = request.method == .get ? RequestedRange(request.headerFields) : nil
        if rules[.partsAreNotWhole], let part = head.part {
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
        if head.status == 200, rules[.rangesOfWhole], let range, ifRangeHolds(request, head) {
            guard let bytes = range.bytes(of: head.length) else {
                var fields: HTTPFields = [.contentRange: "bytes */\(head.length)"]
                fields[.date] = head.fields[.date]
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
        return Served(status: 206, fields: fields, bytes: bytes.lowerBound - start..<bytes.upperBound - start)
    }

    private func fields(of head: StoredResponse.Head, at now: HTTPDate, isValidated: Bool) -> HTTPFields {
        var fields = head.fields
        if rules[.generatedAge] { fields[.age] = "\(head.freshness.age(at: now))" }
        if !isValidated {
            for name in head.control.noCacheFields.compactMap({ HTTPField.Name($0) }) { fields[name] = nil }
        }
        return fields
    }

    /// Returns whether the client has the stored response. `If-None-Match` precedes `If-Modified-Since`.
    private func isNotModified(_ head: StoredResponse.Head, for request: TransportRequest) -> Bool {
        if let field = request.headerFields[.ifNoneMatch] {
            guard rules[.clientTags] else { return false }
            if field.trimmingSpaces() == "*" { return true }
            guard let tag = EntityTag(of: head.fields) else { return false }
            return EntityTag.list(field).contains { $0.matchesWeakly(tag) }
        }
        guard rules[.clientDates], let field = request.headerFields[.ifModifiedSince],
            let since = HTTPDate(parsing: field, now: head.received)
        else { return false }
        let modified = head.fields[.lastModified].flatMap { HTTPDate(parsing: $0, now: head.received) }
        return (modified?.secondsSince1970 ?? head.created) <= since.secondsSince1970
    }

    /// The fields of a 304 (RFC 9110, section 15.4.5).
    private func notModified(_ fields: HTTPFields) -> HTTPFields {
        let kept: Set<HTTPField.Name> = [
            .age, .cacheControl, .contentLocation, .date, .eTag, .expires, .lastModified, .vary,
        ]
        return HTTPFields(fields.filter { kept.contains($0.name) })
    }

    /// Returns whether the client wants a range of the stored response, and not the whole of a newer one.
    private func ifRangeHolds(_ request: TransportRequest, _ head: StoredResponse.Head) -> Bool {
        guard rules[.ifRange], let field = request.headerFields[.ifRange] else { return true }
        return Validator(head.fields, now: head.received)?.field == field.trimmingSpaces()
    }
}
