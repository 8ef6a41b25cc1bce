package import HTTPTypes

/// A request as the origin saw it.
package struct OriginRequest: Sendable {
    /// The method, such as `GET`.
    package var method: String
    /// The request target as sent: path and query, percent-encoded.
    package var target: String
    /// The header fields.
    package var headerFields: HTTPFields
    /// The body, if its length is announced.
    package var body: [UInt8] = []
    /// How many requests for this target there have been, this one included.
    package var attempt: Int
}

/// What the origin answers, down to how it misbehaves.
package struct OriginResponse: Sendable {
    /// One thing done to the connection after the head.
    package enum Step: Sendable {
        /// Sends bytes.
        case send([UInt8])
        /// Waits.
        case pause(Duration)
        /// Closes the connection: the rest of the body never comes.
        case hangUp
        /// Resets the connection (RST), as a crashed peer does.
        case reset
        /// Keeps the connection open and sends nothing more.
        case stall
        /// Runs something of the test's, at this byte.
        case perform(@Sendable () async -> Void)
    }

    /// The status.
    package var status: Int
    /// Fields beside `Content-Length` and `Connection`.
    package var headerFields: HTTPFields
    /// What `Content-Length` says; nil sends the body chunked.
    package var announcedLength: Int?
    /// The body, and what happens on the way.
    package var steps: [Step]
    /// A wait before the head.
    package var delay: Duration
    /// What is sent in place of all that, head included, before the connection is closed.
    package var verbatim: [UInt8]?

    /// A response that misbehaves as `steps` say.
    package init(
        status: Int = 200, headerFields: HTTPFields = [:], announcedLength: Int?, steps: [Step], delay: Duration = .zero
    ) {
        self.status = status
        self.headerFields = headerFields
        self.announcedLength = announcedLength
        self.steps = steps
        self.delay = delay
    }

    /// A response that behaves.
    package init(status: Int = 200, headerFields: HTTPFields = [:], body: [UInt8] = [], delay: Duration = .zero) {
        self.init(
            status: status, headerFields: headerFields, announcedLength: body.count,
            steps: body.isEmpty ? [] : [.send(body)], delay: delay)
    }

    /// The same with its body in pieces and a pause after each, as a slow line brings it.
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

    /// Sends `text` as it is, and closes the connection: what no response is.
    package static func verbatim(_ text: String) -> OriginResponse {
        var response = OriginResponse()
        response.verbatim = Array(text.utf8)
        return response
    }

    /// A redirect.
    package static func redirect(to location: String, status: Int = 302) -> OriginResponse {
        OriginResponse(status: status, headerFields: [.location: location])
    }
}
