import NativeMark
import Testing

@Suite struct `Images by a terminal's protocol` {
    private let text = StyledText(Document("a\n\n![b](c)\n\nd ![e](f)"), style: .init())

    private func render(
        _ images: TerminalRenderer.ImageProtocol, width: Int = 40, _ image: TerminalRenderer.Image
    ) -> String {
        TerminalRenderer(width: width, images: images).render(text) { $0.source == "c" ? image : nil }
    }

    @Test func `by kitty's keep their rows free, and the cursor where it was`() {
        let output = render(.kitty, .init(bytes: [1, 2, 3], columns: 4, rows: 3))
        let command = "\u{1B}_Ga=T,f=100,q=2,C=1,c=4,r=3,m=0;AQID\u{1B}\\"
        #expect(
            output
                == "a\n\u{1B}D\u{1B}D\u{1B}D\u{1B}[3A\u{1B}7\(command)\u{1B}8\u{1B}[4C\n\u{1B}[4C\n\u{1B}[4C\nd e <f>")
    }

    @Test func `by kitty's can have a name`() {
        let output = render(.kitty, .init(bytes: [1, 2, 3], columns: 4, rows: 1, id: 4_294_967_295))
        #expect(output.contains("\u{1B}_Ga=T,f=100,i=4294967295,q=2,C=1,c=4,r=1,m=0;AQID\u{1B}\\"))
    }

    @Test func `by iTerm2's are one sequence, no wider than the line`() {
        let output = render(.iTerm2, width: 3, .init(bytes: [1, 2, 3], columns: 4, rows: 3))
        let command = "\u{1B}]1337;File=inline=1;size=3;width=3;height=3;preserveAspectRatio=1:AQID\u{7}"
        let lines = output.split(separator: "\n")
        #expect(lines[1] == "\u{1B}D\u{1B}D\u{1B}D\u{1B}[3A\u{1B}7\(command)\u{1B}8\u{1B}[3C")
        #expect(lines[2] == "\u{1B}[3C" && lines[3] == "\u{1B}[3C" && lines[4].hasPrefix("d"))
    }

    @Test func `that are large go in pieces of 4,096 bytes`() {
        let output = render(.kitty, .init(bytes: [UInt8](repeating: 0, count: 6_000), columns: 4, rows: 1))
        let pieces = output.split(separator: "\u{1B}_G").dropFirst().map { $0.split(separator: "\u{1B}\\")[0] }
        #expect(pieces.map { $0.split(separator: ";")[1].utf8.count } == [4_096, 3_904])
        #expect(pieces[0].hasPrefix("a=T,f=100,q=2,C=1,c=4,r=1,m=1;") && pieces[1].hasPrefix("q=2,m=0;"))
    }

    @Test func `in a quote have its bar beside each row, and nothing is written over them`() {
        let quoted = StyledText(Document("> ![b](c)"), style: .default)
        let image = TerminalRenderer.Image(bytes: [1], columns: 9, rows: 2)
        let lines = TerminalRenderer(width: 12, images: .iTerm2).render(quoted) { _ in image }.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("│ ") && $0.hasSuffix("\u{1B}[9C") })
    }

    @Test(arguments: TerminalRenderer.ImageProtocol.allCases)
    func `cannot be made controls of`(images: TerminalRenderer.ImageProtocol) {
        // Given bytes that end every control sequence, and a description and an address with more of them
        let bytes = Array("\u{1B}\\\u{7}\u{9C}\u{1B}[2J;m=0".utf8)
        let document = Document("![\u{1B}[2J&#27;c](a%1B\u{9B}31m)\n\n![x\u{7}](y)")
        // When
        let output = TerminalRenderer(width: 40, images: images).render(StyledText(document)) {
            $0.source == "y" ? .init(bytes: bytes, columns: 2, rows: 1) : nil
        }
        // Then nothing is left of them in clear
        #expect(!output.contains("\u{1B}[2J") && !output.contains("\u{1B}c") && !output.contains("\u{9B}"))
        #expect(!output.contains("m=0\u{1B}[") && !output.contains("\u{9C}"))
        #expect(output.unicodeScalars.count { $0 == "\u{7}" } == (images == .iTerm2 ? 1 : 0))
    }
}

@Suite struct `Descriptions alone` {
    private static let markdown = "![a *b*](c \"t\") d ![](e/f.png)\n\n[![g](h)](ab:i)"

    @Test func `stand in a terminal and in plain text for images`() {
        let text = StyledText(Document(Self.markdown), style: .init())
        let shown = "a b d f.png\ng <ab:i>"
        #expect(TerminalRenderer(width: 40, images: .alternativeText).render(text) == shown)
        #expect(
            PlainText(text, imageSources: false).string.split(separator: "\n").map(String.init) == [
                "a b d f.png", "g <ab:i>",
            ])
        let linked = TerminalRenderer(width: 40, hyperlinks: true, images: .alternativeText).render(text)
        #expect(linked == "a b d f.png\n\u{1B}]8;id=0;ab:i\u{1B}\\g\u{1B}]8;;\u{1B}\\")
    }

    @Test func `stand in HTML for images, escaped`() {
        let html = HTMLRenderer(images: false).render(Document(Self.markdown + "\n\n![<b> ![x](y)\nz](q)"))
        #expect(html == "<p>a b d </p>\n<p><a href=\"ab:i\">g</a></p>\n<p>&lt;b&gt; x\nz</p>\n")
        #expect(HTMLRenderer().render(Document("![a](b \"t\")")) == "<p><img src=\"b\" alt=\"a\" title=\"t\" /></p>\n")
    }
}

@Suite struct `Images that a terminal can show` {
    @Test(arguments: [
        (["TERM": "xterm-kitty"], true, TerminalRenderer.ImageProtocol.kitty),
        (["TERM": "xterm-ghostty"], true, .kitty),
        (["TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"], true, .kitty),
        (["TERM": "xterm-256color", "KONSOLE_VERSION": "220401"], true, .kitty),
        (["TERM": "xterm-256color", "KONSOLE_VERSION": "211203"], true, .none),
        (["TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"], true, .iTerm2),
        (["TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"], true, .iTerm2),
        (["TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"], true, .iTerm2),
        (["TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app", "KITTY_WINDOW_ID": "1"], true, .iTerm2),
        (["TERM": "xterm-kitty", "NO_COLOR": "1"], true, .kitty),
        (["TERM": "xterm-kitty"], false, .none), (["TERM": "xterm-256color"], true, .none), ([:], true, .none),
        (["TERM": "dumb", "TERM_PROGRAM": "iTerm.app"], true, .none), (["KITTY_WINDOW_ID": "1"], true, .none),
        (["TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"], true, .none),
        (["TERM": "screen", "LC_TERMINAL": "iTerm2"], true, .none),
        (["TERM": "xterm-kitty", "TMUX": "/x,1,0"], true, .none), (["TERM": "xterm-kitty", "STY": "1.x"], true, .none),
    ])
    func `follow the environment`(
        environment: [String: String], isTerminal: Bool, images: TerminalRenderer.ImageProtocol
    ) {
        #expect(TerminalRenderer.ImageProtocol.detect(environment: environment, isTerminal: isTerminal) == images)
    }
}
