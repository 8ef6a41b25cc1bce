import NativeMark
import TestSupport
import Testing

@Suite struct `Images by a terminal's protocol` {
    private let text = StyledText(Document("a\n\n![b](c)\n\nd ![e](f)"), style: .init())

    private func render(
        _ images: TerminalRenderer.ImageProtocol, width: Int = 40, _ image: TerminalRenderer.Image
    ) -> String {
        TerminalRenderer(width: width, images: images).render(text) { $0.source == "c" ? image : nil }
    }

    @Test func `an image by kitty's protocol leaves its rows free, and the cursor where it was`() {
        let output = render(.kitty, .init(bytes: [1, 2, 3], columns: 4, rows: 3))
        let command = "\u{1B}_Ga=T,f=100,q=2,C=1,c=4,r=3,m=0;AQID\u{1B}\\"
        #expect(
            output
                == "a\n\u{1B}D\u{1B}D\u{1B}D\u{1B}[3A\u{1B}7\(command)\u{1B}8\u{1B}[4C\n\u{1B}[4C\n\u{1B}[4C\nd e <f>")
    }

    @Test func `an image by kitty's protocol can have an ID`() {
        let output = render(.kitty, .init(bytes: [1, 2, 3], columns: 4, rows: 1, id: 4_294_967_295))
        #expect(output.contains("\u{1B}_Ga=T,f=100,i=4294967295,q=2,C=1,c=4,r=1,m=0;AQID\u{1B}\\"))
    }

    @Test func `an image by iTerm2's protocol is one sequence, no wider than the line`() {
        let output = render(.iTerm2, width: 3, .init(bytes: [1, 2, 3], columns: 4, rows: 3))
        let command = "\u{1B}]1337;File=inline=1;size=3;width=3;height=3;preserveAspectRatio=1:AQID\u{7}"
        let lines = output.split(separator: "\n")
        #expect(lines[1] == "\u{1B}D\u{1B}D\u{1B}D\u{1B}[3A\u{1B}7\(command)\u{1B}8\u{1B}[3C")
        #expect(lines[2] == "\u{1B}[3C" && lines[3] == "\u{1B}[3C" && lines[4].hasPrefix("d"))
    }

    @Test(arguments: [
        (StyleSheet.ImageLayout(), 4, 3, ""), (.init(.fitWidth), 20, 15, ""),
        (.init(alignment: .center), 4, 3, "        "),
        // A column is half an em, and a row one em.
        (.init(.maximum(width: .em(1)), alignment: .trailing), 2, 2, String(repeating: " ", count: 18)),
        (.init(.maximum(height: .em(1))), 1, 1, ""), (.init(.maximum(width: .points(.nan), height: .em(-1))), 1, 1, ""),
    ])
    func `an image has the size and position of its style`(
        _ layout: StyleSheet.ImageLayout, _ columns: Int, _ rows: Int, _ spaces: String
    ) {
        let text = StyledText(
            Document("![b](c)"), style: StyleSheet().setting(block: [.paragraph: [.imageLayout(layout)]]))
        let output = TerminalRenderer(width: 20, images: .kitty).render(text) { _ in
            .init(bytes: [1], columns: 4, rows: 3)
        }
        #expect(output.contains("c=\(columns),r=\(rows),"))
        let lines = output.split(separator: "\n")
        #expect(lines.count == rows && lines.allSatisfy { $0.hasPrefix(spaces + "\u{1B}") })
    }

    @Test func `a large image is sent in pieces of 4,096 bytes`() {
        let output = render(.kitty, .init(bytes: [UInt8](repeating: 0, count: 6_000), columns: 4, rows: 1))
        let pieces = output.split(separator: "\u{1B}_G").dropFirst().map { $0.split(separator: "\u{1B}\\")[0] }
        #expect(pieces.map { $0.split(separator: ";")[1].utf8.count } == [4_096, 3_904])
        #expect(pieces[0].hasPrefix("a=T,f=100,q=2,C=1,c=4,r=1,m=1;") && pieces[1].hasPrefix("q=2,m=0;"))
    }

    @Test func `an image in a quote has the bar next to each row, and nothing is written over it`() {
        let quoted = StyledText(Document("> ![b](c)"), style: .default)
        let image = TerminalRenderer.Image(bytes: [1], columns: 9, rows: 2)
        let lines = TerminalRenderer(width: 12, images: .iTerm2).render(quoted) { _ in image }.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("│ ") && $0.hasSuffix("\u{1B}[9C") })
    }

    @Test(arguments: TerminalRenderer.ImageProtocol.allCases)
    func `an image can't contain control sequences`(images: TerminalRenderer.ImageProtocol) {
        // Given bytes that end every control sequence, and a description and an address with more of them
        let bytes = Array("\u{1B}\\\u{7}\u{9C}\u{1B}[2J;m=0".utf8)
        let document = Document("![\u{1B}[2J&#27;c](a%1B\u{9B}31m)\n\n![x\u{7}](y)")
        // When
        let output = TerminalRenderer(width: 40, images: images).render(StyledText(document)) {
            $0.source == "y" ? .init(bytes: bytes, columns: 2, rows: 1) : nil
        }
        // Then none of them is left in plain form
        #expect(!output.contains("\u{1B}[2J") && !output.contains("\u{1B}c") && !output.contains("\u{9B}"))
        #expect(!output.contains("m=0\u{1B}[") && !output.contains("\u{9C}"))
        #expect(output.unicodeScalars.count { $0 == "\u{7}" } == (images == .iTerm2 ? 1 : 0))
    }
}

