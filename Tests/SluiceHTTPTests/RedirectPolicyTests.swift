import Foundation
import HTTPTypes
import Testing

@testable import SluiceHTTP

@Suite struct `Redirects and URLs` {
    static let secret: HTTPFields = [.authorization: "Bearer x"]

    func next(
        _ url: String, _ status: Int, _ location: String?, method: HTTPRequest.Method = .get, count: Int = 0
    ) throws -> TransportRequest? {
        let request = TransportRequest(try URL(fetchable: url), method: method, headerFields: Self.secret)
        return try RedirectPolicy(maximumRedirects: 5).next(
            after: request, status: .init(code: status), headerFields: location.map { [.location: $0] } ?? [:],
            count: count)
    }

    @Test(arguments: [
        ("https://a.example/x/y", 302, "z", "https://a.example/x/z", true),
        ("https://a.example/x/y", 301, "/z?q=1", "https://a.example/z?q=1", true),
        ("https://a.example/x", 307, "https://b.example/x", "https://b.example/x", false),
        ("https://a.example/x", 308, "https://a.example:444/x", "https://a.example:444/x", false),
        ("http://a.example/x", 303, "https://a.example/x", "https://a.example/x", false),
        ("https://a.example/x", 302, "https://A.EXAMPLE:443/z", "https://A.EXAMPLE:443/z", true),
        ("https://a.example/x", 302, "//b.example/z", "https://b.example/z", false),
        ("https://a.example/x#part", 302, "/z", "https://a.example/z#part", true),
    ])
    func `a redirect is followed, and header fields stay with their origin`(
        url: String, status: Int, location: String, target: String, keepsFields: Bool
    ) throws {
        let next = try #require(try next(url, status, location))
        #expect(next.url.absoluteString == target)
        #expect(next.headerFields == (keepsFields ? Self.secret : [:]))
    }

    @Test(arguments: [
        ("https://ann:p%40ss@a.example/x", "https://a.example/z", "https://ann:p%40ss@a.example/z"),
        ("https://ann:p%40ss@a.example/x", "https://A.example:443/z", "https://ann:p%40ss@A.example:443/z"),
        ("https://ann:p%40ss@a.example/x", "//a.example/z", "https://ann:p%40ss@a.example/z"),
        ("https://ann:p%40ss@a.example/x", "/z", "https://ann:p%40ss@a.example/z"),
        ("https://token@a.example/x", "https://a.example/z", "https://token@a.example/z"),
        ("https://ann:p%40ss@a.example/x#part", "https://a.example/z", "https://ann:p%40ss@a.example/z#part"),
        // The target's own credentials are used, even if it has only a user name.
        ("https://ann:p%40ss@a.example/x", "https://bob@a.example/z", "https://bob@a.example/z"),
        // Another host, port or scheme is another origin.
        ("https://ann:p%40ss@a.example/x", "https://b.example/z", "https://b.example/z"),
        ("https://ann:p%40ss@a.example/x", "//b.example/z", "https://b.example/z"),
        ("https://ann:p%40ss@a.example/x", "https://a.example:444/z", "https://a.example:444/z"),
        ("http://ann:p%40ss@a.example/x", "https://a.example/z", "https://a.example/z"),
    ])
    func `the credentials of a URL stay with their origin`(url: String, location: String, target: String) throws {
        #expect(try next(url, 302, location)?.url.absoluteString == target)
    }

