import NativeMark
import Testing

@Suite struct `Lines of a terminal` {
    private func lines(_ markdown: String, _ width: Int, _ style: StyleSheet = .init()) -> [String] {
        TerminalRenderer(width: width).render(Document(markdown), style: style)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test(arguments: [(Int.min, 1), (-1, 1), (0, 1), (10_001, 10_000), (Int.max, 10_000)])
    func `the width is limited to 1 to 10,000 columns`(_ wanted: Int, _ width: Int) {
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
    func `lines end at the ends of words and characters`(_ text: String, _ width: Int, _ expected: [String]) {
        #expect(lines(text, width) == expected)
    }

    @Test func `lines hang after their markers, which are in one column`() {
        #expect(lines("9. a b c d e f\n10. g", 10) == [" 9. a b c", "    d e f", "10. g"])
        #expect(lines("- [ ] a\n- [x] b", 20) == ["☐ a", "☑ b"])
    }

    @Test func `a line starts with the markers of all items that start there`() {
        #expect(lines("- 1. > a\n     > b", 20) == ["• 1. a b"])
        #expect(lines("-\n- a\n-", 20) == ["•", "• a", "•"])
    }

    @Test func `a quote's bar is on every line and between its blocks`() {
        #expect(
            lines("> a b c d e f\n>\n> g\n\nh", 9, .default)
                == ["│ a b c d", "│ e f", "│", "│ g", "", "h"])
        #expect(lines("> a\n> > b\n\nc", 20, .default) == ["│ a", "│", "│ │ b", "", "c"])
    }

    @Test func `a quote that starts with an empty quote has no bar for it`() {
        #expect(lines("a\n\n> >\n>\n> b", 20, .default) == ["a", "", "│ b"])
    }

    @Test func `indents and bars are dropped if they leave too little room`() {
        let deep = String(repeating: "> ", count: 90) + "deep text"
        let found = lines(deep, 20, .default)
        #expect(found == ["│ │ │ │ │ deep text"])
        let list = (0..<50).map { String(repeating: "  ", count: $0) + "- x" }.joined(separator: "\n")
        #expect(lines(list, 20).allSatisfy { TerminalText.width(of: $0) <= 20 })
    }

    @Test func `lines of code are cut or wrapped, and keep their spaces`() {
        let code = "```\n  abcdefghij\n\tx\n\ny  \n```"
        var renderer = TerminalRenderer(width: 8)
        #expect(renderer.render(Document(code), style: .init()) == "  abcde…\n    x\n\ny")
        renderer.longCode = .wrap
        #expect(renderer.render(Document(code), style: .init()) == "  abcdef\nghij\n    x\n\ny")
    }

    @Test func `tabs in code go to columns of four`() {
        #expect(lines("```\na\tb\n日本\tc\n\t\td\n```", 40) == ["a   b", "日本    c", "        d"])
    }

    @Test func `a thematic break takes the whole width`() {
        #expect(lines("---", 5) == ["─────"])
        #expect(lines("> ---", 5, .default) == ["│ ───"])
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

    /// A person has checked these.
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
    func `headings show their levels at each width, with and without colors`(width: Int, color: TerminalRenderer.Color)
    {
        let output = TerminalRenderer(width: width, color: color).render(Document(Self.markdown))
        #expect(shown(output) == Self.snapshots[width])
    }

    @Test func `in plain text, headings show their levels, with underlines of limited length`() {
        #expect(PlainText(Document(Self.markdown)).string == Self.snapshots[40])
        let long = PlainText(Document("# \(String(repeating: "words ", count: 100))")).string.split(separator: "\n")
        #expect(long.count == 2 && long[0].count == 599 && long[1] == String(repeating: "═", count: 40))
    }

    @Test func `the underline of a heading is where its text is`() {
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

    @Test func `a heading with a border has no other mark, and an empty heading has no underline`() {
        let bordered = StyleSheet.default.setting(block: [
            .headings: [.border(.init(edges: [.bottom], color: .primary))]
        ])
        let renderer = TerminalRenderer(width: 4)
        #expect(renderer.render(Document("# a\n\n### b"), style: bordered) == "a\n────\n\nb\n────")
        #expect(renderer.render(Document("#\n\na")) == "\n\na")
    }

    @Test func `a heading has no mark if it would leave no room for text`() {
        #expect(TerminalRenderer(width: 10).render(Document("###### abc")) == "abc")
        #expect(TerminalRenderer(width: 1).render(Document("# ab")) == "a\nb\n═")
    }

    @Test func `headings show strikethrough and links like other text`() {
        let output = TerminalRenderer(width: 40).render(Document("# ~~a~~ [b](c)"))
        #expect(output == "~~a~~ b <c>\n═══════════")
    }
}

@Suite struct `Tables in a terminal` {
    private func lines(_ markdown: String, _ width: Int, border: StyleSheet.Border? = .init(edges: [])) -> [String] {
        let style = StyleSheet().setting(block: [.table: border.map { [.border($0)] } ?? []])
        return TerminalRenderer(width: width).render(Document(markdown), style: style)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test func `columns have the width that they need if there is room`() {
        #expect(
            lines("| a | long name | 3 |\n|---|:-:|--:|\n| bb | x | 100 |", 80)
                == ["a  │ long name │   3", "───┼───────────┼────", "bb │     x     │ 100"])
    }

    @Test func `a table without a border has no lines`() {
        #expect(lines("| a | b |\n|-|-|\n| c | d |", 80, border: nil) == ["a  b", "c  d"])
    }

    @Test func `a table has the edges of its border`() {
        #expect(
            lines("| a |\n|-|\n| c |", 80, border: .init(edges: [.leading, .trailing]))
                == ["│ a │", "├───┤", "│ c │"])
        #expect(
            lines("| a |\n|-|\n| c |", 80, border: .init()) == ["┌───┐", "│ a │", "├───┤", "│ c │", "└───┘"])
    }

    @Test func `cells wrap in the columns that need the most room`() {
        #expect(
            lines("| id | text |\n|--|--|\n| 1 | one two three four five |\n| 2 | six |", 20)
                == [
                    "id │ text", "───┼────────────────", "1  │ one two three", "   │ four five", "2  │ six",
                ])
    }

