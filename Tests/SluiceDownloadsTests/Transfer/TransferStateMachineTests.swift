import HTTPTypes
import SluiceHTTP
import Testing

@testable import SluiceDownloads

private let tag = Validator.entityTag("\"v1\"")
private let now = HTTPDate(secondsSince1970: 1_795_000_000)

extension TransferStateMachine {
    fileprivate mutating func responded(
        _ status: Int, _ fields: HTTPFields = [:], length: Int64? = nil
    ) throws(TransferFailure) -> Answer {
        try responded(status: .init(code: status), headerFields: fields, contentLength: length, now: now)
    }
}

@Suite struct `The transfer's rules for a whole file` {
    @Test func `a body of the announced length is complete`() throws {
        var machine = TransferStateMachine()
        #expect(machine.question == .whole)
        #expect(try machine.responded(200, length: 5) == .whole(announced: 5, nil))
        #expect(try machine.received(2) == 2)
        #expect(try machine.received(3) == 5)
        #expect(try machine.ended() == .complete(5))
    }

    @Test func `a body that is empty or has no announced length is complete when it ends`() throws {
        var empty = TransferStateMachine()
        _ = try empty.responded(200, length: 0)
        #expect(try empty.ended() == .complete(0))
        var unannounced = TransferStateMachine()
        #expect(try unannounced.responded(203) == .whole(announced: nil, nil))
        _ = try unannounced.received(7)
        #expect(try unannounced.ended() == .complete(7))
    }

    @Test func `a body shorter or longer than announced fails`() throws {
        var short = TransferStateMachine()
        _ = try short.responded(200, length: 5)
        _ = try short.received(4)
        #expect(throws: TransferFailure.length(announced: 5, received: 4)) { try short.ended() }

        var long = TransferStateMachine()
        _ = try long.responded(200, length: 5)
        #expect(throws: TransferFailure.length(announced: 5, received: 6)) { try long.received(6) }
    }

    @Test(
        arguments: [
            (["ETag": "\"v1\""], tag), (["ETag": "W/\"v1\""], nil),
            (["ETag": "\"v1\"", "Content-Encoding": "gzip"], nil),
            (["ETag": "\"v1\"", "Content-Encoding": "Identity"], tag), ([:], nil),
        ] as [([String: String], Validator?)])
    func `only an unencoded body with a strong validator can be resumed`(
        fields: [String: String], validator: Validator?
    ) throws {
        var machine = TransferStateMachine()
        let fields = HTTPFields(fields.map { HTTPField(name: .init($0)!, value: $1) })
        #expect(try machine.responded(200, fields, length: 9) == .whole(announced: 9, validator))
    }

    /// A transfer that resumes accepts 206 and 416.
    @Test(
        arguments: [100, 201, 204, 300, 302, 304, 400, 401, 404, 412, 500, 503].flatMap { [($0, false), ($0, true)] }
            + [(206, false), (416, false)])
    func `only a complete representation is a file, and other statuses fail`(
        status: Int, isResumed: Bool
    ) {
        var machine = TransferStateMachine(
            present: isResumed ? .init(bytes: 3, validator: tag, total: 9) : nil)
        #expect(throws: TransferFailure.status(.init(code: status))) {
            try machine.responded(status, length: 5)
        }
    }
}

@Suite struct `The transfer's rules for the rest of a file` {
    /// A response to `bytes=500-` of a file that has 1000 bytes, as far as is known.
    struct Case: Sendable, CustomTestStringConvertible {
        var status = 206
        var fields: [String: String]
        var length: Int64?
        var total: Int64? = 1000
        var expected: TransferStateMachine.Answer
        var testDescription: String { "\(status) \(fields) \(length ?? -1) of \(total ?? -1)" }

        static func range(_ value: String, _ more: [String: String] = [:]) -> [String: String] {
            more.merging(["Content-Range": value]) { $1 }
        }
    }

    static let rest = TransferStateMachine.Answer.rest(from: 500, total: 1000)

