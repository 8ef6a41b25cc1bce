import HTTPTypes
import SluiceHTTP

/// The rules of a transfer: which request to send, what a response means, and when the file is complete.
///
/// ```text
/// whole ── 200, 203 ──▶ receiving ── ended ──▶ complete
///   ▲                       ▲  │
///   │  unusable, once       │  └─ the range ended before the file ──▶ rest
///   └────────────────────┐  │
/// rest ── 206, fits ─────┼──┘   200: the file changed, or ranges are not served: receiving, from zero
///      ── 416, fits ─────┼────────────────────▶ complete
///      ── any other range response ───────────┘
///      ── 200 with the requested entity tag, once ──▶ rest, with the date in If-Range
/// ```
///
/// `rest` sends Range and If-Range (RFC 9110, sections 14.2 and 13.1.5). The server returns the rest of the same bytes, or all of the new
/// ones, so the file can't change between a check and the request.
struct TransferStateMachine {
    struct Present: Equatable {
        var bytes: Int64
        var validator: Validator
        var total: Int64?
    }

    enum Question: Equatable {
        case whole
        /// Requests the bytes from an offset on, if the file still has the validator.
        case rest(from: Int64, Validator)
    }

    enum Answer: Equatable {
        /// The server ignored the entity tag in If-Range. Its body isn't used, and the rest is requested with the date.
        case askWithDate
        /// The body is the whole file. Existing bytes are removed. If there is a validator, the transfer can be resumed later.
        case whole(announced: Int64?, Validator?)
        /// The body continues after the existing bytes.
        case rest(from: Int64, total: Int64)
        /// All bytes exist, and still match the server's.
        case complete(Int64)
        /// The existing file is as new as the server's.
        case unchanged
        /// The response is unusable. Existing bytes are removed, and the whole file is requested.
        case startAgain
    }

    enum End: Equatable {
        case complete(Int64)
        /// The body was a valid part of the range, and the rest is requested.
        case askForRest
    }

    private enum State {
        case asking(Present?)
        /// `end` is the offset at which this body must end, and `total` the length of the file, if the server sent them.
        case receiving(received: Int64, end: Int64?, total: Int64?, Validator?, isRange: Bool)
        case complete
    }

    private var state: State
    /// The date for If-Range, from a response that had the file's entity tag, but ignored that tag in If-Range.
    private var date: Validator?
    /// Whether a 304 means that the existing file is unchanged.
    private let isConditional: Bool
    /// Whether an unusable response leads to a new request instead of an error. This happens once.
    private var mayStartAgain = true

    init(present: Present? = nil, isConditional: Bool = false) {
        state = .asking(present.flatMap { $0.bytes > 0 ? $0 : nil })
        self.isConditional = isConditional
    }

    var question: Question {
        guard case .asking(let present) = state else { preconditionFailure("A question was asked during a body.") }
        return present.map { .rest(from: $0.bytes, date ?? $0.validator) } ?? .whole
    }

    mutating func responded(
        status: HTTPResponse.Status, headerFields: HTTPFields, contentLength: Int64?, now: HTTPDate
    ) throws(TransferFailure) -> Answer {
        guard case .asking(let present) = state else { preconditionFailure("A response arrived without a question.") }
        switch (status.code, present) {
        case (200, let present?) where date == nil:
            date = Self.date(in: headerFields, contentLength: contentLength, of: present, now: now)
            if date != nil { return .askWithDate }
            return whole(headerFields, contentLength: contentLength, now: now)
        case (200, _), (203, _): return whole(headerFields, contentLength: contentLength, now: now)
        case (304, nil) where isConditional:
            state = .complete
            return .unchanged
        case (206, let present?):
            return try partial(headerFields, contentLength: contentLength, present)
        case (416, let present?):
            // RFC 9110, section 15.5.17: If-Range held, and there is nothing after the last existing byte.
            guard
                case .unsatisfied(present.bytes) = headerFields.value(of: .contentRange).flatMap({ ContentRange($0) }),
                present.total ?? present.bytes == present.bytes, !present.validator.isContradicted(by: headerFields)
            else { return try startAgain("a 416 that doesn't fit the file") }
            state = .complete
            return .complete(present.bytes)
        case (206, nil) where !mayStartAgain, (416, nil) where !mayStartAgain:
            throw .range("it answered \(status.code) to a request without a range")
        default:
            throw .status(status)
        }
    }

