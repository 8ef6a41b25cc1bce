package import HTTPTypes

package struct OriginRequest: Sendable {
    package var method: String
    /// The request target as sent: path and query, percent-encoded.
    package var target: String
    package var headerFields: HTTPFields
    /// The body; empty if the request has no `Content-Length`.
    package var body: [UInt8] = []
    /// The number of requests for this target so far, including this one.
    package var attempt: Int
}

package struct OriginResponse: Sendable {
    package enum Step: Sendable {
        case send([UInt8])
        case pause(Duration)
        /// Closes the connection without sending the rest of the body.
        case hangUp
        /// Resets the connection (RST), as a crashed peer does.
        case reset
        /// Keeps the connection open and sends nothing more.
        case stall
        /// Runs a closure at this position of the body.
        case perform(@Sendable () async -> Void)
    }

    /// The status, which may be invalid.
    package var status: Int
    /// The header fields. Without a `Transfer-Encoding`, the origin sets `Content-Length` from ``announcedLength`` or sends chunks.
    package var headerFields: HTTPFields
    /// The value of `Content-Length`, or `nil` to send the body chunked.
    package var announcedLength: Int?
    package var steps: [Step]
    /// Fields after a chunked body.
    package var trailers: HTTPFields = [:]
    package var delay: Duration
    /// Bytes that are sent instead of the head and the body, before the connection is closed (but see ``staysOpen``).
    package var verbatim: [UInt8]?
    /// Whether the connection stays open after the verbatim bytes until the client closes it.
    package var staysOpen = false

    package init(
        status: Int = 200, headerFields: HTTPFields = [:], announcedLength: Int?, steps: [Step], delay: Duration = .zero
    ) {
        self.status = status
        self.headerFields = headerFields
        self.announcedLength = announcedLength
        self.steps = steps
        self.delay = delay
    }

    package init(status: Int = 200, headerFields: HTTPFields = [:], body: [UInt8] = [], delay: Duration = .zero) {
        self.init(
            status: status, headerFields: headerFields, announcedLength: body.count,
            steps: body.isEmpty ? [] : [.send(body)], delay: delay)
    }

    /// Returns the response with its body in pieces of `count` bytes and a pause between them, as over a slow connection.
    package func inPieces(of count: Int, pausing pause: Duration) -> OriginResponse {
        var slow = self
        slow.steps = steps.flatMap { step -> [Step] in
            guard case .send(let bytes) = step else { return [step] }
            let pieces = stride(from: 0, to: bytes.count, by: count).map {
                Step.send(Array(bytes[$0..<min($0 + count, bytes.count)]))
            }
            return Array(pieces.map { [$0] }.joined(separator: [.pause(pause)]))
        }
        return slow
    }

    /// Returns a response that sends `text` unchanged, even if it isn't valid HTTP, and closes the connection.
    package static func verbatim(_ text: String) -> OriginResponse {
        var response = OriginResponse()
        response.verbatim = Array(text.utf8)
        return response
    }

    package static func redirect(to location: String, status: Int = 302) -> OriginResponse {
        OriginResponse(status: status, headerFields: [.location: location])
    }
}

// MARK: - Files and ranges

extension OriginResponse {
    /// A mistake that a server makes with ranges.
    package enum RangeFault: Sendable, Hashable, CaseIterable {
        /// Ignores ranges: sends 200 and the whole file.
        case ignoresRange
        /// Sends bytes from an earlier position than requested, with a matching Content-Range.
        case wrongStart
        /// States the wrong total length.
        case wrongTotal
        /// Sends no Content-Range.
        case noContentRange
        /// Sends an invalid Content-Range.
        case malformedContentRange
        /// Ignores If-Range: sends the rest of the new file, with its new entity tag.
        case ignoresIfRange
        /// Ignores the range if there is an entity tag in If-Range, as some CDNs do. A date is compared.
        case ignoresTags
        /// Answers 416 to every range, with a wrong length.
        case unsatisfiedWithWrongTotal
        /// Answers one range as if several had been requested.
        case multipart
        /// Marks the entity tag as weak.
        case weakTag
        /// Sends more bytes than Content-Range names, without announcing a length.
        case longerThanRange
        /// Sends fewer bytes than Content-Range names, without announcing a length.
        case shorterThanRange
        /// Sends fewer bytes than Content-Range names, and announces their number.
        case contradictingLength
        /// Adds a Content-Encoding to the range.
        case encoded
        /// Answers 206 to every request.
        case alwaysPartial
        /// Sends at most 1000 bytes of a range, which RFC 9110 allows (section 14.2).
        case atMost1000Bytes
    }