    @Test func `columns that both need more share the room`() {
        let found = lines("| a b c d e f g h i | 1 2 3 4 5 6 7 8 9 |\n|--|--|\n| x | y |", 23)
        #expect(found[0] == "a b c d e  │ 1 2 3 4 5")
        #expect(found[1] == "f g h i    │ 6 7 8 9")
    }

    @Test func `columns with more text get more room`() {
        let text = Array(repeating: "word", count: 16).joined(separator: " ")
        let found = lines("| option | default | |\n|--|--|--|\n| --one two | the third word | \(text) |", 50)
        // With even shares, the text would have 14 columns and 6 lines.
        #expect(found.count == 2 + 4 && found[2] == "--one two │ the      │ word word word word word", "\(found)")
    }

    @Test func `a long word gets its width at the expense of short words`() {
        let found = lines("| a b c d e f g h i | incomprehensible |\n|--|--|\n| x | y |", 33)
        #expect(found.contains { $0.contains("incomprehensible") || $0.contains("incomprehensibl") })
        #expect(found.allSatisfy { TerminalText.width(of: $0) <= 33 })
    }

    @Test func `rows become records if columns would be too narrow`() {
        #expect(
            lines("| one | two | three |\n|--|--|--|\n| aaaaaa | bbbbbb | cccccc |\n| d | e | f |", 14)
                == [
                    "one: aaaaaa", "two: bbbbbb", "three: cccccc", "──────────", "one: d", "two: e", "three: f",
                ])
    }

    @Test func `rows become records if columns of less than ten characters would break words`() {
        let table = "| name | environment |\n|--|--|\n| one two three | x |"
        #expect(
            lines(table, 20) == [
                "name   │ environment", "───────┼────────────", "one    │ x", "two    │", "three  │",
            ])
        #expect(lines(table, 17) == ["name: one two", "three", "environment: x"])
        #expect(lines("| a | b |\n|--|--|\n| \(String(repeating: "x", count: 40)) | y |", 14)[0] == "a          │ b")
        #expect(lines("| a | b |\n|--|--|\n| \(String(repeating: "日", count: 9)) | y |", 12)[0] == "a        │ b")
    }

    @Test func `long names repeated in records add at most as many bytes as the text has, or 100 kB`() {
        let name = String(repeating: "long ", count: 200) + "name"
        let header = "| \(name) |" + String(repeating: "incomprehensible |", count: 9)
        func count(_ rows: Int) -> Int {
            let table =
                header + "\n" + String(repeating: "|-", count: 10) + "|\n" + String(repeating: "| x |\n", count: rows)
            let found = lines(table, 80)
            #expect(found.count { $0 == "incomprehensible:" } == 9 * rows)
            #expect(found.count { $0.hasSuffix("name: x") } + found.count { $0 == "…: x" } == rows)
            return found.count { $0.hasSuffix("name: x") }
        }
        #expect(count(100) == 100)
        #expect(count(300) == 110)
    }

    @Test func `a table with only a header shows it`() {
        #expect(lines("| one | two |\n|--|--|", 40) == ["one │ two", "────┼────"])
        #expect(lines("| oneoneone | twotwotwo |\n|--|--|", 9) == ["oneoneone", "twotwotwo"])
    }

    @Test func `columns are measured and aligned with wide characters`() {
        #expect(
            lines("| 日本 | b |\n|--:|--|\n| x | 👍🏽 |", 40) == ["日本 │ b", "─────┼───", "   x │ 👍🏽"])
    }

    @Test func `a table in a quote has its bar`() {
        let output = TerminalRenderer(width: 40).render(
            Document("> | a |\n> |-|\n> | b |"), style: .default.setting(block: [.table: [.border(.init(edges: []))]]))
        #expect(output == "│ a\n│ ─\n│ b")
    }
}

