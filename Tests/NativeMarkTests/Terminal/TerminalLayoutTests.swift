import NativeMark
import Testing

@Suite struct `Lines of a terminal` {
    private func lines(_ markdown: String, _ width: Int, _ style: StyleSheet = .init()) -> [String] {
        TerminalRenderer(width: width).render(Document(markdown), style: style)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test(arguments: [(Int.min, 1), (-1, 1), (0, 1), (10_001, 10_000), (Int.max, 10_000)])
    func `have a width from 1 to 10,000, whatever was wanted`(_ wanted: Int, _ width: Int) {
        let style = StyleSheet.default.setting(
            block: [.document: [.alignment(.center)], .codeBlock: [.background(.rgb(0xEE_EEEE))]])
        var renderer = TerminalRenderer(width: 80, color: .full, hyperlinks: true)
        renderer.width = wanted
        let document = Document("# a\n\n***\n\n> `b` [c](d:e)\n\n1. ```\n   f\n   ```\n\n|a|b|\n|-|-:|\n|c|")
        let expected = TerminalRenderer(width: width, color: .full, hyperlinks: true).render(document, style: style)
        #expect(renderer.render(document, style: style) == expected)
    }

    @Test(arguments: [
        ("one two three", 7, ["one two", "three"]),
        ("one  two", 7, ["one", "two"]),
        ("overlongword x", 5, ["overl", "ongwo", "rd x"]),
        ("well-known fact", 6, ["well-", "known", "fact"]),
        ("minus -5 - 6", 8, ["minus -5", "- 6"]),
        ("日本語の文章です。", 8, ["日本語の", "文章で", "す。"]),
        ("日本語の文章。です", 12, ["日本語の文", "章。です"]),
        ("「日本」語「文」", 10, ["「日本」語", "「文」"]),
        ("Swift言語", 7, ["Swift言", "語"]),
        ("한국어 문장", 7, ["한국어", "문장"]),
        ("a\u{A0}b c", 3, ["a\u{A0}b", "c"]),
        ("10\u{A0}km x", 4, ["10\u{A0}k", "m x"]),
        ("e\u{301}e\u{301}e\u{301}", 2, ["e\u{301}e\u{301}", "e\u{301}"]),
        ("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 4, ["👨‍👩‍👧👨‍👩‍👧", "👨‍👩‍👧"]),
        ("日", 1, ["\u{FFFD}"]),
        ("a\\\nb", 9, ["a", "b"]),
        ("*a*\u{301} b", 1, ["a\u{301}", "b"]),
    ])
    func `end where words and characters end`(_ text: String, _ width: Int, _ expected: [String]) {
        #expect(lines(text, width) == expected)
    }

    @Test func `hang behind markers, which stand in one column`() {
        #expect(lines("9. a b c d e f\n10. g", 10) == [" 9. a b c", "    d e f", "10. g"])
        #expect(lines("- [ ] a\n- [x] b", 20) == ["☐ a", "☑ b"])
    }

    @Test func `begin with the markers of all items that begin there`() {
        #expect(lines("- 1. > a\n     > b", 20) == ["• 1. a b"])
        #expect(lines("-\n- a\n-", 20) == ["•", "• a", "•"])
    }

    @Test func `have the bar of a quote on every line, and between its blocks`() {
        #expect(
            lines("> a b c d e f\n>\n> g\n\nh", 9, .default)
                == ["│ a b c d", "│ e f", "│", "│ g", "", "h"])
        #expect(lines("> a\n> > b\n\nc", 20, .default) == ["│ a", "│", "│ │ b", "", "c"])
    }

    @Test func `have no bar in front of a quote that begins with an empty one`() {
        #expect(lines("a\n\n> >\n>\n> b", 20, .default) == ["a", "", "│ b"])
    }

    @Test func `lose indents and bars where too little room is left`() {
        let deep = String(repeating: "> ", count: 90) + "deep text"
        let found = lines(deep, 20, .default)
        #expect(found == ["│ │ │ │ │ deep text"])
        let list = (0..<50).map { String(repeating: "  ", count: $0) + "- x" }.joined(separator: "\n")
        #expect(lines(list, 20).allSatisfy { TerminalText.width(of: $0) <= 20 })
    }

    @Test func `of code are cut or wrapped, and keep their spaces`() {
        let code = "```\n  abcdefghij\n\tx\n\ny  \n```"
        var renderer = TerminalRenderer(width: 8)
        #expect(renderer.render(Document(code), style: .init()) == "  abcde…\n    x\n\ny")
        renderer.longCode = .wrap
        #expect(renderer.render(Document(code), style: .init()) == "  abcdef\nghij\n    x\n\ny")
    }

    @Test func `tabs in code go to columns of four`() {
        #expect(lines("```\na\tb\n日本\tc\n\t\td\n```", 40) == ["a   b", "日本    c", "        d"])
    }

    @Test func `across take the whole width`() {
        #expect(lines("---", 5) == ["─────"])
        #expect(lines("> ---", 5, .default) == ["│ ───"])
    }
}

@Suite struct `Links in a terminal` {
    private func render(_ markdown: String, hyperlinks: Bool = false, width: Int = 80) -> String {
        visible(TerminalRenderer(width: width, hyperlinks: hyperlinks).render(Document(markdown), style: .init()))
    }

