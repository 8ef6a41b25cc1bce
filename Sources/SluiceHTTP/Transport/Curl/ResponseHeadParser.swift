#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes

/// Parses a response head and trailers from the lines that libcurl delivers (RFC 9112, sections 4, 5 and 7.1.2). Ignores informational
/// heads (1xx), which come before the final head.
///
/// If libcurl answers a 401 with credentials, a second head follows the first: see ``mayStartAgain``.
struct ResponseHeadParser {
    private let recent: RecentFields
    private var status: HTTPResponse.Status?
    private var fields = HTTPFields()
    /// Whether the last line was a field, which the next line may continue.
    private var mayFold = false
    /// The whole value of the last field, if lines continue it.
    private var folded: [UInt8] = []
    private var isFinal = false
    /// Whether a status line after the final head begins another head, because libcurl has sent the request again.
    var mayStartAgain = false
    private var bytes = 0

    /// The maximum size of all heads and trailers of a response together. libcurl has the same limit for one head since version 8.3.
    /// Otherwise, a server that sends endless heads or trailers would keep its client busy forever.
    static let limit = 300 << 10

    init(_ recent: RecentFields = RecentFields()) { self.recent = recent }

    struct Malformed: Error {
        var reason: String

        /// A head doesn't begin with a status line, or its status isn't a three-digit number from 100 to 999.
        static let status = Malformed(reason: "the status line isn't valid")
        /// No request asks for it, and the bytes after it wouldn't be HTTP (RFC 9110, section 15.2.2).
        static let switching = Malformed(reason: "it switches to another protocol")
        static let fields = Malformed(reason: "its head has more than \(HTTPTransport.maximumFields) fields")
        static let size = Malformed(reason: "its head is larger than \(limit >> 10) KiB")
    }

    /// Takes a line with its line ending. If it is the empty line that ends the final head, returns that head; otherwise, `nil`.
    mutating func take(_ line: UnsafeRawBufferPointer) throws(Malformed) -> ResponseHead? {
        bytes += line.count
        guard bytes <= Self.limit else { throw .size }
        if isFinal, mayStartAgain, line.starts(with: Self.beginning) {
            (isFinal, fields, mayFold, folded) = (false, [:], false, [])
        }
        if isFinal {
            // While a transfer is paused, libcurl joins the lines of trailers.
            for line in line.split(separator: 0x0A) {
                let line = line.last == 0x0D ? line.dropLast() : line
                if !line.isEmpty { try takeField(line) }
            }
            return nil
        }
        var line = line[...]
        while let last = line.last, last == 0x0A || last == 0x0D { line = line.dropLast() }
        if line.isEmpty {
            endField()
            guard let status else { throw .status }
            defer { (self.status, fields) = (nil, [:]) }
            guard status.code >= 200 else { return nil }
            isFinal = true
            return ResponseHead(status: status, headerFields: fields)
        }
        if status == nil {
            guard let found = Self.status(line) else { throw .status }
            if found == .switchingProtocols { throw .switching }
            status = found
        } else {
            try takeField(line)
        }
        return nil
    }

    /// Returns the trailers, once the response has ended.
    mutating func finish() -> HTTPFields {
        endField()
        return isFinal ? fields : [:]
    }

    private mutating func takeField(_ line: Slice<UnsafeRawBufferPointer>) throws(Malformed) {
        guard let first = line.first, first == 0x20 || first == 0x09 else {
            endField()
            guard let field = recent.field(UnsafeRawBufferPointer(rebasing: line)) else { return }
            guard fields.count < HTTPTransport.maximumFields else { throw .fields }
            fields.append(field)
            mayFold = true
            return
        }
        // A folded field (section 5.2): the line break counts as a space.
        guard mayFold, let field = fields.last else { return }
        if folded.isEmpty { folded = Array(field.value.utf8) }
        folded.append(0x20)
        folded += line.withoutOuterSpaces
    }

    private mutating func endField() {
        mayFold = false
        guard !folded.isEmpty, let field = fields.popLast() else { return }
        fields.append(HTTPField(name: field.name, value: String(decoding: folded, as: UTF8.self)))
        folded = []
    }

    private static let beginning = Array("HTTP/".utf8)

    private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> HTTPResponse.Status? {
        guard line.starts(with: beginning) else { return nil }
        let rest = line.drop { $0 != 0x20 }.drop { $0 == 0x20 }
        let digits = rest.prefix { $0 != 0x20 }
        guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let code = digits.reduce(0) { 10 * $0 + Int($1 - 0x30) }
        guard code >= 100 else { return nil }
        let reason = String(decoding: rest.dropFirst(3).withoutOuterSpaces, as: UTF8.self)
        return HTTPResponse.Status(code: code, reasonPhrase: reason)
    }
}
