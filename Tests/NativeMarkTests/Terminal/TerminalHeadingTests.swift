import NativeMark
import Testing

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