    @Test(arguments: [
        ("[a](http://b)", "a <http://b>"), ("[a *b* c](d)", "a b c <d>"), ("<http://b>", "http://b"),
        ("<a@b.c>", "a@b.c"), ("http://b.org/ä", "http://b.org/ä"), ("www.b.org", "www.b.org"), ("[a]()", "a"),
        ("[a](b) [a](b)", "a <b> a <b>"), ("[a](b)[c](d)", "a <b>c <d>"), ("![a](b)", "a <b>"),
        ("![](x/b.png)", "b.png <x/b.png>"),
        ("[![a](b)](c)", "a <b> <c>"), ("[a\\\nb](c)", "a\nb <c>"),
        ("[bank.org](http://evil.org/bank.org)", "bank.org <http://evil.org/bank.org>"),
        ("[http://bank.org](http://bank.org.evil.org)", "http://bank.org <http://bank.org.evil.org>"),
    ])
    func `have their target behind them, once, and not if the text says it`(_ markdown: String, _ output: String) {
        #expect(render(markdown) == output)
    }

    @Test func `are hyperlinks where the terminal has them`() {
        #expect(render("x [a *b*](http://c) d", hyperlinks: true) == "x ⟦8;id=0;http://c⟧a b⟦8;;⟧ d")
        #expect(render("![a](ab:c)", hyperlinks: true) == "⟦8;id=0;ab:c⟧a⟦8;;⟧")
    }

    @Test func `over two lines are one hyperlink, closed at the end of each line`() {
        #expect(render("[aa bb](ab:c)", hyperlinks: true, width: 3) == "⟦8;id=0;ab:c⟧aa⟦8;;⟧\n⟦8;id=0;ab:c⟧bb⟦8;;⟧")
    }

    @Test func `side by side are two hyperlinks, to the same target too`() {
        #expect(render("[a](ab:c)[b](ab:c)", hyperlinks: true) == "⟦8;id=0;ab:c⟧a⟦8;id=1;ab:c⟧b⟦8;;⟧")
    }
}

@Suite struct `Images in a terminal` {
    private let text = StyledText(Document("a\n\n![b](c)\n\nd ![e](f)"), style: .init())
    private let image = TerminalRenderer.Image(bytes: [1, 2, 3], columns: 4, rows: 3)

