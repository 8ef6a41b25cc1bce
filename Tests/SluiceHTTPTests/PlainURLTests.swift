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
    func `have the parts that Foundation finds`(text: String) throws { try compare(text, isPlain: true) }

    @Test(arguments: [
        "", "http://", "http:///a", "HTTP://a/", "http://A/", "http://u@a/", "http://u:p@a/", "http://[::1]/",
        "http://a:/", "http://a:0/",
        "http://a:65536/", "http://a:123456/", "http://a:8x/", "http://a/b#c", "http://a/b c", "http://a/é",
        "http://a/%4", "http://a/%4g",
        "http://a/%", "http://a/[", "http://a\\b", "ftp://a/bcdef", "https:/a/bcd", "http//a/bcd", "http://a/\n",
        "http://a/\u{0}", "httpx://a/b",
    ])
    func `are no others`(text: String) throws { try compare(text, isPlain: false) }

    @Test(arguments: 0..<8) func `of random characters have the parts that Foundation finds`(seed: UInt64) throws {
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
