import Foundation
import HTTPTypes
import Testing

@testable import SluiceHTTP

@Suite struct `Lines of a response's head` {
    /// Returns the heads parsed from the lines of a response.
    func heads(_ lines: String...) throws -> [ResponseHead] {
        var parser = ResponseHeadParser()
        return try lines.compactMap { line in try Array("\(line)\r\n".utf8).withUnsafeBytes { try parser.take($0) } }
    }

    @Test func `give a status and the fields in order, with repeated fields separate`() throws {
        let found = try heads("HTTP/1.1 200 OK", "B: 1", "A:\t x y \t", "b: 2", "Empty:", "")
        #expect(found.count == 1 && found.first?.status == .ok && found.first?.status.reasonPhrase == "OK")
        #expect(
            found.first?.headerFields.map { "\($0.name.rawName)=\($0.value)" } == ["B=1", "A=x y", "b=2", "Empty="])
    }

    @Test func `from informational responses are ignored, and trailers are separate`() throws {
        let lines = ["HTTP/1.1 103 Early Hints", "Link: </x>", "", "HTTP/1.1 404", "A: 1", "", "B: 2", " 3", "C: 4"]
        let joined = lines.prefix(6) + [lines.suffix(3).joined(separator: "\r\n") + "\r\n"]
        for lines in [lines, lines + [""], Array(joined)] {
            var parser = ResponseHeadParser()
            let found = try lines.compactMap { line in
                try Array("\(line)\r\n".utf8).withUnsafeBytes { try parser.take($0) }
            }
            #expect(found.map(\.status.code) == [404])
            #expect(found.first?.headerFields.map(\.value) == ["1"])
            #expect(parser.finish() == [HTTPField.Name("B")!: "2 3", HTTPField.Name("C")!: "4"])
        }
        var cut = ResponseHeadParser()
        _ = try Array("HTTP/1.1 200 OK\r\n".utf8).withUnsafeBytes { try cut.take($0) }
        #expect(cut.finish().isEmpty)
    }

    @Test func `after a 401 that is answered don't get its trailers`() throws {
        var parser = ResponseHeadParser()
        parser.mayStartAgain = true
        for line in ["HTTP/1.1 401 No", "", "A: 1", "HTTP/1.1 200 OK", "B: 2", "", "C: 3"] {
            let head = try Array("\(line)\r\n".utf8).withUnsafeBytes { try parser.take($0) }
            if head?.status == .ok { #expect(head?.headerFields == [HTTPField.Name("B")!: "2"]) }
        }
        #expect(parser.finish() == [HTTPField.Name("C")!: "3"])
    }

    @Test func `are read correctly when more arrive than are remembered`() {
        let recent = RecentFields()
        func field(_ line: String) -> HTTPField? { Array(line.utf8).withUnsafeBytes { recent.field($0) } }
        let lines = (0..<200).flatMap { ["X-\($0): a", "x-\($0): a", "X-\($0):\t b c ", "Set-Cookie: \($0)"] }
        for line in lines + lines.reversed() + lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            let found = field(line)
            #expect(found?.name.rawName == String(parts[0]) && found?.name.canonicalName == parts[0].lowercased())
            #expect(found?.value == parts[1].trimmingCharacters(in: .whitespaces))
        }
        let long = String(repeating: "x", count: 1_000)
        for _ in 0..<2 { #expect(field("Long: \(long)")?.value == long) }
        for line in ["no token: 1", "no colon", ":", ""] { #expect(field(line) == nil) }
    }

    @Test func `may fold a field`() throws {
        let lines = ["HTTP/1.1 200 OK", "A: 1", "  2", "\t3", "B:", " 4", "no token: 5", " 6", "C: 7", ""]
        var parser = ResponseHeadParser()
        let found = try lines.compactMap { line in
            try Array("\(line)\r\n".utf8).withUnsafeBytes { try parser.take($0) }
        }
        #expect(found.first?.headerFields.map(\.value) == ["1 2 3", "4", "7"])
    }

    @Test func `that aren't fields are skipped`() throws {
        let found = try heads("HTTP/1.1 200 OK", "no colon", "bad name: 1", ": 2", "A: 3", "")
        #expect(found.first?.headerFields.map(\.value) == ["3"])
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 000 OK", "HTTP/1.1 99 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000",
        "HTTP/1.1", "200 OK", "A: 1",
    ])
    func `without a valid three-digit status, or with 101, are malformed`(line: String) {
        #expect(throws: ResponseHeadParser.Malformed.self) { try heads(line, "") }
    }
}

@Suite struct `A message's framing` {
    @Test(
        arguments: [
            ("0", 0), ("12", 12), (" 12 ", 12), ("12, 12", 12), ("12,13", nil), ("-1", nil), ("+1", nil), ("1 2", nil),
            ("", nil), ("0x10", nil), ("9223372036854775807", .max), ("9223372036854775808", nil),
        ] as [(String, Int64?)])
    func `Content-Length is a number, possibly repeated`(field: String, length: Int64?) {
        let response = TransportResponse(
            status: .ok, headerFields: [.contentLength: field], url: URL(string: "http://a.example/")!,
            body: ResponseBody(Nothing()))
        #expect(response.contentLength == length)
    }

    @Test(
        arguments: [
            (nil, nil), ("chunked", nil), (" Chunked ", nil), ("gzip, chunked", "gzip, chunked"),
            ("identity", "identity"),
            ("xchunked", "xchunked"), ("chunked, identity", "chunked, identity"),
            ("chunked, chunked", "chunked, chunked"),
        ] as [(String?, String?)])
    func `an unsupported transfer coding is detected`(field: String?, unsupported: String?) {
        let fields: HTTPFields = field.map { [.transferEncoding: $0] } ?? [:]
        #expect(fields.unsupportedTransferCoding == unsupported)
    }

    private final class Nothing: ResponseBodySource {
        func nextBatch() async throws -> [Data]? { nil }
    }
}