    static let cases: [Case] = [
        // Responses that fit.
        Case(fields: Case.range("bytes 500-999/1000"), length: 500, expected: rest),
        Case(fields: Case.range("bytes 500-999/1000"), length: nil, expected: rest),
        Case(fields: Case.range("bytes 500-999/*"), expected: rest),
        Case(fields: Case.range("bytes 500-999/1000"), total: nil, expected: rest),
        Case(fields: Case.range("bytes 500-500/1000"), length: 1, expected: rest),
        Case(fields: Case.range("bytes 500-999/1000", ["ETag": "\"v1\""]), expected: rest),
        Case(fields: Case.range("bytes 500-999/1000", ["Content-Encoding": "identity"]), expected: rest),
        Case(fields: Case.range("bytes 500-999/1000", ["Content-Type": "audio/mpeg"]), expected: rest),
        // Responses that don't.
        Case(fields: [:], length: 500, expected: .startAgain),
        Case(fields: Case.range("nonsense"), expected: .startAgain),
        Case(fields: Case.range("bytes */1000"), expected: .startAgain),
        Case(fields: Case.range("bytes 0-999/1000"), expected: .startAgain),
        Case(fields: Case.range("bytes 499-999/1000"), expected: .startAgain),
        Case(fields: Case.range("bytes 501-999/1000"), expected: .startAgain),
        Case(fields: Case.range("bytes 500-999/1001"), expected: .startAgain),
        Case(fields: Case.range("bytes 500-1000/1001"), expected: .startAgain),
        Case(fields: Case.range("bytes 500-1000/*"), expected: .startAgain),
        Case(fields: Case.range("bytes 500-999/*"), total: nil, expected: .startAgain),
        Case(fields: Case.range("bytes 500-999/1000"), length: 499, expected: .startAgain),
        Case(fields: Case.range("bytes 500-999/1000"), length: 1000, expected: .startAgain),
        Case(fields: Case.range("bytes 500-999/1000", ["ETag": "\"v2\""]), expected: .startAgain),
        Case(fields: Case.range("bytes 500-999/1000", ["ETag": "W/\"v1\""]), expected: .startAgain),
        Case(fields: Case.range("bytes 500-999/1000", ["Content-Encoding": "gzip"]), expected: .startAgain),
        Case(
            fields: Case.range("bytes 500-999/1000", ["Content-Type": "Multipart/ByteRanges; boundary=x"]),
            expected: .startAgain),
        // The file changed, or the server doesn't support ranges.
        Case(status: 200, fields: [:], length: 800, expected: .whole(announced: 800, nil)),
        Case(
            status: 200, fields: ["ETag": "\"v2\""], length: 1000,
            expected: .whole(announced: 1000, .entityTag("\"v2\""))),
        Case(status: 203, fields: [:], length: nil, expected: .whole(announced: nil, nil)),
        // There is nothing after the existing bytes.
        Case(status: 416, fields: Case.range("bytes */1000"), expected: .startAgain),
        Case(status: 416, fields: Case.range("bytes */500"), total: 1000, expected: .startAgain),
        Case(status: 416, fields: Case.range("bytes */500"), total: 500, expected: .complete(500)),
        Case(status: 416, fields: Case.range("bytes */500"), total: nil, expected: .complete(500)),
        Case(
            status: 416, fields: Case.range("bytes */500", ["ETag": "\"v1\""]), total: 500, expected: .complete(500)),
        Case(status: 416, fields: Case.range("bytes */500", ["ETag": "\"v2\""]), total: 500, expected: .startAgain),
        Case(status: 416, fields: Case.range("bytes */499"), total: 500, expected: .startAgain),
        Case(status: 416, fields: Case.range("bytes 0-499/500"), total: 500, expected: .startAgain),
        Case(status: 416, fields: [:], total: 500, expected: .startAgain),
    ]

    @Test(arguments: cases)
    func `a response is either used or discarded as a whole`(answer: Case) throws {
        var machine = TransferStateMachine(present: .init(bytes: 500, validator: tag, total: answer.total))
        #expect(machine.question == .rest(from: 500, tag))
        let fields = HTTPFields(answer.fields.map { HTTPField(name: .init($0)!, value: $1) })
        #expect(try machine.responded(answer.status, fields, length: answer.length) == answer.expected)
        if answer.expected == .startAgain {
            // This happens once: the whole file is requested, and a range response to that is an error.
            #expect(machine.question == .whole)
            let failure = #expect(throws: TransferFailure.self) {
                try machine.responded(206, [.contentRange: "bytes 500-999/1000"])
            }
            guard case .range = failure else { return #expect(Bool(false), "\(String(describing: failure))") }
        }
    }

    @Test func `a range that ends before the file leads to a request for the rest`() throws {
        var machine = TransferStateMachine(present: .init(bytes: 500, validator: tag, total: 1000))
        _ = try machine.responded(206, [.contentRange: "bytes 500-699/1000"])
        #expect(try machine.received(200) == 700)
        #expect(try machine.ended() == .askForRest)
        #expect(machine.question == .rest(from: 700, tag))
        _ = try machine.responded(206, [.contentRange: "bytes 700-999/1000"])
        #expect(try machine.received(300) == 1000)
        #expect(try machine.ended() == .complete(1000))
    }

    @Test func `a body shorter than its range fails, and a longer one leads to a request for the whole`() throws {
        var short = TransferStateMachine(present: .init(bytes: 500, validator: tag, total: 1000))
        _ = try short.responded(206, [.contentRange: "bytes 500-999/1000"])
        _ = try short.received(100)
        #expect(throws: TransferFailure.length(announced: 1000, received: 600)) { try short.ended() }

        var long = TransferStateMachine(present: .init(bytes: 500, validator: tag, total: 1000))
        _ = try long.responded(206, [.contentRange: "bytes 500-599/1000"])
        #expect(try long.received(101) == nil)
        #expect(long.question == .whole)
    }

    @Test func `an empty partial file leads to a request for the whole file`() {
        #expect(TransferStateMachine(present: .init(bytes: 0, validator: tag, total: 9)).question == .whole)
    }
}
