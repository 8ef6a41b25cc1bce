import Foundation
import NativeMark
import SluiceCache
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `A screen with images` {
    private static let markdown = """
        # Title

        ![first](a)

        words ![within](w) words

        > ![second](b)

        - ![third](c)

        ![first again](a)

        the end
        """

    private static func loadedImage(
        _ byte: UInt8, _ columns: Int, _ rows: Int, inLine: Int? = nil
    ) -> TerminalRenderer.Image {
        .init(bytes: [byte], columns: columns, rows: rows, columnsInLine: inLine)
    }

    private static func screen(
        _ images: TerminalRenderer.ImageProtocol, _ markdown: String = markdown, columns: Int = 40, rows: Int = 40
    ) -> ImageScreen {
        ImageScreen(
            text: StyledText(Document(markdown)),
            renderer: TerminalRenderer(width: columns, color: .ansi16, images: images),
            size: .init(columns: columns, rows: rows), firstID: 1_000)
    }

    /// A terminal with earlier output above, so that it may scroll.
    private static func terminal(columns: Int = 40, rows: Int = 40, above: Int = 0) -> FakeTerminal {
        var terminal = FakeTerminal(columns: columns, rows: rows)
        for _ in 0..<above { terminal.write("x\n") }
        return terminal
    }

    @Test func `each image is listed once`() {
        #expect(Self.screen(.kitty).images.map(\.source) == ["a", "w", "b", "c"])
    }

    @Test(
        arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2],
        [
            [[0, 2, 3]], [[0], [1], [2], [3]], [[3], [2], [1], [0]], [[2], [0, 3]], [[3, 0], [2, 1]], [[2]], [[1]],
        ])
    func `images that arrive in any order look in the end as if all had been there from the start`(
        images: TerminalRenderer.ImageProtocol, order: [[Int]]
    ) {
        let loadedImages = [
            Self.loadedImage(1, 10, 4), Self.loadedImage(2, 8, 2, inLine: 6), Self.loadedImage(3, 7, 1),
            Self.loadedImage(4, 12, 3),
        ]
        for above in [0, 20, 39, 60] {
            // Given
            var screen = Self.screen(images)
            var terminal = Self.terminal(above: above)
            terminal.write(screen.text)
            // When
            for numbers in order {
                terminal.write(screen.add(numbers.map { ($0, loadedImages[$0]) }, on: .init(columns: 40, rows: 40)))
            }
            terminal.write(screen.end())
            // Then
            var other = Self.screen(images)
            var atOnce = Self.terminal(above: above)
            atOnce.write(other.text)
            atOnce.write(
                other.add(order.joined().sorted().map { ($0, loadedImages[$0]) }, on: .init(columns: 40, rows: 40)))
            #expect(terminal.text == atOnce.text && terminal.loadedImages == atOnce.loadedImages)
            #expect(terminal.row == atOnce.row && terminal.column == 0 && terminal.unknown == [])
            let shown = order.joined().flatMap { $0 == 0 ? [0, 0] : [$0] }
            #expect(
                terminal.loadedImages.map(\.bytes).sorted { $0[0] < $1[0] }
                    == shown.sorted().map { loadedImages[$0].bytes })
            for loadedImage in terminal.loadedImages {
                // Its cells are free, and the line below it is not.
                for row in loadedImage.row..<loadedImage.row + loadedImage.rows {
                    let line = Array(terminal.text[row].unicodeScalars).dropFirst(loadedImage.column)
                    #expect(line.prefix(loadedImage.columns).allSatisfy { $0 == " " })
                }
            }
            #expect(terminal.text.contains("the end") && terminal.text.last == "")
        }
    }

    @Test func `adding an image draws nothing above the first line that changes`() {
        var screen = Self.screen(.kitty)
        let output = screen.add([(3, Self.loadedImage(3, 5, 2))], on: .init(columns: 40, rows: 40))
        #expect(!output.contains("Title") && !output.contains("within") && output.contains("the end"))
        #expect(screen.add([], on: .init(columns: 40, rows: 40)) == "")
    }

    @Test(arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2])
    func `an image without room goes below the text, under its description`(images: TerminalRenderer.ImageProtocol)
        throws
    {
        // Given a screen with room for one of them
        let markdown = "start\n\n![one \u{1B}\\[2J](a)\n\n![](x/b.png)\n\nend"
        let size = Console.Size(columns: 40, rows: 13)
        var screen = Self.screen(images, markdown, rows: 13)
        var terminal = Self.terminal(rows: 13)
        terminal.write(screen.text)
        // When
        terminal.write(screen.add([(1, Self.loadedImage(2, 5, 4))], on: size))
        terminal.write(screen.add([(0, Self.loadedImage(1, 5, 6))], on: size))
        #expect(terminal.loadedImages.map(\.bytes) == [[2]])
        terminal.write(screen.end())
        // Then
        #expect(terminal.loadedImages.map(\.bytes) == [[2], [1]] && terminal.unknown == [])
        let caption = try #require(terminal.text.lastIndex { $0.hasPrefix("one") })
        #expect(terminal.text[caption] == "one \u{FFFD}[2J" && terminal.loadedImages[1].row == caption + 1)
        #expect(terminal.text.lastIndex(of: "end") ?? caption < caption)
    }

    @Test func `if the text is longer than the screen, all images go below it immediately`() {
        let markdown = "![](x/b.png)\n\n" + String(repeating: "word\n\n", count: 20)
        var screen = Self.screen(.iTerm2, markdown, rows: 10)
        var terminal = Self.terminal(rows: 10)
        terminal.write(screen.text)
        terminal.write(screen.add([(0, Self.loadedImage(1, 5, 6))], on: .init(columns: 40, rows: 10)))
        #expect(terminal.loadedImages.map(\.bytes) == [[1]] && terminal.loadedImages[0].row > 20)
        #expect(terminal.text[terminal.loadedImages[0].row - 1] == "x/b.png")
        #expect(screen.end() == "")
    }

    @Test func `after the terminal has changed its size, nothing is moved anymore`() {
        var screen = Self.screen(.kitty)
        let size = Console.Size(columns: 40, rows: 40)
        for now in [Console.Size(columns: 30, rows: 40), nil, size] {
            let output = screen.add([(0, Self.loadedImage(1, 5, 2))], on: now)
            #expect(output.contains("\u{1B}_G") && !output.contains("\u{1B}[J") && output.contains("\nfirst\n"))
        }
    }

    @Test func `lines that are wider than the terminal aren't drawn over`() {
        var screen = ImageScreen(
            text: StyledText(Document(Self.markdown)), renderer: TerminalRenderer(width: 60, images: .kitty),
            size: .init(columns: 40, rows: 40), firstID: 1)
        #expect(screen.room.columns == 40)
        let output = screen.add([(0, Self.loadedImage(1, 5, 2))], on: .init(columns: 40, rows: 40))
        #expect(!output.contains("\u{1B}[J") && output.contains("\nfirst\n"))
    }

    @Test(arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2])
    func `small images are in their lines, and large images are below those lines`(
        images: TerminalRenderer.ImageProtocol
    ) {
        // Given badges, one of them in two places and in a link
        let markdown = "![build](a) ![tests](b) [![docs](a)](c)\n\nsee ![large](d) here\n\nend"
        let size = Console.Size(columns: 20, rows: 30)
        var screen = Self.screen(images, markdown, columns: 20, rows: 30)
        var terminal = Self.terminal(columns: 20, rows: 30, above: 28)
        terminal.write(screen.text)
        // When they come one after the other
        for (number, loadedImage) in [
            (1, Self.loadedImage(2, 9, 2, inLine: 8)), (2, Self.loadedImage(3, 10, 3)),
            (0, Self.loadedImage(1, 9, 2, inLine: 7)),
        ] {
            terminal.write(screen.add([(number, loadedImage)], on: size))
        }
        terminal.write(screen.end())
        // Then each is where its description was, and no description is left
        let top = terminal.loadedImages[0].row
        #expect(
            terminal.loadedImages.map { [$0.row - top, $0.column, $0.columns, $0.rows, Int($0.bytes[0])] } == [
                [0, 0, 7, 1, 1], [0, 8, 8, 1, 2], [1, 0, 7, 1, 1], [4, 0, 10, 3, 3],
            ])
        #expect(
            terminal.unknown == [] && terminal.text[(top + 3)...] == ["see large <d> here", "", "", "", "", "end", ""])
    }

    @Test
    func `if the text is longer than the screen, small images among text are left out, unless they are alone`() {
        let markdown = "a ![small](a)\n\n![small](b)\n\n![large](c) b\n\n" + String(repeating: "word\n\n", count: 20)
        var screen = Self.screen(.kitty, markdown, rows: 10)
        var terminal = Self.terminal(rows: 10)
        terminal.write(screen.text)
        let small = Self.loadedImage(1, 5, 1, inLine: 4)
        let loadedImages = [(0, small), (1, small), (2, Self.loadedImage(3, 5, 6))]
        terminal.write(screen.add(loadedImages, on: .init(columns: 40, rows: 10)))
        #expect(terminal.loadedImages.map(\.columns) == [5, 5] && terminal.text.filter { $0 == "small" }.count == 1)
    }

    @Test func `a large image that would be sent too many times is left out`() {
        let markdown = String(repeating: "![](a) ", count: 30) + "\n\n![](b)"
        let large = TerminalRenderer.Image(
            bytes: [UInt8](repeating: 1, count: 3 << 20), columns: 5, rows: 1, columnsInLine: 2)
        var screen = Self.screen(.kitty, markdown)
        let output = screen.add([(0, large), (1, Self.loadedImage(2, 5, 1))], on: .init(columns: 40, rows: 40))
        var terminal = Self.terminal()
        terminal.write(screen.text + output)
        #expect(terminal.loadedImages.map(\.bytes) == [[2]])
    }

    @Test func `each placement of an image has a different ID`() {
        var screen = Self.screen(.kitty, rows: 17)
        let size = Console.Size(columns: 40, rows: 17)
        let output =
            screen.add([(0, Self.loadedImage(1, 5, 2)), (2, Self.loadedImage(2, 5, 9))], on: size) + screen.end()
        let names = output.split(separator: "f=100,i=").dropFirst().map { $0.prefix { $0 != "," } }
        #expect(names.count == 3 && Set(names).count == 3)
    }
}