@Suite struct `Descriptions without images` {
    private static let markdown = "![a *b*](c \"t\") d ![](e/f.png)\n\n[![g](h)](ab:i)"

    @Test func `a terminal and plain text show descriptions instead of images`() {
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

    @Test func `HTML shows escaped descriptions instead of images`() {
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
    func `the image protocol depends on the environment`(
        environment: [String: String], isTerminal: Bool, images: TerminalRenderer.ImageProtocol
    ) {
        #expect(TerminalRenderer.ImageProtocol.detect(environment: environment, isTerminal: isTerminal) == images)
    }
}

@Suite struct `Images among text` {
    /// The sources of images are `small` (6 columns in a line), `wide` (12), `large` (9 columns, 2 rows), or not loaded.
    private func render(
        _ markdown: String, _ images: TerminalRenderer.ImageProtocol = .kitty, width: Int = 30,
        hyperlinks: Bool = false,
        style: StyleSheet = .init()
    ) -> String {
        TerminalRenderer(width: width, hyperlinks: hyperlinks, images: images).render(
            StyledText(Document(markdown), style: style)
        ) { image in
            switch image.source {
            case "small": .init(bytes: [1], columns: 7, rows: 1, columnsInLine: 6)
            case "wide": .init(bytes: [3], columns: 20, rows: 2, columnsInLine: 12)
            case "large": .init(bytes: [2], columns: 9, rows: 2)
            default: nil
            }
        }
    }

    private func lines(_ markdown: String, width: Int = 30) -> [String] {
        shown(render(markdown, width: width)).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test func `a small image is in its line, one row high`() {
        #expect(
            render("a ![b](small) c")
                == "a \u{1B}D\u{1B}[1A\u{1B}7\u{1B}_Ga=T,f=100,q=2,C=1,c=6,r=1,m=0;AQ==\u{1B}\\\u{1B}8\u{1B}[6C c")
        #expect(
            render("a ![b](small) c", .iTerm2)
                == "a \u{1B}D\u{1B}[1A\u{1B}7\u{1B}]1337;File=inline=1;size=1;width=6;height=1;preserveAspectRatio=0:AQ==\u{7}\u{1B}8\u{1B}[6C c"
        )
    }

    @Test func `images wrap like words, and a period stays with its image`() {
        #expect(lines("![](small) ![](small) ![](small)", width: 14) == ["▒▒▒▒▒▒ ▒▒▒▒▒▒", "▒▒▒▒▒▒"])
        #expect(lines("![](small)![](small)![](small)", width: 14) == ["▒▒▒▒▒▒▒▒▒▒▒▒", "▒▒▒▒▒▒"])
        #expect(lines("abcd ef (![](small)).", width: 15) == ["abcd ef", "(▒▒▒▒▒▒)."])
    }

    @Test func `a large image is below the text, which keeps its description`() {
        #expect(lines("a ![b](large) c") == ["a b <large> c", "▒▒▒▒▒▒▒▒▒", "▒▒▒▒▒▒▒▒▒"])
        #expect(
            lines("a\n![b](large)\n![c](large)\n\nd").map { $0.prefix(4) } == [
                "a b ", "▒▒▒▒", "▒▒▒▒", "", "▒▒▒▒", "▒▒▒▒", "d",
            ])
    }