    /// Returns the response to a request for a file or a range of it (RFC 9110, sections 13.1.5 and 14), correct except for `fault`.
    ///
    /// It supports the single ranges `bytes=first-last` and `bytes=first-`, and ignores others, as RFC 9110 allows. With a `limit`, only
    /// that many bytes of the body are sent, and then `step` happens.
    package static func file(
        _ content: [UInt8], etag: String? = nil, lastModified: String? = nil,
        date: String? = "Sat, 21 Nov 2026 12:00:00 GMT", request: OriginRequest, fault: RangeFault? = nil,
        sending limit: Int? = nil, then step: Step = .stall, delay: Duration = .zero
    ) -> OriginResponse {
        var fields: HTTPFields = [.acceptRanges: "bytes"]
        fields[.eTag] = fault == .weakTag ? etag.map { "W/" + $0 } : etag
        fields[.lastModified] = lastModified
        fields[.date] = date

        guard let range = range(of: request, in: content, etag: etag, lastModified: lastModified, fault) else {
            return sent(content, status: 200, fields, limit: limit, step, delay: delay)
        }
        guard range.lowerBound < content.count, fault != .unsatisfiedWithWrongTotal else {
            let total = content.count + (fault == .unsatisfiedWithWrongTotal ? 7 : 0)
            fields[.contentRange] = "bytes */\(total)"
            return OriginResponse(status: 416, headerFields: fields, delay: delay)
        }
        var sentRange = range.clamped(to: 0..<content.count)
        if fault == .atMost1000Bytes {
            sentRange = sentRange.lowerBound..<min(sentRange.upperBound, sentRange.lowerBound + 1000)
        }
        if fault == .wrongStart { sentRange = max(0, sentRange.lowerBound - 10)..<sentRange.upperBound }
        let total = content.count + (fault == .wrongTotal ? 5 : 0)
        let last = sentRange.upperBound - 1
        fields[.contentRange] = "bytes \(sentRange.lowerBound)-\(last)/\(total)"
        var body = Array(content[sentRange])
        switch fault {
        case .noContentRange: fields[.contentRange] = nil
        case .malformedContentRange: fields[.contentRange] = "bytes \(last)-\(sentRange.lowerBound)/x"
        case .multipart: fields[.contentType] = "multipart/byteranges; boundary=x"
        case .encoded: fields[.contentEncoding] = "gzip"
        case .longerThanRange: body += [1, 2, 3]
        case .shorterThanRange: body.removeLast(min(3, body.count))
        case .contradictingLength: body.removeLast(min(3, body.count))
        default: break
        }
        let isChunked = fault == .longerThanRange || fault == .shorterThanRange
        return sent(body, status: 206, fields, isChunked: isChunked, limit: limit, step, delay: delay)
    }

    /// Returns the requested range, or `nil` if none is requested or its If-Range condition is false.
    private static func range(
        of request: OriginRequest, in content: [UInt8], etag: String?, lastModified: String?, _ fault: RangeFault?
    ) -> Range<Int>? {
        if fault == .ignoresRange { return nil }
        guard let field = request.headerFields[.range], field.hasPrefix("bytes=") else {
            return fault == .alwaysPartial ? 0..<content.count : nil
        }
        let bounds = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = Int(bounds[0]) else { return nil }
        // Any local process may connect and send any number.
        guard (0..<Int.max).contains(first) else { return nil }
        let end = bounds[1].isEmpty ? max(first + 1, content.count) : min(Int(bounds[1]) ?? first, Int.max - 1) + 1
        if let condition = request.headerFields[.ifRange], fault != .ignoresIfRange {
            if fault == .ignoresTags {
                return condition == lastModified && first < end ? first..<end : nil
            }
            // Strong comparison: a weak tag never matches.
            guard condition == (fault == .weakTag ? nil : etag) ?? lastModified else { return nil }
        }
        return first < end ? first..<end : nil
    }

    private static func sent(
        _ body: [UInt8], status: Int, _ fields: HTTPFields, isChunked: Bool = false, limit: Int?, _ step: Step,
        delay: Duration
    ) -> OriginResponse {
        var steps: [Step] = []
        let bytes = limit.map { Array(body.prefix($0)) } ?? body
        if !bytes.isEmpty { steps.append(.send(bytes)) }
        if bytes.count < body.count { steps.append(step) }
        return OriginResponse(
            status: status, headerFields: fields, announcedLength: isChunked ? nil : body.count, steps: steps,
            delay: delay)
    }
}
