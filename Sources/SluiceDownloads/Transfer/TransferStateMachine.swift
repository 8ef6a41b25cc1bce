import HTTPTypes
import SluiceHTTP

/// The rules of one file's transfer: what to ask for, what a response means, and when the file is complete.
///
/// ```text
/// whole ── 200, 203 ──▶ receiving ── ended ──▶ complete
///   ▲                       ▲  │
///   │  unusable, once       │  └─ the range ended before the file ──▶ rest
///   └────────────────────┐  │
/// rest ── 206, fits ─────┼──┘   200: the file changed, or ranges are not served: receiving, from zero
///      ── 416, fits ─────┼────────────────────▶ complete
///      ── what else says that it is a range ──┘
/// ```
///
/// `rest` asks with Range and If-Range (RFC 9110, sections 14.2 and 13.1.5): the server sends the rest of the same bytes,
/// or all of the new ones, and there is no moment in between at which the file could change.
struct TransferStateMachine {
    /// What is there already, from an earlier attempt.
    struct Present: Equatable {
        var bytes: Int64
        var validator: Validator
        var total: Int64?
    }

    /// What to ask the server for.
    enum Question: Equatable {
        /// All of it.
        case whole
        /// The bytes from here on, if the file is still the one that the validator names.
        case rest(from: Int64, Validator)
    }

    /// What a response means for the partial file.
    enum Answer: Equatable {
        /// The body is the file from its first byte. What is there is cut off. With a validator, it can be resumed later.
        case whole(announced: Int64?, Validator?)
        /// The body goes on after the bytes that are there.
        case rest(from: Int64, total: Int64)
        /// All bytes are there, and they are still those of the server.
        case complete(Int64)
        /// The response is of no use: what is there is cut off, and all of it asked for.
        case startAgain
    }

    /// What the end of a body means.
    enum End: Equatable {
        /// The file is whole.
        case complete(Int64)
        /// The body was a legal part of the range: the rest is asked for.
        case askForRest
    }

    private enum State {
        case asking(Present?)
        /// `end` is where this body must end, if the server says so; `total` where the file does.
        case receiving(received: Int64, end: Int64?, total: Int64?, Validator?, isRange: Bool)
        case complete
    }

    private var state: State
    /// Whether a useless answer leads to a new question instead of a failure: once.
    private var mayStartAgain = true

    /// A transfer that has so much of the file, or nothing.
    init(present: Present? = nil) {
        state = .asking(present.flatMap { $0.bytes > 0 ? $0 : nil })
    }

    /// What to ask for next.
    var question: Question {
        guard case .asking(let present) = state else { preconditionFailure("one question at a time") }
        return present.map { .rest(from: $0.bytes, $0.validator) } ?? .whole
    }

    /// The head is there.
    mutating func responded(
        status: HTTPResponse.Status, headerFields: HTTPFields, contentLength: Int64?, now: HTTPDate
    ) throws(TransferFailure) -> Answer {
        guard case .asking(let present) = state else { preconditionFailure("a question has one response") }
        switch (status.code, present) {
        case (200, _), (203, _):
            let validator = Self.isEncoded(headerFields) ? nil : Validator(headerFields, now: now)
            state = .receiving(received: 0, end: contentLength, total: contentLength, validator, isRange: false)
            return .whole(announced: contentLength, validator)
        case (206, let present?):
            return try partial(headerFields, contentLength: contentLength, present)
        case (416, let present?):
            // RFC 9110, section 15.5.17: If-Range held, and there is nothing after the last byte that is here.
            guard case .unsatisfied(present.bytes) = headerFields[.contentRange].flatMap({ ContentRange($0) }),
                present.total ?? present.bytes == present.bytes, !present.validator.isContradicted(by: headerFields)
            else { return try startAgain("a 416 that does not fit the file") }
            state = .complete
            return .complete(present.bytes)
        case (206, nil) where !mayStartAgain, (416, nil) where !mayStartAgain:
            throw .range("it answered \(status.code) to a request without a range")
        default:
            throw .status(status)
        }
    }

    /// A 206 to a range (RFC 9110, section 15.3.7): nothing of it is believed but what fits.
    private mutating func partial(
        _ fields: HTTPFields, contentLength: Int64?, _ present: Present
    ) throws(TransferFailure) -> Answer {
        // Several ranges were not asked for; a coding would have offsets of its own.
        let type = fields[.contentType]?.lowercased() ?? ""
        guard !type.hasPrefix("multipart/byteranges"), !Self.isEncoded(fields),
            case .part(let first, let last, let total) = fields[.contentRange].flatMap({ ContentRange($0) }),
            first == present.bytes, let known = present.total ?? total, total ?? known == known, last < known,
            contentLength ?? (last - first + 1) == last - first + 1,
            !present.validator.isContradicted(by: fields)
        else { return try startAgain("a 206 that does not fit the request") }
        state = .receiving(
            received: first, end: last + 1, total: known, present.validator, isRange: true)
        return .rest(from: first, total: known)
    }

    private mutating func startAgain(_ cause: String) throws(TransferFailure) -> Answer {
        guard mayStartAgain else { throw .range("it sent \(cause)") }
        mayStartAgain = false
        state = .asking(nil)
        return .startAgain
    }

    /// Bytes came: returns how many there are by now, or nil if the body is of no use, and all of the file is to be asked
    /// for again.
    mutating func received(_ count: Int) throws(TransferFailure) -> Int64? {
        guard case .receiving(let before, let end, let total, let validator, let isRange) = state else {
            preconditionFailure("bytes come after the response and before the end")
        }
        let received = before + Int64(count)
        if let end, received > end {
            // A range that goes on past its end: nobody knows which of its bytes are the right ones.
            if isRange, mayStartAgain {
                mayStartAgain = false
                state = .asking(nil)
                return nil
            }
            throw .length(announced: end, received: received)
        }
        state = .receiving(received: received, end: end, total: total, validator, isRange: isRange)
        return received
    }

    /// The body ended.
    ///
    /// One without an announced length is complete when the connection says so: its last chunk, or its close.
    mutating func ended() throws(TransferFailure) -> End {
        guard case .receiving(let received, let end, let total, let validator, _) = state else {
            preconditionFailure("a body ends after its response")
        }
        if let end, received != end { throw .length(announced: end, received: received) }
        if let total, received < total, let validator {
            // At least one byte came, as a range has one: this ends.
            state = .asking(Present(bytes: received, validator: validator, total: total))
            return .askForRest
        }
        state = .complete
        return .complete(received)
    }

    /// Whether the bytes of the body are those of a content coding. They are not asked for, and not resumed: what a server
    /// compresses twice need not be the same bytes.
    private static func isEncoded(_ fields: HTTPFields) -> Bool {
        fields[.contentEncoding].map { !["", "identity"].contains($0.lowercased()) } ?? false
    }
}

/// A rule that a response broke.
enum TransferFailure: Error, Equatable {
    /// It brings no file.
    case status(HTTPResponse.Status)
    /// The body is not as long as it should be.
    case length(announced: Int64, received: Int64)
    /// The server's ranges contradict each other or what was asked, also after the transfer began anew.
    case range(String)
}
