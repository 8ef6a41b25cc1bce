import Foundation
import NativeMark
import SluiceCache
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `Places of images` {
    @Test(arguments: [
        (80, 32, 10, 2), (1, 1, 1, 1), (800, 320, 40, 8), (8_000, 16, 40, 1), (16, 8_000, 1, 10), (640, 320, 40, 10),
        (100, 20, 13, 1), (10_000, 10_000, 20, 10),
    ])
    func `tell how many cells an image takes, within the room there is`(
        width: Int, height: Int, columns: Int, rows: Int
    ) {
        let cells = ImageHeader.cells(for: (width, height), of: .init(), columns: 40, rows: 10)
        #expect(cells.columns == columns && cells.rows == rows, "\(cells)")
    }

    @Test(
        arguments: [
            (100, 20, 10), (88, 20, 9), (16, 16, 2), (1, 32, 1), (32, 32, 2), (200, 33, nil), (400, 20, 40),
            (500, 20, nil),
            (10_000, 1, nil), (1, 1, 2),
        ] as [(Int, Int, Int?)])
    func `in a line are one row high, for images of at most two rows`(width: Int, height: Int, columns: Int?) {
        #expect(ImageHeader.columnsInLine(for: (width, height), of: .init(), columns: 40) == columns)
    }

    @Test(arguments: 1...8) func `follow the orientation where the terminal applies it`(orientation: Int) throws {
        let metadata = TestImage.metadata(orientation: orientation)
        let header = try #require(ImageHeader(TestImage.jpeg(80, 32, metadata: metadata)))
        #expect(header.shownSize(by: .iTerm2) == (orientation < 5 ? (80, 32) : (32, 80)))
        #expect(header.shownSize(by: .kitty) == (80, 32))
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
