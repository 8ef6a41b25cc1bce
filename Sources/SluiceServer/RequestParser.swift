#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif
package import HTTPTypes

/// Turns the bytes of a connection into requests of HTTP/1.1 and HTTP/1.0, without I/O (RFC 9112).
///
/// A request that could be read in two ways is refused, because a proxy in front of the server might have read it in the other one: two
/// lengths, a length and a coding, white space before a colon, folded lines, and lines that end without a carriage return.
///
/// ```text
/// head ──▶ body of a known length ──▶ head of the next request
///    └───▶ size of a chunk ──▶ chunk ──▶ size … ──▶ trailers ──▶ head of the next request
/// ```
package struct RequestParser: Sendable {
    /// The maximum sizes, in bytes.
    package struct Limits: Sendable {
        package var targetSize: Int
        package var headSize: Int
        package var fieldCount: Int
        package var bodySize: Int

        package init(
            targetSize: Int = 8 << 10, headSize: Int = 32 << 10, fieldCount: Int = 100, bodySize: Int = 1 << 20
        ) {
            self.targetSize = targetSize
            self.headSize = headSize
            // `HTTPFields` traps at 65,535 fields.
            self.fieldCount = min(fieldCount, 10_000)
            self.bodySize = bodySize
        }
    }

    package struct Request: Sendable {
        package var method: HTTPRequest.Method
        /// The request target as sent.
        package var target: String
        package var headerFields: HTTPFields
        package var body = Data()
        package var isVersion10: Bool
        /// Whether the client wants another response on this connection.
        package var staysOpen: Bool
    }

    /// Why a request isn't accepted. The connection can't be used any longer.
    package struct Refusal: Error, Equatable {
        package var status: HTTPResponse.Status
        /// One sentence for the client.
        package var reason: String

        package init(_ status: HTTPResponse.Status, _ reason: String) {
            self.status = status
            self.reason = reason
        }
    }

    package enum Step: Sendable {
        case needsBytes
        /// The client waits for `100 Continue` before it sends the body.
        case awaitsContinue
        case request(Request)
    }

    private enum State {
        case head
        case body(size: Int)
        case chunkSize
        case chunk(left: Int)
        case endOfChunk
        case trailers(size: Int)
    }

    private let limits: Limits
    private var state = State.head
    /// The request whose body is being read. It isn't a part of the state, because appending to a copy would copy the body.
    private var request: Request?
    private var bytes: [UInt8] = []
    /// The position of the first unread byte.
    private var start = 0
    /// No line or head ends before this position.
    private var searched = 0
    private var mustContinue = false

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether the bytes end between two requests.
    package var isBetweenRequests: Bool {
        if case .head = state { start == bytes.count } else { false }
    }

    package mutating func append(_ data: some Sequence<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            searched = max(0, searched - start)
            start = 0
        }
        bytes.append(contentsOf: data)
    }

    /// Returns the next request, or what it takes to get one.
    ///
    /// - Complexity: O(n) in the number of bytes, however small the pieces and chunks are in which they arrive.
    package mutating func next() throws(Refusal) -> Step {
        while true {
            switch state {
            case .head:
                guard let lines = try nextHead() else { return .needsBytes }
                try begin(lines)
                if mustContinue, start == bytes.count {
                    mustContinue = false
                    return .awaitsContinue
                }
            case .body(let size):
                guard bytes.count - start >= size else { return .needsBytes }
                take(size)
                if let request = finish() { return .request(request) }
            case .chunkSize:
                guard let line = try nextLine(atMost: 256) else { return .needsBytes }
                let size = try Self.chunkSize(of: line)
                guard size <= limits.bodySize - (request?.body.count ?? 0) else { throw tooLarge }
                state = size == 0 ? .trailers(size: 0) : .chunk(left: size)
            case .chunk(let left):
                guard start < bytes.count else { return .needsBytes }
                let count = min(left, bytes.count - start)
                take(count)
                state = count == left ? .endOfChunk : .chunk(left: left - count)
            case .endOfChunk:
                guard let line = try nextLine(atMost: 0) else { return .needsBytes }
                guard line.isEmpty else { throw Refusal(.badRequest, "A chunk doesn't end where it should.") }
                state = .chunkSize
            case .trailers(let size):
                guard let line = try nextLine(atMost: limits.headSize - size) else { return .needsBytes }
                state = .trailers(size: size + line.count + 2)
                // Trailers are dropped (RFC 9110, section 6.5.1).
                if line.isEmpty, let request = finish() { return .request(request) }
            }
        }
    }

    /// Moves bytes to the body.
    private mutating func take(_ count: Int) {
        request?.body.append(contentsOf: bytes[start..<start + count])
        start += count
    }

    private mutating func finish() -> Request? {
        state = .head
        searched = start
        mustContinue = false
        return request.take()
    }

    private var tooLarge: Refusal {
        Refusal(.contentTooLarge, "The body is larger than \(limits.bodySize) bytes.")
    }

    // MARK: Lines

    /// Returns the lines of a complete head.
    private mutating func nextHead() throws(Refusal) -> [ArraySlice<UInt8>]? {
        // A client may send an empty line after a body (RFC 9112, section 2.2).
        while bytes.count - start >= 2, bytes[start] == 13, bytes[start + 1] == 10 { start += 2 }
        searched = max(searched, start)
        if start < bytes.count, !Self.isToken(bytes[start]), bytes[start] != 13 {
            throw Refusal(.badRequest, "This isn't a request of HTTP/1.1. A TLS connection needs another port.")
        }
        while searched + 3 < bytes.count {
            if bytes[searched] == 13, bytes[searched + 1] == 10, bytes[searched + 2] == 13, bytes[searched + 3] == 10 {
                let head = bytes[start..<searched]
                start = searched + 4
                searched = start
                return try lines(of: head)
            }
            searched += 1
        }
        // Looking for the end of the first line at every piece would take too long.
        // A part of the head's end may have arrived.
        if bytes.count - start > limits.headSize + 3 { try checkSize(of: bytes[start...]) }
        return nil
    }

    private func checkSize(of head: ArraySlice<UInt8>) throws(Refusal) {
        let line = head.firstIndex(of: 13) ?? head.endIndex
        // The method and the version have few bytes.
        guard line - head.startIndex <= limits.targetSize + 64 else { throw targetTooLong }
        guard head.count <= limits.headSize else {
            throw Refusal(
                .requestHeaderFieldsTooLarge, "The header fields are larger than \(limits.headSize) bytes.")
        }
    }

    private var targetTooLong: Refusal {
        Refusal(.uriTooLong, "The target is longer than \(limits.targetSize) bytes.")
    }

    private func lines(of head: ArraySlice<UInt8>) throws(Refusal) -> [ArraySlice<UInt8>] {
        try checkSize(of: head)
        var lines: [ArraySlice<UInt8>] = []
        var rest = head
        while let end = rest.firstIndex(of: 13) {
            lines.append(rest[..<end])
            guard end + 1 < rest.endIndex, rest[end + 1] == 10 else { throw Self.badLine }
            rest = rest[(end + 2)...]
        }
        lines.append(rest)
        for line in lines where line.contains(10) || line.contains(0) { throw Self.badLine }
        return lines
    }

    private static let badLine = Refusal(
        .badRequest, "A line of the head has a control character, or doesn't end with CR LF.")

    /// Returns the next line without its end.
    private mutating func nextLine(atMost limit: Int) throws(Refusal) -> ArraySlice<UInt8>? {
        searched = max(searched, start)
        while searched + 1 < bytes.count {
            if bytes[searched] == 13 {
                guard bytes[searched + 1] == 10 else { throw Self.badLine }
                let line = bytes[start..<searched]
                start = searched + 2
                searched = start
                return line
            }
            guard bytes[searched] != 10, searched - start < limit else {
                throw Refusal(.badRequest, "A line of the body isn't valid, or is too long.")
            }
            searched += 1
        }
        return nil
    }

    // MARK: The head

    private mutating func begin(_ lines: [ArraySlice<UInt8>]) throws(Refusal) {
        let words = lines[0].split(separator: 32, omittingEmptySubsequences: false)
        // A target is ASCII (RFC 9112, section 3.2). Other bytes might mean something else to a proxy in front of the server.
        guard words.count == 3, !words[1].isEmpty, words[1].allSatisfy({ (33...126).contains($0) }),
            let method = HTTPRequest.Method(String(decoding: words[0], as: UTF8.self))
        else { throw Refusal(.badRequest, "The request line isn't valid.") }
        guard words[1].count <= limits.targetSize else { throw targetTooLong }
        let version = String(decoding: words[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw version.hasPrefix("HTTP/")
                ? Refusal(.httpVersionNotSupported, "This server speaks HTTP/1.1.")
                : Refusal(.badRequest, "The request line isn't valid.")
        }
        let fields = try fields(of: lines.dropFirst())
        var request = Request(
            method: method, target: String(decoding: words[1], as: UTF8.self), headerFields: fields,
            isVersion10: version == "HTTP/1.0", staysOpen: false)
        request.staysOpen = !request.isVersion10 && !Self.members(of: fields[values: .connection]).contains("close")
        let hosts = fields[values: .host]
        guard hosts.count == 1 || hosts.isEmpty && request.isVersion10 else {
            throw Refusal(.badRequest, "A request must have one Host field.")
        }
        try readExpectation(of: request)
        state = try body(of: request)
        self.request = request
    }

    private func fields(of lines: ArraySlice<ArraySlice<UInt8>>) throws(Refusal) -> HTTPFields {
        guard lines.count <= limits.fieldCount else {
            throw Refusal(.requestHeaderFieldsTooLarge, "There are more than \(limits.fieldCount) header fields.")
        }
        var fields = HTTPFields()
        for line in lines {
            // The name of a folded line, or one before white space, isn't a token.
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { throw Refusal(.badRequest, "A header field isn't valid.") }
            let value = line[(colon + 1)...]
            guard value.allSatisfy({ $0 >= 32 && $0 != 127 || $0 == 9 }) else { throw Self.badLine }
            let isSpace = { (byte: UInt8) in byte == 32 || byte == 9 }
            var trimmed = value.drop(while: isSpace)
            while let last = trimmed.last, isSpace(last) { trimmed.removeLast() }
            fields.append(HTTPField(name: name, value: String(decoding: trimmed, as: UTF8.self)))
        }
        return fields
    }

    private mutating func readExpectation(of request: Request) throws(Refusal) {
        let expected = Self.members(of: request.headerFields[values: .expect])
        guard expected.allSatisfy({ $0 == "100-continue" }) else {
            throw Refusal(.expectationFailed, "This server knows only the expectation 100-continue.")
        }
        mustContinue = !expected.isEmpty && !request.isVersion10
    }

    /// How long the body is (RFC 9112, section 6.3).
    private mutating func body(of request: Request) throws(Refusal) -> State {
        let codings = Self.members(of: request.headerFields[values: .transferEncoding])
        let lengths = request.headerFields[values: .contentLength]
        if !codings.isEmpty {
            guard lengths.isEmpty, !request.isVersion10 else {
                throw Refusal(.badRequest, "The length of the body is ambiguous.")
            }
            guard codings == ["chunked"] else {
                throw Refusal(.notImplemented, "This server knows only the transfer coding chunked.")
            }
            return .chunkSize
        }
        guard let length = lengths.first else {
            mustContinue = false
            return .body(size: 0)
        }
        guard lengths.count == 1, !length.isEmpty, length.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw Refusal(.badRequest, "The length of the body isn't valid.")
        }
        guard let size = Int(length), size <= limits.bodySize else { throw tooLarge }
        if size == 0 { mustContinue = false }
        return .body(size: size)
    }

    // MARK: Parts

    private static func chunkSize(of line: ArraySlice<UInt8>) throws(Refusal) -> Int {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 32 && $0 != 9 }
        guard (1...15).contains(digits.count), let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
            digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-")
        else { throw Refusal(.badRequest, "The size of a chunk isn't valid.") }
        return size
    }

    /// The members of a list, in lowercase.
    private static func members(of values: [String]) -> [String] {
        values.flatMap { $0.split(separator: ",") }
            .map { $0.trimmed.lowercased() }
            .filter { !$0.isEmpty }
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}

extension HTTPField.Name {
    package static var host: Self { Self("Host")! }
}
