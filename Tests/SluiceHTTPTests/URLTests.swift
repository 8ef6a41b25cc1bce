import Foundation
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite struct `Plain URLs` {
    @Test(arguments: [
        "http://a", "http://a:80", "https://a-b.example:8443/x", "http://a/b/", "http://a/b//c", "http://a?x=/y",
        "http://a/b?x",
        "http://127.0.0.1:1/%41%c3%a9.mp3?a=1&b=/2?3", "http://a/..", "http://xn--bcher-kva.example/b",
        "http://a/b:c@d;e,f",
        "http://0/", "http://-/", "http://a..b/", "http://a/~!$&'()*+=",
    ])
    func `have the same parts as in Foundation`(text: String) throws { try compare(text, isPlain: true) }

    @Test(arguments: [
        "", "http://", "http:///a", "HTTP://a/", "http://A/", "http://u@a/", "http://u:p@a/", "http://[::1]/",
        "http://a:/", "http://a:0/",
        "http://a:65536/", "http://a:123456/", "http://a:8x/", "http://a/b#c", "http://a/b c", "http://a/é",
        "http://a/%4", "http://a/%4g",
        "http://a/%", "http://a/[", "http://a\\b", "ftp://a/bcdef", "https:/a/bcd", "http//a/bcd", "http://a/\n",
        "http://a/\u{0}", "httpx://a/b",
    ])
    func `exclude all other URLs`(text: String) throws { try compare(text, isPlain: false) }

    @Test(arguments: 0..<8) func `of random characters have the same parts as in Foundation`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pieces = [
            "http", "https", "://", "a", "b.c", "example", ":", "8", "443", "/", "?", "#", "%", "41", "e9", ".", "..",
            "-", "_", "~", "@", "é",
            " ", "[", "]", ";", "=", "&", "+", "A", "xn--", "\\", "\"", "<", "|", "^", "{",
        ]
        var plain = 0
        for _ in 0..<4000 {
            let start = ["http://", "https://", "http://a", "http://a.example/"].randomElement(using: &random)!
            let text =
                start
                + (0..<Int.random(in: 0..<8, using: &random)).map { _ in pieces.randomElement(using: &random)! }
                .joined()
            if PlainURL(text) != nil { plain += 1 }
            try compare(text, isPlain: nil)
        }
        #expect(plain > 200)
    }

    private func compare(_ text: String, isPlain: Bool?) throws {
        let plain = PlainURL(text)
        if let isPlain { #expect((plain != nil) == isPlain, "\(text)") }
        guard let plain else { return }
        let url = try #require(URL(string: text), "\(text)")
        #expect(url.absoluteString == text)
        #expect(url.scheme == (plain.isSecure ? "https" : "http"), "\(text)")
        #expect(url.host(percentEncoded: false) == plain.host, "\(text)")
        #expect(url.port == plain.port, "\(text)")
        let path = url.path(percentEncoded: true)
        #expect(
            path.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
                == plain.lastComponent, "\(text)")
        #expect(url.fragment == nil)
    }
}

