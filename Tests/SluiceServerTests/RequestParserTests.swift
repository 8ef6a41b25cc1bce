import HTTPTypes
import Testing

@testable import SluiceServer

/// Requests that a server must read, and those that it must refuse, since a proxy might read them differently (RFC 9112).
@Suite struct RequestParserTests {
    private static func parse(
        _ text: String, limits: RequestParser.Limits = .init(), pieces: Int = .max
    ) throws -> [RequestParser.Request] {
        var parser = RequestParser(limits: limits)
        var requests: [RequestParser.Request] = []
        var rest = Array(text.utf8)[...]
        while true {
            switch try parser.next() {
            case .request(let request): requests.append(request)
            case .awaitsContinue: continue
            case .needsBytes:
                if rest.isEmpty { return requests }
                parser.append(rest.prefix(pieces))
                rest = rest.dropFirst(pieces)
            }
        }
    }

    private static func status(_ text: String, limits: RequestParser.Limits = .init()) -> Int? {
        do {
            _ = try parse(text, limits: limits)
            return nil
        } catch let refusal as RequestParser.Refusal {
            return refusal.status.code
        } catch {
            return -1
        }
    }

    @Test(arguments: [1, 2, 3, 7, 64, .max])
    func `requests follow one another, in pieces of any size`(pieces: Int) throws {
        let text = """
            GET /a?b=c HTTP/1.1\r
            Host: example.com\r
            X-Empty:\r
            Accept:  text/html \t\r
            \r
            \r
            POST /form HTTP/1.1\r
            host:example.com\r
            Content-Length: 5\r
            \r
            helloPUT /chunks HTTP/1.1\r
            Host: example.com\r
            Transfer-Encoding: Chunked\r
            \r
            3;name=value\r
            abc\r
            A\r
            0123456789\r
            0\r
            X-Trailer: dropped\r
            \r
            HEAD / HTTP/1.0\r
            \r

            """
        let requests = try Self.parse(text, pieces: pieces)
        #expect(requests.map(\.method.rawValue) == ["GET", "POST", "PUT", "HEAD"])
        #expect(requests.map(\.target) == ["/a?b=c", "/form", "/chunks", "/"])
        #expect(requests.map { String(decoding: $0.body, as: UTF8.self) } == ["", "hello", "abc0123456789", ""])
        #expect(requests.map(\.staysOpen) == [true, true, true, false])
        #expect(requests.first?.headerFields[.accept] == "text/html")
        #expect(requests.first?.headerFields[HTTPField.Name("X-Empty")!] == "")
        #expect(requests.dropFirst(2).first?.headerFields[HTTPField.Name("X-Trailer")!] == nil)
    }

    @Test(arguments: [
        ("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("no host", "GET / HTTP/1.1\r\n\r\n", 400),
        ("two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
        ("a list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", 400),
        (
            "a length and a coding",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400
        ),
        ("a signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400),
        ("an overflow", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        ("a long body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", 413),
        ("a long chunked body", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n", 413),
        ("a signed chunk", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\nx\r\n", 400),
        ("a huge chunk", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 400),
        (
            "a chunk that is too long", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n",
            400
        ),
        ("an unknown coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("a coding in 1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("a space before a colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("a folded line", "GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", 400),
        ("no colon", "GET / HTTP/1.1\r\nHost: a\r\nb\r\n\r\n", 400),
        ("a line without a carriage return", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
        ("a single carriage return", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400),
        ("a zero byte", "GET / HTTP/1.1\r\nHost: a\0\r\n\r\n", 400),
        ("a control character", "GET / HTTP/1.1\r\nHost: a\u{1}\r\n\r\n", 400),
        ("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("no version", "GET /\r\nHost: a\r\n\r\n", 400),
        ("another version", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("another protocol", "GET / RTSP/1.1\r\nHost: a\r\n\r\n", 400),
        ("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("TLS", "\u{16}\u{3}\u{1}", 400),
        ("an unknown expectation", "POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n", 417),
        ("a target that isn't ASCII", "GET /\u{FC} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("a long target", "GET /" + String(repeating: "a", count: 300) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        ("an endless target", "GET /" + String(repeating: "a", count: 1200), 414),
        ("a long head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 1200) + "\r\n\r\n", 431),
        ("an endless head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 1200), 431),
        ("many fields", "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: b\r\n", count: 12) + "\r\n", 431),
    ])
    func `a request that isn't clear or too large is refused`(what: String, text: String, status: Int) {
        let limits = RequestParser.Limits(targetSize: 256, headSize: 1024, fieldCount: 10, bodySize: 100)
        #expect(Self.status(text, limits: limits) == status, "\(what)")
    }

    @Test func `a client that waits for 100 Continue gets it before its body`() throws {
        var parser = RequestParser()
        parser.append("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n".utf8)
        guard case .awaitsContinue = try parser.next() else {
            Issue.record("The client must be told to continue.")
            return
        }
        guard case .needsBytes = try parser.next() else {
            Issue.record("The body hasn't arrived.")
            return
        }
        parser.append("hi".utf8)
        guard case .request(let request) = try parser.next() else {
            Issue.record("The body has arrived.")
            return
        }
        #expect(request.body.elementsEqual("hi".utf8))
    }

    @Test func `a body of a hundred thousand chunks arrives whole`() throws {
        let chunks = String(repeating: "1\r\nx\r\n", count: 100_000)
        let text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"
        #expect(try Self.parse(text, pieces: 100).map(\.body.count) == [100_000])
    }

    @Test func `a long head arrives in single bytes`() throws {
        let text = "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 30_000) + "\r\n\r\n"
        #expect(try Self.parse(text, pieces: 1).count == 1)
    }
}