    @Test(arguments: [
        ("http://a.example/", "http://A.EXAMPLE/x"), ("http://a.example/", "http://a.example./x"),
        ("http://a.example/", "http://a.example:80/x"), ("http://a.example/", "http://%61.example/x"),
        ("http://127.0.0.1/", "http://127.1/x"), ("http://127.0.0.1/", "http://0x7f000001/x"),
        ("http://127.0.0.1/", "http://2130706433/x"), ("http://127.0.0.1:80/", "http://0177.0.0.1/x"),
        ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]/x"), ("http://[2001:db8::a]/", "http://[2001:DB8:0::0A]:80/x"),
        ("http://b\u{FC}cher.example/", "http://xn--bcher-kva.example/x"),
        ("http://B%C3%9CCHER.example/", "http://b\u{FC}cher.example/x"),
    ])
    func `another spelling of the host is the same origin`(url: String, location: String) throws {
        #expect(try next(url, 302, location)?.headerFields == Self.secret)
        #expect(try URL(fetchable: url).origin == URL(fetchable: location).origin)
    }

    @Test(arguments: [
        // A resolver adds its search domains to a name without a dot, unless the name ends in one.
        ("http://db/", "http://db./x"), ("http://127.0.0.1/", "http://127.0.0.2/x"),
        ("http://127.0.0.1/", "http://1.127.0.0.1/x"), ("http://127.0.0.1/", "http://127.0.0.1.example/x"),
        ("http://127.0.0.1/", "http://[::ffff:127.0.0.1]/x"), ("http://[::1]/", "http://[::2]/x"),
        ("http://[::1]:8080/", "http://[::1:8080]/x"), ("http://a.example/", "http://aexample/x"),
        ("http://a.example/", "http://a.example.b/x"), ("http://127.0.0.1/", "http://0x7f000001.a/x"),
    ])
    func `a similar host is another origin`(url: String, location: String) throws {
        #expect(try next(url, 302, location)?.headerFields == [:])
    }

    @Test func `only the range fields are sent to another origin`() throws {
        let request = TransportRequest(
            try URL(fetchable: "https://a.example/x"),
            headerFields: [.range: "bytes=5-", .ifRange: "\"v\"", .authorization: "Bearer x"])
        let next = try RedirectPolicy().next(
            after: request, status: .found, headerFields: [.location: "https://b.example/y"], count: 0)
        #expect(next?.headerFields == [.range: "bytes=5-", .ifRange: "\"v\""])
    }

    @Test(arguments: [200, 300, 304, 404]) func `other statuses or no Location aren't redirects`(status: Int) throws {
        #expect(try next("https://a.example/x", status, "/y") == nil)
        #expect(try next("https://a.example/x", 302, nil) == nil)
    }

    @Test(arguments: [
        ("https://a.example/", "http://a.example/"), ("https://a.example/", "ftp://a.example/"),
        ("https://a.example/", "file:///etc/passwd"), ("https://a.example/", "http://"),
        ("http://a.example/", "http://127.0.0.1:99999/"),
    ])
    func `a redirect to a less secure or invalid URL is rejected`(url: String, location: String) {
        let error = #expect(throws: TransferError.self) { try next(url, 302, location) }
        #expect(error?.code == .redirectRefused)
    }

    @Test func `too many redirects throw`() throws {
        #expect(try next("https://a.example/", 302, "/x", count: 4) != nil)
        let error = #expect(throws: TransferError.self) { try next("https://a.example/", 302, "/x", count: 5) }
        #expect(error?.code == .tooManyRedirects)
    }

    @Test(arguments: [301, 302, 303, 307, 308], ["/x", "http://a.example/", "ftp://a.example/"])
    func `a policy that follows no redirects ignores every redirect`(status: Int, location: String) throws {
        let request = TransportRequest(try URL(fetchable: "https://a.example/"))
        let next = try RedirectPolicy.unfollowed.next(
            after: request, status: .init(code: status), headerFields: [.location: location], count: 0)
        #expect(next == nil)
        #expect(RedirectPolicy.unfollowed != RedirectPolicy(maximumRedirects: 0))
    }

    @Test func `303 changes the method to GET and 307 keeps it`() throws {
        #expect(try next("https://a.example/", 303, "/x", method: .put)?.method == .get)
        #expect(try next("https://a.example/", 301, "/x", method: .post)?.method == .get)
        #expect(try next("https://a.example/", 307, "/x", method: .post)?.method == .post)
        #expect(try next("https://a.example/", 303, "/x", method: .head)?.method == .head)
    }

    @Test(arguments: [
        (303, HTTPRequest.Method.put), (301, .post), (302, .post), (307, .post), (308, .put), (302, .put),
    ])
    func `the body and its fields are kept if the method is kept`(
        status: Int, method: HTTPRequest.Method
    ) throws {
        let request = TransportRequest(
            try URL(fetchable: "https://a.example/x"), method: method,
            headerFields: [.contentType: "text/plain", .authorization: "Bearer x"], body: Data("text".utf8))
        let next = try #require(
            try RedirectPolicy().next(
                after: request, status: .init(code: status), headerFields: [.location: "/y"], count: 0))
        let isSame = next.method == method
        #expect(next.body == (isSame ? request.body : nil))
        #expect(next.headerFields == (isSame ? request.headerFields : [.authorization: "Bearer x"]))
    }

    @Test(
        arguments: [
            ("", .empty), ("song.mp3", .noScheme), ("example.com/x", .noScheme), ("localhost:8080/x", .noScheme),
            ("ftp://example.com/x", .unsupportedScheme), ("file:///etc/passwd", .unsupportedScheme),
            ("mailto:a@b.c", .unsupportedScheme), ("http://", .noHost), ("http:///x", .noHost),
            ("http://example.com:70000/", .invalidPort), ("http://h:99999999999999999999/", .invalidPort),
            ("http://example.com/a\nb", .malformed), ("http://[::1/", .malformed),
        ] as [(String, URLRefusal.Code)])
    func `an unfetchable URL is rejected with its text and a remedy`(text: String, code: URLRefusal.Code) {
        let refusal = #expect(throws: URLRefusal.self) { try URL(fetchable: text) }
        #expect(refusal?.code == code && refusal?.subject == text)
        #expect(refusal?.errorDescription == refusal?.description && refusal?.remedy?.hasSuffix(".") == true)
    }

    @Test(arguments: [
        ("http://example.com", "http://example.com"),
        (" https://user@example.com/a b ", "https://user@example.com/a%20b"),
        ("HTTP://EXAMPLE.com/ü?q=ä", "HTTP://EXAMPLE.com/%C3%BC?q=%C3%A4"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
    ])
    func `typed text is accepted, and invalid URL characters are percent-encoded`(text: String, url: String)
        throws
    {
        #expect(try URL(fetchable: text).absoluteString == url)
    }

    @Test(arguments: [
        ("ftp://user:secret@h/a?token=1", "ftp://h/a…"), ("ann:secret@h/a", "h/a"), ("ann:secret@h", "h"),
        ("ann@h", "h"),
        ("//ann:secret@h/a#x", "//h/a…"), ("http://ann:secret@h:99999/", "http://h:99999/"),
        // A password with a character that would end the authority.
        ("http://ann:se/cret@h/a", "http://…"), ("http://ann:se?cret@h:x/", "http://…"),
        ("http://ann:se#cret@h:x", "http://…"),
        ("ftp://se/cret@h/a", "ftp://…"), ("se/cret@h", "…"), ("http://h:x/?mail=a@secret", "http://…"),
        ("http://h:x/@y", "http://…"), ("ann:secret@\u{301}h", "…"), ("mailto:a@b.c", "mailto:a@b.c"),
    ])
    func `a rejected URL's error hides possible secrets`(text: String, subject: String) {
        let refusal = #expect(throws: URLRefusal.self) { try URL(fetchable: text) }
        #expect(refusal?.subject == subject)
        #expect(refusal?.description.contains("secret") == false && refusal?.description.contains("cret@") == false)
    }

    @Test func `messages hide possible secrets`() throws {
        let url = try URL(fetchable: "https://user:pw@example.com/a?token=1#x")
        #expect(url.redactedForDisplay == "https://example.com/a?…")
        let error = TransferError(.connectionRefused, url: url)
        #expect(!error.description.contains("pw") && !error.description.contains("token"))
        #expect(error.description.contains("port 443"))
    }
}
