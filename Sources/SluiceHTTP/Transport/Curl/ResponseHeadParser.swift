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
    private let names: FieldNames
    private var status: HTTPResponse.Status?
    private var fields = HTTPFields()
    private var name: HTTPField.Name?
    private var value: [UInt8] = []
    private var isFinal = false
    /// Whether a status line after the final head begins another head, because libcurl has sent the request again.
    var mayStartAgain = false
    private var bytes = 0

    /// The maximum size of all heads and trailers of a response together. libcurl has the same limit for one head since version 8.3.
    /// Otherwise, a server that sends endless heads or trailers would keep its client busy forever.
    static let limit = 300 << 10

    init(names: FieldNames = FieldNames()) { self.names = names }

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
            (isFinal, fields, name) = (false, [:], nil)
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
            try endField()
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
    mutating func finish() throws(Malformed) -> HTTPFields {
        try endField()
        return isFinal ? fields : [:]
    }

    private mutating func takeField(_ line: Slice<UnsafeRawBufferPointer>) throws(Malformed) {
        if let first = line.first, first == 0x20 || first == 0x09 {
            // A folded field (section 5.2): the line break counts as a space.
            value.append(0x20)
            value += Self.trimmed(line)
        } else {
            try endField()
            guard let colon = line.firstIndex(of: 0x3A) else { return }
            // If the name isn't a token, this is nil and the field is dropped, because no program could look it up.
            name = names.name(UnsafeRawBufferPointer(rebasing: line[..<colon]))
            value = Array(Self.trimmed(line[(colon + 1)...]))
        }
    }

    private mutating func endField() throws(Malformed) {
        guard let name else { return }
        guard fields.count < HTTPTransport.maximumFields else { throw .fields }
        fields.append(HTTPField(name: name, value: String(decoding: value, as: UTF8.self)))
        self.name = nil
    }

    private static let beginning = Array("HTTP/".utf8)

    private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> HTTPResponse.Status? {
        let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: true)
        guard parts.count >= 2, parts[0].starts(with: beginning), parts[1].count == 3 else { return nil }
        guard let code = Int(String(decoding: parts[1], as: UTF8.self)), (100...999).contains(code) else { return nil }
        let reason = parts.count > 2 ? String(decoding: trimmed(parts[2]), as: UTF8.self) : ""
        return HTTPResponse.Status(code: code, reasonPhrase: reason)
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var bytes = bytes.drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes = bytes.dropLast() }
        return bytes
    }
}

/// The names of fields that arrived lately. The same few come with each response, and making a name checks it and copies it twice.
final class FieldNames {
    /// A name is at the position that its hash says, where it replaces another.
    private var known = [HTTPField.Name?](repeating: nil, count: 64)

    /// Returns `nil` if the text isn't the name of a field.
    func name(_ text: UnsafeRawBufferPointer) -> HTTPField.Name? {
        // FNV-1a.
        var hash: UInt32 = 0x811c_9dc5
        for byte in text { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        let index = Int(hash) & (known.count - 1)
        if let name = known[index], name.rawName.hasBytes(text) { return name }
        guard let name = HTTPField.Name(String(decoding: text, as: UTF8.self)) else { return nil }
        known[index] = name
        return name
    }
}

extension String {
    fileprivate func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var text = self
        return text.withUTF8 { $0.count == bytes.count && $0.elementsEqual(bytes) }
    }
}