    private mutating func whole(_ fields: HTTPFields, contentLength: Int64?, now: HTTPDate) -> Answer {
        let validator = Self.isEncoded(fields) ? nil : Validator(fields, now: now)
        state = .receiving(received: 0, end: contentLength, total: contentLength, validator, isRange: false)
        return .whole(announced: contentLength, validator)
    }

    /// Returns the date to send in If-Range instead of the entity tag, or `nil` if the 200 response means what it should: that the file has
    /// changed, or that the server has no ranges.
    ///
    /// Some CDNs ignore entity tags in If-Range, and send the whole file although it has the requested tag. A client that has a tag must not
    /// send a date (RFC 9110, section 13.1.5), because a date is weaker. Here it comes from a response that has the same tag, and it is a
    /// strong validator, so it stands for the same bytes.
    private static func date(
        in fields: HTTPFields, contentLength: Int64?, of present: Present, now: HTTPDate
    ) -> Validator? {
        guard case .entityTag(let tag) = present.validator, fields.value(of: .eTag)?.trimmingSpaces() == tag,
            !isEncoded(fields),
            let length = contentLength ?? present.total, present.total ?? length == length,
            fields.value(of: .acceptRanges)?.trimmingSpaces().lowercased() == "bytes"
        else { return nil }
        var dated = fields
        dated[.eTag] = nil
        return Validator(dated, now: now)
    }

    /// Processes a 206 response to a range request (RFC 9110, section 15.3.7), and rejects it unless all its fields fit.
    private mutating func partial(
        _ fields: HTTPFields, contentLength: Int64?, _ present: Present
    ) throws(TransferFailure) -> Answer {
        // We didn't request several ranges, and with a content coding the offsets would be different.
        let type = fields.value(of: .contentType)?.lowercased() ?? ""
        guard !type.hasPrefix("multipart/byteranges"), !Self.isEncoded(fields),
            case .part(let first, let last, let total) = fields.value(of: .contentRange).flatMap({ ContentRange($0) }),
            first == present.bytes, let known = present.total ?? total, total ?? known == known, last < known,
            contentLength ?? (last - first + 1) == last - first + 1,
            !present.validator.isContradicted(by: fields), date?.isContradicted(by: fields) != true
        else { return try startAgain("a 206 that doesn't fit the request") }
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

    /// Returns the total number of received bytes, or `nil` if the body is unusable and the whole file must be requested again.
    mutating func received(_ count: Int) throws(TransferFailure) -> Int64? {
        guard case .receiving(let before, let end, let total, let validator, let isRange) = state else {
            preconditionFailure("Bytes arrived outside a body.")
        }
        let received = before + Int64(count)
        if let end, received > end {
            // The range continues past its end, so we can't tell which of its bytes are right.
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

    /// A body without an announced length is complete when the last chunk arrives or the connection closes.
    mutating func ended() throws(TransferFailure) -> End {
        guard case .receiving(let received, let end, let total, let validator, _) = state else {
            preconditionFailure("A body ended before its response.")
        }
        if let end, received != end { throw .length(announced: end, received: received) }
        if let total, received < total, let validator {
            // A range has at least one byte, so the rest shrinks each time and this terminates.
            state = .asking(Present(bytes: received, validator: validator, total: total))
            return .askForRest
        }
        state = .complete
        return .complete(received)
    }

    /// Whether the body has a content coding. Codings aren't requested, and such bodies aren't resumed: a server may compress the same
    /// file to different bytes each time.
    static func isEncoded(_ fields: HTTPFields) -> Bool {
        fields.value(of: .contentEncoding).map { !["", "identity"].contains($0.lowercased()) } ?? false
    }
}

enum TransferFailure: Error, Equatable {
    case status(HTTPResponse.Status)
    case length(announced: Int64, received: Int64)
    /// The server's range responses contradict each other or the request, even after the transfer started over.
    case range(String)
    /// The bytes have another digest than expected.
    case digest(TransferDigests.Expectation, found: Checksum)
    case tooLarge(limit: Int64)
}
