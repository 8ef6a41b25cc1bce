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