@Suite struct `Plain text of a document` {
    private func text(_ markdown: String, width: Int? = nil) -> String {
        PlainText(Document(markdown), width: width).string
    }

    @Test(arguments: [
        ("# a *b*\n\n`c` ~~d~~", "a b\n═══\n\nc ~~d~~"),
        ("- a\n- b\n  1. c", "• a\n• b\n  1. c"),
        ("- [x] a", "☑ a"),
        ("> a\n> b\n>\n> c", "> a b\n>\n> c"),
        ("[a](http://b) <http://c>", "a <http://b> http://c"),
        ("| a | bb |\n|--|--:|\n| ccc | d |", "┌─────┬────┐\n│ a   │ bb │\n├─────┼────┤\n│ ccc │  d │\n└─────┴────┘"),
        ("```\ncode  x\n```", "code  x"),
        ("![a](b)", "a <b>"),
        ("a[^1]\n\n[^1]: b", "a¹\n\n────────────────────────────────────────\n1. b"),
        ("", ""),
    ])
    func `plain text can be read without any style`(_ markdown: String, _ expected: String) {
        #expect(text(markdown) == expected)
    }

    @Test func `lines end only where they do in the document, unless there is a width`() {
        let long = String(repeating: "word ", count: 200) + "end"
        #expect(text(long) == long)
        #expect(text(long, width: 30).split(separator: "\n").allSatisfy { $0.count <= 30 })
    }

    @Test func `a table with many short cells below a long one isn't mostly spaces`() {
        func size(_ count: Int) -> Int {
            text("|\(String(repeating: "a", count: count))|b|\n|-|-|\n" + String(repeating: "|c|d|\n", count: count))
                .utf8.count
        }
        #expect(size(300) > 300 * 300)
        #expect(size(4_000) < 500_000)
        #expect(size(8_000) < 500_000)
    }

    @Test func `without a width, centered text is at the beginning of its line`() {
        let style = StyleSheet.default.setting(block: [.paragraph: [.alignment(.center), .leadingIndent(.em(1))]])
        #expect(PlainText(StyledText(Document("a"), style: style)).string == "  a")
    }
}
