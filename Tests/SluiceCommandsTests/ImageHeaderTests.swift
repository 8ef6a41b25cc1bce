import Foundation
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `Headers of images` {
    static let good: [(bytes: [UInt8], format: ImageHeader.Format, width: Int, height: Int)] = [
        (TestImage.png(640, 480), .png, 640, 480), (TestImage.png(1, Int(Int32.max)), .png, 1, Int(Int32.max)),
        (TestImage.gif(300, 2), .gif, 300, 2), (TestImage.gif(65_535, 1, version: "GIF87a"), .gif, 65_535, 1),
        (TestImage.jpeg(4_000, 3_000), .jpeg, 4_000, 3_000), (TestImage.jpeg(1, 2, frame: 0xC2), .jpeg, 1, 2),
        (TestImage.webP(16_383, 7), .webP, 16_383, 7), (TestImage.losslessWebP(16_384, 3), .webP, 16_384, 3),
        (TestImage.losslessWebP(1, 16_384), .webP, 1, 16_384),
        (TestImage.extendedWebP(1 << 24, 5), .webP, 1 << 24, 5),
    ]

    @Test func `tell format and size`() {
        for (bytes, format, width, height) in Self.good {
            let header = ImageHeader(bytes)
            #expect(header?.format == format && header?.width == width && header?.height == height, "\(format)")
        }
    }

    @Test func `that are cut off anywhere are none, unless all that counts is there`() {
        for (bytes, format, width, height) in Self.good {
            for count in 0..<bytes.count {
                guard let header = ImageHeader(Array(bytes.prefix(count))) else { continue }
                #expect(count > bytes.count - 8 && header.format == format)
                #expect(header.width == width && header.height == height, "\(format) \(count)")
            }
        }
    }

    @Test(
        arguments: [
            ("nothing", []), ("text", Array("<svg/>".utf8)), ("no width", TestImage.png(0, 5)),
            ("no height", TestImage.gif(5, 0)), ("a negative size", TestImage.png(1 << 31, 5)),
            ("a JPEG of unknown height", TestImage.jpeg(5, 0)),
            ("a JPEG with a table in place of a frame", TestImage.jpeg(5, 5, frame: 0xC8)),
            ("a JPEG with its image data first", [0xFF, 0xD8, 0xFF, 0xDA] + TestImage.jpeg(5, 5).dropFirst(2)),
            (
                "a JPEG with a segment of no length",
                [0xFF, 0xD8, 0xFF, 0xE0, 0, 0] + TestImage.jpeg(5, 5).dropFirst(2)
            ),
            (
                "a JPEG with a segment past its end",
                [0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF, 0xFF, 0xC0, 0, 8, 8, 0, 1, 0, 1]
            ),
            ("a JPEG of markers alone", [0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 100_000)),
            (
                "a PNG with another first chunk",
                [0x89] + Array("PNG\r\n\u{1A}\n\0\0\0\rIDAT\0\0\0\u{5}\0\0\0\u{5}".utf8)
            ),
            ("a WebP of another kind", Array("RIFF\0\0\0\0WEBPVP9 ".utf8) + [UInt8](repeating: 1, count: 30)),
            ("a sound", Array("RIFF\0\0\0\0WAVEVP8X".utf8) + [UInt8](repeating: 1, count: 30)),
        ] as [(String, [UInt8])])
    func `that lie are none`(what: String, bytes: [UInt8]) {
        #expect(ImageHeader(bytes) == nil, "\(what)")
    }

    @Test func `of random bytes behind a true beginning trap nowhere`() {
        var random = SeededRandom(seed: 6)
        let beginnings = Self.good.map { Array($0.bytes.prefix(16)) } + [[]]
        var read = 0
        for round in 0..<20_000 {
            var bytes = beginnings[round % beginnings.count]
            bytes.removeLast(.random(in: 0...min(bytes.count, 3), using: &random))
            // Many markers: the way through a JPEG is the longest.
            bytes += (0..<Int.random(in: 0...60, using: &random)).map { _ in
                Bool.random(using: &random) ? 0xFF : UInt8.random(in: 0...255, using: &random)
            }
            guard let header = ImageHeader(bytes) else { continue }
            read += 1
            #expect(header.width > 0 && header.height > 0)
        }
        #expect(read > 1_000, "most are refused, but not all")
    }

    @Test(arguments: [
        (80, 32, 10, 2), (1, 1, 1, 1), (800, 320, 40, 8), (8_000, 16, 40, 1), (16, 8_000, 1, 10), (640, 320, 40, 10),
        (100, 20, 13, 1), (10_000, 10_000, 20, 10),
    ])
    func `tell how many cells an image takes, within the room there is`(
        width: Int, height: Int, columns: Int, rows: Int
    ) {
        let header = ImageHeader(TestImage.png(width, height))
        let cells = header?.cells(of: .init(), columns: 40, rows: 10)
        #expect(cells?.columns == columns && cells?.rows == rows, "\(String(describing: cells))")
    }
}

@Suite struct `Addresses of images` {
    @Test(arguments: [
        ("a.png", "notes.md", "./a.png"), ("img/a.png", "/docs/notes.md", "/docs/img/a.png"),
        ("../a.png", "docs/notes.md", "docs/../a.png"), ("/x/a.png", "docs/notes.md", "/x/a.png"),
        ("a%20b%23.png", "-", "./a b#.png"), ("a.png?raw=true#top", "-", "./a.png"), ("~/a.png", "-", "./~/a.png"),
        ("./a:b.png", "-", "././a:b.png"), ("a/b:c", "-", "./a/b:c"), ("%E4%BD%A0.png", "-", "./你.png"),
    ])
    func `without a scheme are files, from the directory of the document`(
        source: String, document: String, path: String
    ) {
        let file = URL(filePath: path, directoryHint: .notDirectory)
        #expect(ImageSource(source, besides: document) == .local(file))
    }

    @Test(arguments: ["https://example.com/a.png?x#y", "http://127.0.0.1:8080/a", "HTTPS://EXAMPLE.com/"])
    func `with http or https are on servers`(source: String) throws {
        #expect(ImageSource(source, besides: "-") == .remote(try #require(URL(string: source))))
    }

    @Test(arguments: [
        ("file:///etc/passwd", "file"), ("data:image/png;base64,AAAA", "data"), ("ftp://example.com/a", "ftp"),
        ("C:/a.png", "c"), ("//example.com/a.png", "no scheme"), ("", "no address"), ("?x", "no address"),
        ("#a", "no address"), ("a%00.png", "isn't a path"), ("%FF.png", "isn't a path"), ("100%.png", "isn't a path"),
        ("http:", "no host"), ("http://a:99999/", "port"), (":x", "no scheme"),
    ])
    func `of other kinds are refused, with a reason`(source: String, reason: String) {
        guard case .refused(let why) = ImageSource(source, besides: "-") else {
            Issue.record("\(source) is not refused")
            return
        }
        #expect(why.contains(reason))
    }

    @Test(arguments: [
        (["XDG_CACHE_HOME": "/c", "HOME": "/h"], "/c/sluice"), (["HOME": "/h"], "/h/.cache/sluice"),
        (["XDG_CACHE_HOME": "relative", "HOME": "/h"], "/h/.cache/sluice"),
        (["XDG_CACHE_HOME": "", "HOME": "/h"], "/h/.cache/sluice"), ([:], nil), (["HOME": ""], nil),
    ])
    func `are kept in the user's directory for caches`(environment: [String: String], path: String?) {
        #expect(Console.cacheDirectory(environment: environment)?.path == path)
    }
}