@Suite struct `Output with images` {
    private func output(_ images: TerminalRenderer.ImageProtocol) -> String {
        let loadedImage = TerminalRenderer.Image(bytes: Array(0...255), columns: 5, rows: 2)
        let text = StyledText(Document("**a**\n\n![b](c)\n\nd\n\n![e](f)"))
        return "\u{1B}[3A" + TerminalRenderer(width: 9, color: .full, images: images).render(text) { _ in loadedImage }
    }

    @Test(arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2])
    func `the pieces add up to the output, and without its images their cells stay free`(
        images: TerminalRenderer.ImageProtocol
    ) {
        let pieces = ImageOutput(output(images)).pieces
        let whole = pieces.map { piece in
            switch piece {
            case .text(let text), .loadedImage(let text): text
            }
        }
        #expect(whole.joined() == output(images))
        let without = pieces.compactMap { if case .text(let text) = $0 { String(text) } else { nil } }.joined()
        #expect(pieces.count == 5 && !without.contains("\u{1B}_") && !without.contains("\u{1B}]1337"))
        var terminal = FakeTerminal(columns: 9, rows: 20)
        terminal.write(without)
        var other = FakeTerminal(columns: 9, rows: 20)
        other.write(output(images))
        #expect(terminal.text == other.text && terminal.row == other.row && other.loadedImages.count == 2)
    }

    @Test(arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2])
    func `output that is cut off anywhere in an image can be closed`(images: TerminalRenderer.ImageProtocol) {
        let output = output(images)
        let start = output.range(of: "\u{1B}7")!.upperBound
        let end = output.range(of: "\u{1B}8")!.lowerBound
        var cut = start
        while cut < end {
            var terminal = FakeTerminal(columns: 40, rows: 20)
            terminal.write(String(output[..<cut]) + ImageOutput.closing + "\u{1B}8prompt")
            #expect(terminal.text.contains { $0.hasSuffix("prompt") }, "\(output[..<cut])")
            cut = output.unicodeScalars.index(after: cut)
        }
    }
}