    @Test func `a small image that is wider than the line is below it`() {
        #expect(lines("a ![b](small) c", width: 5) == ["a b", "<smal", "l> c", "▒▒▒▒▒"])
    }

    @Test func `images without other text have no descriptions`() {
        #expect(lines("![b](large) ![c](large)") == ["▒▒▒▒▒▒▒▒▒", "▒▒▒▒▒▒▒▒▒", "", "▒▒▒▒▒▒▒▒▒", "▒▒▒▒▒▒▒▒▒"])
        #expect(
            lines("![b](large) ![c](small)  \n![d](large) ![e](other) ![f](large)\n![g](small)") == [
                "▒▒▒▒▒▒", "e <other> ▒▒▒▒▒▒", "▒▒▒▒▒▒▒▒▒", "▒▒▒▒▒▒▒▒▒", "", "▒▒▒▒▒▒▒▒▒", "▒▒▒▒▒▒▒▒▒", "", "▒▒▒▒▒▒▒▒▒",
                "▒▒▒▒▒▒▒▒▒",
            ])
        #expect(lines("![b](small)") == ["▒▒▒▒▒▒▒"], "An image by itself has its own size.")
    }

    @Test func `images in headings, items and quotes have the beginning of their lines`() {
        let sheet = StyleSheet.default
        #expect(shown(render("# ![](small) abc", style: sheet)) == "▒▒▒▒▒▒ abc\n══════════")
        #expect(shown(render("# ![](large)", style: sheet)) == "▒▒▒▒▒▒▒▒▒\n▒▒▒▒▒▒▒▒▒")
        #expect(shown(render("> - a ![](small)\n> - ![](large) b", style: sheet)).hasPrefix("│ • a ▒▒▒▒▒▒\n│ • large"))
    }

    @Test func `an image in a link is over spaces with the link, and other images are over none`() {
        let link = "\u{1B}]8;id=0;ab:c\u{1B}\\\u{1B}D\u{1B}[1A\u{1B}7      \u{1B}8\u{1B}7\u{1B}_G"
        #expect(render("a [![b](small)](ab:c)", hyperlinks: true).hasPrefix("a \(link)"))
        #expect(render("a [![b](small)](ab:c)", hyperlinks: true).hasSuffix("\u{1B}8\u{1B}[6C\u{1B}]8;;\u{1B}\\"))
        #expect(shown(render("a [![b](small)](c)")) == "a ▒▒▒▒▒▒ <c>")
        #expect(!render("a ![b](small)").contains("\u{1B}7 "))
    }

    @Test func `an image alone in a link has the link in its first row, or the target in the text`() {
        let output = render("[![b](large)](ab:c)", hyperlinks: true)
        #expect(
            output.hasPrefix("\u{1B}]8;id=0;ab:c\u{1B}\\\u{1B}D\u{1B}D\u{1B}[2A\u{1B}7         \u{1B}8\u{1B}7\u{1B}_G"))
        #expect(output.hasSuffix("\u{1B}[9C\u{1B}]8;;\u{1B}\\\n\u{1B}[9C"))
        #expect(shown(render("[![b](large)](c)")) == "b <large> <c>\n▒▒▒▒▒▒▒▒▒\n▒▒▒▒▒▒▒▒▒")
        #expect(shown(render("![b](large)", hyperlinks: true)) == "▒▒▒▒▒▒▒▒▒\n▒▒▒▒▒▒▒▒▒")
    }

    @Test func `images in tables are in their cells, or below the table`() {
        #expect(lines("|a|b|\n|-|-:|\n|x ![b](small)|y|") == ["a         b", "x ▒▒▒▒▒▒  y"])
        #expect(lines("|a|\n|-|\n|![b](small)|") == ["a", "▒▒▒▒▒▒"])
        #expect(lines("|a|b|\n|-|-|\n|x|![b](large)|") == ["a  b", "x  b <large>", "▒▒▒▒▒▒▒▒▒", "▒▒▒▒▒▒▒▒▒"])
    }

    @Test func `in a table with a column that is too narrow, images are descriptions`() {
        let markdown = "|a|b|\n|-|-|\n|![b](small)|many words here|"
        #expect(lines(markdown, width: 13) == ["a       b", "▒▒▒▒▒▒  many", "        words", "        here"])
        #expect(!lines(markdown, width: 12).joined().contains("▒"))
        #expect(!lines(markdown, width: 8).joined().contains("▒"))
        // The second column has 11 columns, because words of ten characters and more may be broken.
        let wide = "|a|b|\n|-|-|\n|abcdefghijklmn|![c](wide)|"
        #expect(lines(wide, width: 28)[1] == "abcdefghijklmn  ▒▒▒▒▒▒▒▒▒▒▒▒")
        #expect(lines(wide, width: 25)[1] == "abcdefghijklmn  c <wide>")
    }

    @Test func `images in code are shown as written`() {
        #expect(lines("`![b](small)`") == ["![b](small)"])
    }

    @Test func `images aren't confused with their character in a text, or with combining marks next to them`() {
        #expect(lines("\u{FFFC}![b](small)\u{FFFC}\u{301} x") == ["\u{FFFC}▒▒▒▒▒▒\u{FFFC}\u{301} x"])
        #expect(lines("![b](small)\u{301} x").map { $0.filter { $0 == "▒" }.count } == [6])
        #expect(lines("a\u{600}![b](small) x").count == 1)
    }

    @Test func `images are requested in order, once for each place`() {
        var asked: [String] = []
        let text = StyledText(Document("![](a) b ![](c)\n\n![](d)\n\n# ![](e)\n\n|![](f)|\n|-|\n\n- ![](g) ![](a)"))
        _ = TerminalRenderer(width: 20, images: .iTerm2).render(text) { image in
            asked.append(image.source)
            return nil
        }
        #expect(asked == ["a", "c", "d", "e", "f", "g", "a"])
    }

    @Test(arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2])
    func `images of any size in any document are no wider than the terminal, and output no controls`(
        images: TerminalRenderer.ImageProtocol
    ) {
        var random = SeededRandom(seed: 15)
        var count = 0
        for round in 0..<600 {
            let pieces = ["![a *b*](p.png)", "[![c](q.png)](r)", "![](s.png)"]
            var markdown = String.markdown(using: &random)
            for piece in pieces where Bool.random(using: &random) {
                markdown = markdown.replacing("word", with: piece, maxReplacements: 1)
            }
            let width = [1, 2, 5, 12, 40, 80][round % 6]
            let output = TerminalRenderer(width: width, color: .full, hyperlinks: round % 2 == 0, images: images)
                .render(
                    StyledText(Document(markdown))
                ) { _ in
                    let columns = Int.random(in: -1...50, using: &random)
                    return .init(
                        bytes: Array("\u{1B}[2J;\u{7}".utf8), columns: columns, rows: columns % 4,
                        columnsInLine: Bool.random(using: &random) ? columns : nil)
                }
            let text = shown(output)
            count += text.contains("▒") ? 1 : 0
            #expect(!text.contains("\u{1B}") && !text.contains("\u{7}"), "\(markdown.debugDescription)")
            for line in text.split(separator: "\n") where TerminalText.width(of: line) > width {
                Issue.record("\(TerminalText.width(of: line)) columns of \(width): \(markdown.debugDescription)")
                return
            }
        }
        #expect(count > 100)
    }
}

@Suite struct `Images in a terminal` {
    private let text = StyledText(Document("a\n\n![b](c)\n\nd ![e](f)"), style: .init())
    private let image = TerminalRenderer.Image(bytes: [1, 2, 3], columns: 4, rows: 3)

    @Test func `an image without a protocol, or that wasn't loaded, is its alternative text`() {
        let plain = "a\nb <c>\nd e <f>"
        #expect(TerminalRenderer(width: 40).render(text) { _ in image } == plain)
        #expect(TerminalRenderer(width: 40, images: .kitty).render(text) { _ in nil } == plain)
        #expect(TerminalRenderer(width: 40, images: .iTerm2).render(text) == plain)
    }
}
