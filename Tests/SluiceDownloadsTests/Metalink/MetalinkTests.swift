import Foundation
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite struct `Metalink documents` {
    private static let sha256 = String(repeating: "2f", count: 32)
    private static let sha512 = String(repeating: "3a", count: 64)

    private static func document(_ files: String) -> Data {
        let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">"
        return Data("\(start)\(files)</metalink>\n".utf8)
    }

    private static func file(_ contents: String, name: String = "a") -> Data {
        document("<file name=\"\(name)\">\(contents)</file>")
    }

    private static func invalid(_ data: Data) -> Metalink.Invalid? {
        do throws(Metalink.Invalid) {
            _ = try Metalink(parsing: data)
            return nil
        } catch {
            return error
        }
    }

    @Test func `are read as files with checksums and URLs`() throws {
        let metalink = try Metalink(
            parsing: Self.document(
                """

                  <published>2009-05-15T12:23:23Z</published>
                  <file name="example.ext">
                    <size>14471447</size>
                    <identity>Example</identity>
                    <hash type="sha-1">80bc95fd391772fa61c91ed68567f0980bb45fd9</hash>
                    <hash type="sha-256">\(Self.sha256)</hash>
                    <hash type="sha-512">
                      \(Self.sha512.uppercased())
                    </hash>
                    <pieces length="1048576" type="sha-256"><hash>00</hash><hash>11</hash></pieces>
                    <url>http://last.example/e.ext</url>
                    <url location="de" priority="2">ftp://ftp.example.com/e.ext</url>
                    <url location="fr" priority="3">http://example.com/e.ext?a=1&amp;b=2</url>
                    <url priority="1"><![CDATA[https://first.example/e.ext]]></url>
                    <url priority="3">http://example.org/e.ext</url>
                    <url priority="9">https://first.example/e.ext</url>
                    <metaurl mediatype="torrent" priority="1">http://example.com/e.ext.torrent</metaurl>
                    <signature mediatype="application/pgp-signature">iEYEABECAAYF</signature>
                  </file>
                  <other xmlns="urn:other"><file name="../hidden"/></other>
                  <file name="docs/de/b.pdf" xmlns:x="urn:x" x:name="c"><x:url>http://x.example/</x:url>
                    <hash type="md5">00</hash><url>http://example.com/b.pdf</url></file>
                  <generator>None</generator>

                """))
        try #require(metalink.files.count == 2)
        let first = metalink.files[0]
        #expect(first.name == "example.ext" && first.path == "" && first.size == 14_471_447)
        #expect(first.checksum == Checksum("sha512:\(Self.sha512)"))
        #expect(
            first.urls.map(\.absoluteString) == [
                "https://first.example/e.ext", "http://example.com/e.ext?a=1&b=2", "http://example.org/e.ext",
                "http://last.example/e.ext",
            ])
        let second = metalink.files[1]
        #expect(second.name == "b.pdf" && second.path == "docs/de" && second.size == nil && second.checksum == nil)
        #expect(second.urls.map(\.absoluteString) == ["http://example.com/b.pdf"])
        #expect(metalink.notes.count == 3)
        for (note, word) in zip(metalink.notes, ["schemes", "metaurl", "md5"]) { #expect(note.contains(word)) }

        let requests = metalink.requests(to: URL(filePath: "/music", directoryHint: .isDirectory))
        #expect(requests.map { $0.target.path } == ["/music/example.ext", "/music/docs/de/b.pdf"])
        #expect(requests[0].url == first.urls[0] && requests[0].mirrors == Array(first.urls.dropFirst()))
        #expect(requests.map(\.checksum) == [first.checksum, nil])
    }

    @Test func `may have prefixes`() throws {
        let text = """
            <m:metalink xmlns:m="urn:ietf:params:xml:ns:metalink">
            <m:file name="a"><m:url>http://a.example/</m:url><url>http://not.example/</url></m:file></m:metalink>
            """
        #expect(try Metalink(parsing: Data(text.utf8)).files.map(\.urls.count) == [1])
    }

    private static let url = "<url>http://a.example/x</url>"

    @Test(arguments: [
        "../a", "/a", "a/../b", "..", ".", "", ".hidden", "dir/.hidden", ".dir/a", "a/", "//a", "a//b", "a\\b",
        "a&#10;b", "a&#x202E;b", "C:\\a", "./a", " a", "a/\u{301}b/../c", String(repeating: "a", count: 256), "dir/..",
    ])
    func `with a name that isn't safe are refused`(name: String) throws {
        let invalid = try #require(Self.invalid(Self.file(Self.url, name: name)), "\(name)")
        #expect(invalid.message.contains("isn't safe") && invalid.line == 2, "\(invalid)")
        // Even if the others are good.
        let both = "<file name='good'>\(Self.url)</file><file name='\(name)'>\(Self.url)</file>"
        #expect(Self.invalid(Self.document(both)) != nil)
    }

    @Test(
        arguments: [
            (file(url + "<hash type='sha-256'>00</hash>"), "isn't a SHA-256"),
            (file(url + "<hash type='sha-512'>\(sha256)</hash>"), "isn't a SHA-512"),
            (file(url + "<hash type='sha-256'>\(sha256)<b/></hash>"), "where a text belongs"),
            (file(""), "no http or https URL"), (file("<url>ftp://a.example/</url>"), "no http or https URL"),
            (file("<metaurl>http://a.example/</metaurl>"), "no http or https URL"),
            (file("<url>a b c</url>"), "isn't valid"), (file("<url>http://</url>"), "isn't valid"),
            (file("<url priority='0'>http://a.example/</url>"), "priority"),
            (file("<url priority='1000000'>http://a.example/</url>"), "priority"),
            (file("<url priority='x'>http://a.example/</url>"), "priority"), (file(url + "<size>-1</size>"), "size"),
            (file(url + "<size>99999999999999999999</size>"), "size"),
            (file(url + "<size>1</size><size>2</size>"), "size"),
            (document("<file>\(url)</file>"), "without a name"), (document(""), "names no file"),
            (document("<file name='a'>\(url)</file><file name='a'>\(url)</file>"), "two files"),
            (document("<file name='a/b'>\(url)</file><file name='A/B'>\(url)</file>"), "two files"),
            (Data("<metalink/>".utf8), "isn't a Metalink"), (Data("<html xmlns='u'>".utf8), "isn't a Metalink"),
            (Data("<metalink version='3.0' xmlns='http://www.metalinker.org/'/>".utf8), "version 3"),
            (Data(), "no element"), (Data("<!DOCTYPE metalink><metalink/>".utf8), "document type"),
            (Data(repeating: 0x20, count: Metalink.maximumSize + 1), "16 MiB"),
            (document("</metalink>"), "without its start tag"),
        ] as [(Data, String)])
    func `with mistakes are refused`(data: Data, expected: String) throws {
        let invalid = try #require(Self.invalid(data))
        #expect(invalid.description.contains(expected), "\(invalid)")
    }

    @Test func `that are cut off are refused`() throws {
        let data = Self.file("<hash type='sha-256'>\(Self.sha256)</hash>\(Self.url)")
        #expect(Self.invalid(data) == nil)
        for end in 0..<data.count - 1 { #expect(Self.invalid(data.prefix(end)) != nil, "\(end)") }
    }

    @Test func `with many URLs use the first hundred`() throws {
        let urls = (0..<1000).map { "<url priority='\(1000 - $0)'>http://a.example/\($0)</url>" }.joined()
        let metalink = try Metalink(parsing: Self.file(urls))
        #expect(metalink.files[0].urls.count == 100 && metalink.files[0].urls[0].lastPathComponent == "999")
        #expect(metalink.notes.count == 1 && metalink.notes[0].contains("1000"))
    }

    @Test func `messages have no secrets of URLs`() throws {
        let invalid = try #require(Self.invalid(Self.file("<url>http://ann:sesame@:x/?sesame</url>")))
        #expect(!invalid.description.contains("sesame"), "\(invalid)")
    }

    @Test func `are recognized by their first character`() {
        for text in ["<metalink", "\u{FEFF}<a", " \r\n\t<?xml", "<"] { #expect(Metalink.isXML(Array(text.utf8))) }
        for text in ["", " ", "http://a.example/", "# <", "{\"url\": \"<\"}", "\u{FEFF}x"] {
            #expect(!Metalink.isXML(Array(text.utf8)))
        }
    }
}