@Suite struct `A host in its canonical spelling` {
    @Test(arguments: [
        ("a.example", "a.example"), ("A.Example", "a.example"), ("a.example.", "a.example"), ("db", "db"),
        ("db.", "db."),
        ("", ""), (".", "."), ("..", "."), ("a-1.b2", "a-1.b2"), ("1.a", "1.a"), ("_dmarc.a", "_dmarc.a"),
        // IPv4 addresses in the formats of inet_aton(3), and text that isn't an address.
        ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("127.0.1", "127.0.0.1"), ("0x7F.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"), ("017700000001", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("0", "0.0.0.0"),
        ("1.2.65535", "1.2.255.255"), ("4294967295", "255.255.255.255"), ("4294967296", "4294967296"),
        ("1.2.3.256", "1.2.3.256"), ("256.1", "256.1"), ("1.2.3.4.5", "1.2.3.4.5"), ("08.1", "08.1"), ("1..2", "1..2"),
        ("0x", "0x"), ("0x+7f.1", "0x+7f.1"), ("0x7f.0x-1", "0x7f.0x-1"),
        ("99999999999999999999", "99999999999999999999"), ("1.2.3.4a", "1.2.3.4a"), ("a.1", "a.1"),
        // IPv6 addresses (RFC 5952).
        ("::1", "[::1]"), ("[::1]", "[::1]"), ("0:0:0:0:0:0:0:1", "[::1]"),
        ("2001:DB8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]"),
        ("2001:db8:0:1:1:1:1:1", "[2001:db8:0:1:1:1:1:1]"), ("::", "[::]"), ("1::", "[1::]"),
        ("::ffff:127.0.0.1", "[::ffff:7f00:1]"),
        ("1:0:0:2:0:0:0:3", "[1:0:0:2::3]"), ("FE80::1%eth0", "[fe80::1%eth0]"), ("FE80::1%Eth0", "[fe80::1%Eth0]"),
        ("1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]"),
        ("1:2:3:4:5:6:7:0", "[1:2:3:4:5:6:7:0]"), ("v1:x", "[v1:x]"), ("::1\u{0}", "[::1\u{0}]"), ("a:b:c", "[a:b:c]"),
        ("1:2:3:4:5:6:127.0.0.1", "[1:2:3:4:5:6:7f00:1]"), ("::1.2.3", "[::1.2.3]"), ("1.2.3.4::", "[1.2.3.4::]"),
        ("1::2::3", "[1::2::3]"), ("1:2:3:4:5:6:7:8:9", "[1:2:3:4:5:6:7:8:9]"), ("::+1", "[::+1]"), (":::", "[:::]"),
        ("1:2:3:4::5:6:7:8", "[1:2:3:4::5:6:7:8]"), ("::10000", "[::10000]"), (":1", "[:1]"), ("1:", "[1:]"),
        ("::1].evil.example", "[::1].evil.example]"), ("[[::1]]", "[[::1]]"), ("[::1", "[[::1]"), ("::1]", "[::1]]"),
        ("A:80", "[a:80]"),
        // Internationalized names (RFC 3492, section 7.1, and IANA's examples).
        ("b\u{FC}cher.example", "xn--bcher-kva.example"), ("B\u{DC}CHER.EXAMPLE.", "xn--bcher-kva.example"),
        ("xn--BCHER-kva.example", "xn--bcher-kva.example"),
        ("\u{4ED6}\u{4EEC}\u{4E3A}\u{4EC0}\u{4E48}\u{4E0D}\u{8BF4}\u{4E2D}\u{6587}", "xn--ihqwcrb4cv8a8dqg056pqjye"),
        ("\u{4F8B}\u{3048}.\u{30C6}\u{30B9}\u{30C8}", "xn--r8jz45g.xn--zckzah"),
        ("\u{4F8B}\u{3048}\u{3002}jp", "xn--r8jz45g.jp"),
        ("fa\u{DF}.de", "xn--fa-hia.de"), ("m\u{FC}nchen-ost.de", "xn--mnchen-ost-9db.de"),
    ])
    func `has one form`(host: String, canonical: String) {
        #expect(HostName.canonical(host) == canonical)
        #expect(HostName.canonical(canonical) == canonical || canonical == ".")
    }

    @Test(arguments: [
        ("http://A.example:80/", "a.example", "http://a.example:80"),
        ("https://a.example:443", "a.example", "https://a.example:443"),
        ("http://a.example:443/", "a.example:443", "http://a.example:443"),
        ("http://127.1:8080/x", "127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://ann:pw@127.1/x", "127.0.0.1", "http://127.0.0.1:80"),
        ("http://[::1]:8080/", "[::1]:8080", "http://[::1]:8080"),
        ("http://[::1:8080]/", "[::1:8080]", "http://[::1:8080]:80"),
        ("http://%61.example:0080/", "a.example", "http://a.example:80"),
        ("http://b\u{FC}cher.example:81/", "xn--bcher-kva.example:81", "http://xn--bcher-kva.example:81"),
    ])
    func `includes the port for limits, and scheme and port for origins`(
        url: String, host: String, origin: String
    )
        throws
    {
        let url = try URL(fetchable: url)
        #expect(url.canonicalHostAndPort == host && url.origin == origin)
    }

    @Test(arguments: [
        ("127.1:8000", "127.0.0.1:8000"), ("A.example", "a.example"), ("a.example:80", "a.example:80"),
        ("::1", "[::1]"),
        ("[0::1]:80", "[::1]:80"), ("[0::1]", "[::1]"), ("b\u{FC}cher.example:81", "xn--bcher-kva.example:81"),
        ("a b", "a b"), ("a:b", "[a:b]"), ("", ""),
    ])
    func `is found for a typed host`(text: String, host: String) {
        #expect(HostName.canonical(typed: text) == host)
    }

    @Test func `leaves overlong names unchanged`() {
        // A label can't have more than 63 characters.
        let long = String(String.UnicodeScalarView((0..<200_000).map { Unicode.Scalar(0x4E00 + $0 % 20_000)! }))
        #expect(HostName.canonical(long) == long)
    }
}