@Suite struct `Places of images` {
    @Test(arguments: [
        (80, 32, 10, 2), (1, 1, 1, 1), (800, 320, 40, 8), (8_000, 16, 40, 1), (16, 8_000, 1, 10), (640, 320, 40, 10),
        (100, 20, 13, 1), (10_000, 10_000, 20, 10),
    ])
    func `an image takes as many cells as it needs within the available room`(
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
    func `an image of at most two rows is one row high in a line`(width: Int, height: Int, columns: Int?) {
        #expect(ImageHeader.columnsInLine(for: (width, height), of: .init(), columns: 40) == columns)
    }

    @Test(arguments: 1...8) func `an image's size follows its orientation if the terminal applies it`(orientation: Int)
        throws
    {
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
    func `an address without a scheme is a file, relative to the document's directory`(
        source: String, document: String, path: String
    ) {
        let file = URL(filePath: path, directoryHint: .notDirectory)
        #expect(ImageSource(source, besides: document) == .local(file))
    }

    @Test(arguments: ["https://example.com/a.png?x#y", "http://127.0.0.1:8080/a", "HTTPS://EXAMPLE.com/"])
    func `an address with http or https is on a server`(source: String) throws {
        #expect(ImageSource(source, besides: "-") == .remote(try #require(URL(string: source))))
    }

    @Test(arguments: [
        ("file:///etc/passwd", "file"), ("data:image/png;base64,AAAA", "data"), ("ftp://example.com/a", "ftp"),
        ("C:/a.png", "c"), ("//example.com/a.png", "no scheme"), ("", "no address"), ("?x", "no address"),
        ("#a", "no address"), ("a%00.png", "isn't a path"), ("%FF.png", "isn't a path"), ("100%.png", "isn't a path"),
        ("http:", "no host"), ("http://a:99999/", "port"), (":x", "no scheme"),
    ])
    func `any other address is refused with a reason`(source: String, reason: String) {
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
    func `images are cached in the user's cache directory`(environment: [String: String], path: String?) {
        #expect(Console.cacheDirectory(environment: environment)?.path == path)
    }
}