    @Test func `are alternative text without a protocol, and where none was loaded`() {
        let plain = "a\nb <c>\nd e <f>"
        #expect(TerminalRenderer(width: 40).render(text) { _ in image } == plain)
        #expect(TerminalRenderer(width: 40, images: .kitty).render(text) { _ in nil } == plain)
        #expect(TerminalRenderer(width: 40, images: .iTerm2).render(text) == plain)
    }
}

@Suite struct `Colors that a terminal has` {
    @Test(arguments: [
        (["TERM": "xterm-256color", "COLORTERM": "truecolor"], true, TerminalRenderer.Color.full),
        (["TERM": "xterm", "COLORTERM": "24bit"], true, .full), (["TERM": "xterm-direct"], true, .full),
        (["TERM": "xterm-256color"], true, .ansi256), (["TERM": "screen-256color", "COLORTERM": "1"], true, .ansi256),
        (["TERM": "xterm"], true, .ansi16), (["TERM": "linux", "NO_COLOR": ""], true, .ansi16),
        (["TERM": "xterm", "NO_COLOR": "1", "COLORTERM": "truecolor"], true, .none), (["TERM": "dumb"], true, .none),
        (["TERM": "dumb", "COLORTERM": "truecolor"], true, .none), ([:], true, .none), (["TERM": ""], true, .none),
        (["TERM": "xterm-256color", "COLORTERM": "truecolor"], false, .none),
    ])
    func `follow the environment`(
        _ environment: [String: String], _ isTerminal: Bool, _ color: TerminalRenderer.Color
    ) {
        #expect(TerminalRenderer.Color.detect(environment: environment, isTerminal: isTerminal) == color)
    }
}

@Suite struct `Headings in a terminal` {
    private static let markdown = """
        # A first level, which is *long*

        ## A second level

        ### A third level, also long

        #### 四級

        ##### Five

        ###### Six
        """

    /// A person has read these through.
    private static let snapshots = [
        13: """
        A first
        level, which
        is long
        ════════════

        A second
        level
        ────────

        ### A third
            level,
            also long

        #### 四級

        ##### Five

        ###### Six
        """,
        40: """
        A first level, which is long
        ════════════════════════════

        A second level
        ──────────────

        ### A third level, also long

        #### 四級

        ##### Five

        ###### Six
        """,
    ]

    @Test(arguments: [13, 40], TerminalRenderer.Color.allCases)
    func `show their levels at each width, with and without colors`(width: Int, color: TerminalRenderer.Color) {
        let output = TerminalRenderer(width: width, color: color).render(Document(Self.markdown))
        #expect(shown(output) == Self.snapshots[width])
    }

    @Test func `show them in plain text, with a line that is not endless`() {
        #expect(PlainText(Document(Self.markdown)).string == Self.snapshots[40])
        let long = PlainText(Document("# \(String(repeating: "words ", count: 100))")).string.split(separator: "\n")
        #expect(long.count == 2 && long[0].count == 599 && long[1] == String(repeating: "═", count: 40))
    }

    @Test func `are where the text is`() {
        let centered = StyleSheet.default.setting(block: [.headings: [.alignment(.center)]])
        let renderer = TerminalRenderer(width: 8)
        #expect(renderer.render(Document("# abc def gh"), style: centered) == "abc def\n   gh\n═══════")
        #expect(renderer.render(Document("## abc"), style: centered) == "  abc\n  ───")
        let shifted = StyleSheet.default.setting(block: [
            .headings: [.leadingIndent(.em(0.5)), .firstLineIndent(.em(0.5))]
        ])
        #expect(
            TerminalRenderer(width: 30).render(Document("# a\n\n#### b"), style: shifted)
                == "    a\n    ═\n\n  #### b")
        #expect(renderer.render(Document("> # abc\n> d")) == "│ abc\n│ ═══\n│\n│ d")
    }

    @Test func `with a border have no other mark, and empty ones are no line`() {
        let bordered = StyleSheet.default.setting(block: [
            .headings: [.border(.init(edges: [.bottom], color: .primary))]
        ])
        let renderer = TerminalRenderer(width: 4)
        #expect(renderer.render(Document("# a\n\n### b"), style: bordered) == "a\n────\n\nb\n────")
        #expect(renderer.render(Document("#\n\na")) == "\n\na")
    }

    @Test func `have no mark if it would leave no room for text`() {
        #expect(TerminalRenderer(width: 10).render(Document("###### abc")) == "abc")
        #expect(TerminalRenderer(width: 1).render(Document("# ab")) == "a\nb\n═")
    }

    @Test func `are struck and linked as other text is`() {
        let output = TerminalRenderer(width: 40).render(Document("# ~~a~~ [b](c)"))
        #expect(output == "~~a~~ b <c>\n═══════════")
    }
}
