import Foundation
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite struct `File names` {
    @Test(arguments: [
        ("https://example.com/a/song.mp3", "song.mp3"),
        ("https://example.com/a/My%20Song.mp3?token=1#t", "My Song.mp3"),
        ("https://example.com/%E2%82%AC.txt", "€.txt"),
        ("https://example.com/..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("https://example.com/%2e%2e", "index.html"),
        ("https://example.com/a%00b%0Ac", "abc"),
        ("https://example.com/.bashrc", "bashrc"),
        ("https://example.com/C%3A%5Cboot.ini", "boot.ini"),
        ("https://example.com/", "index.html"),
        ("https://example.com", "index.html"),
        ("https://example.com/folder/", "index.html"),
        ("https://example.com/100%25", "100%"),
    ])
    func `a URL's name is its last component, made safe`(url: String, name: String) throws {
        #expect(SafeFileName.suggested(by: try URL(fetchable: url)) == name)
    }

    @Test(
        arguments: [
            ("song.mp3", "song.mp3"), ("../../etc/passwd", "passwd"), ("..", nil), (".", nil), ("", nil), ("/", nil),
            ("...hidden", "hidden"), (" . x ", "x"), ("a\u{202E}gpj.exe", "agpj.exe"), ("\u{1B}[31mred", "[31mred"),
            ("a\u{9B}b", "ab"), ("a/\u{301}b", "\u{301}b"), ("\u{600}/../\u{301}x", "\u{301}x"), ("\u{600}\\..", nil),
            ("a/b\\c", "c"), ("日本語.txt", "日本語.txt"),
        ] as [(String, String?)])
    func `a name is made safe or rejected`(name: String, safe: String?) {
        #expect(SafeFileName.safe(name) == safe)
    }

    /// ASCII names are recognized by their bytes; names with other letters take the slow path.
    @Test(arguments: [" a", "a ", ".a", "a.", "a/b", "a\\b", "a\u{7F}b", "a\nb", "a b", "~$%&", "..a", "a..", "-rf"])
    func `an ASCII name is judged like a non-ASCII name`(name: String) {
        #expect(SafeFileName.isSafe(name) == SafeFileName.isSafe("\(name.prefix(1))\u{E9}\(name.dropFirst())"))
    }

    @Test(arguments: [254, 255, 256]) func `a name has at most 255 bytes`(count: Int) {
        #expect(SafeFileName.isSafe(String(repeating: "a", count: count)) == (count <= 255))
    }

    @Test func `a long name is truncated before its extension, between characters`() throws {
        let name = String(repeating: "ü", count: 300) + ".mp3"
        let safe = try #require(SafeFileName.safe(name))
        #expect(safe.utf8.count <= 255)
        #expect(safe.hasSuffix("ü.mp3"))
    }

    /// As many flags as fit into a head of 300 KiB. Searching from the back would look at all preceding flags to find each boundary.
    @Test(.timeLimit(.minutes(15))) func `truncating a long name takes linear time`() throws {
        let flag = "\u{1F1E9}\u{1F1EA}"
        let name = String(repeating: flag, count: 37_000)
        #expect(SafeFileName.safe("\(name).png") == String(repeating: flag, count: 31) + ".png")
        #expect(
            SafeFileName.suggested(byContentDisposition: "attachment; filename=\"\(name)\"")
                == String(repeating: flag, count: 31))
    }

    @Test(
        arguments: [
            ("attachment; filename=\"a.txt\"", "a.txt"),
            ("attachment; filename=a.txt; size=3", "a.txt"),
            ("attachment;filename=\"a;b \\\"c\\\".txt\"", "a;b \"c\".txt"),
            ("attachment; filename=\"EURO.txt\"; filename*=UTF-8''%e2%82%ac.txt", "€.txt"),
            ("attachment; FILENAME*=utf-8'en'%C3%A9.txt", "é.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3.txt", "£.txt"),
            ("attachment; filename=\"plain.txt\"; filename*=UTF-8''%ff%fe", "plain.txt"),
            ("attachment; filename=\"../../etc/passwd\"", "passwd"),
            ("inline", nil), ("attachment; filename=", nil), ("", nil), ("attachment; filename=\"", nil),
            ("attachment; filename*=UTF-8''%zz", nil), ("attachment; filename=\"a\"\u{301}; filename*=UTF-8''b", "b"),
        ] as [(String, String?)])
    func `Content-Disposition gives the file name`(field: String, name: String?) {
        #expect(SafeFileName.suggested(byContentDisposition: field) == name)
    }
}
