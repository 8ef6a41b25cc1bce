import NativeMark
import Testing

/// Every style of a sheet, as the terminal shows it: `⎋3m` stands for the sequence of SGR 3.
@Suite struct `Styles in a terminal` {
    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var markdown: String
        var style: StyleSheet
        var output: String
        var color = TerminalRenderer.Color.full
        var width = 20

        var testDescription: String { what }

        init(
            _ what: String, _ markdown: String, inline: [StyleSheet.InlineSelector: [StyleSheet.InlineStyle]],
            _ output: String, color: TerminalRenderer.Color = .full
        ) {
            (self.what, self.markdown, self.output, self.color) = (what, markdown, output, color)
            style = StyleSheet().setting(inline: inline)
        }

        init(
            _ what: String, _ markdown: String, block: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]],
            _ output: String, width: Int = 20, color: TerminalRenderer.Color = .full
        ) {
            (self.what, self.markdown, self.output, self.width, self.color) = (what, markdown, output, width, color)
            style = StyleSheet().setting(block: block)
        }
    }

    @Test(arguments: [
        Row("bold", "a *b*", inline: [.emphasis: [.bold(true)]], "a ⎋1mb⎋0m"),
        Row("italic", "a **b**", inline: [.strong: [.italic(true)]], "a ⎋3mb⎋0m"),
        Row("underline", "a `b`", inline: [.code: [.underline(true)]], "a ⎋4mb⎋0m"),
        Row("strikethrough", "a ~~b~~", inline: [.strikethrough: [.strikethrough(true)]], "a ⎋9mb⎋0m"),
        Row(
            "a wavy underline with a color", "a `b`",
            inline: [.code: [.underline(.init(.wavy, color: .rgb(0x010203)))]], "a ⎋4;4:3;58:2::1:2:3mb⎋0m"),
        Row(
            "a dotted underline in one of the sixteen colors", "a `b`",
            inline: [.code: [.underline(.init(.dotted, color: .ansi(.red)))]], "a ⎋4;4:4;58:5:1mb⎋0m"),
        Row(
            "a wavy underline with 256 colors", "a `b`", inline: [.code: [.underline(.init(.wavy))]], "a ⎋4mb⎋0m",
            color: .ansi256),
        Row("several together", "*b*", inline: [.emphasis: [.bold(true), .italic(true)]], "⎋1;3mb⎋0m"),
        Row("monospaced, which a terminal is anyway", "`b`", inline: [.code: [.fontDesign(.monospaced)]], "b"),
        Row("a color", "*b*", inline: [.emphasis: [.color(.rgb(0x010203))]], "⎋38;2;1;2;3mb⎋0m"),
        Row(
            "a color behind text", "*b*", inline: [.emphasis: [.inlineBackground(.rgb(0x010203))]], "⎋48;2;1;2;3mb⎋0m"),
        Row("one of the sixteen", "*b*", inline: [.emphasis: [.color(.ansi(.red))]], "⎋31mb⎋0m"),
        Row(
            "a bright one, behind text", "*b*", inline: [.emphasis: [.inlineBackground(.ansi(.brightCyan))]],
            "⎋106mb⎋0m"),
        Row("the color that text has anyway", "*b*", inline: [.emphasis: [.color(.primary)]], "b"),
        Row("256 colors", "*b*", inline: [.emphasis: [.color(.rgb(0xFF0000))]], "⎋38;5;196mb⎋0m", color: .ansi256),
        Row(
            "256 colors, a gray", "*b*", inline: [.emphasis: [.color(.rgb(0x585858))]], "⎋38;5;240mb⎋0m",
            color: .ansi256),
        Row("16 colors", "*b*", inline: [.emphasis: [.color(.rgb(0xF01010))]], "⎋91mb⎋0m", color: .ansi16),
        Row(
            "struck text without text attributes", "a ~~b *c*~~ ~~d~~",
            inline: [.strikethrough: [.strikethrough(true)]],
            "a ~~b c~~ ~~d~~", color: .none),
        Row("no colors", "*b*", inline: [.emphasis: [.color(.rgb(0xF01010)), .bold(true)]], "b", color: .none),
        Row("kerning", "*abc* d", inline: [.emphasis: [.kerning(.em(0.5))]], "a b c  d", color: .none),
        Row(
            "negative kerning, which has no columns", "*one two three four five six*",
            inline: [.emphasis: [.kerning(.em(-5))]], "one two three four\nfive six", color: .none),
        Row("raised digits", "*12*", inline: [.emphasis: [.baseline(.em(0.3))]], "¹²"),
        Row("lowered digits", "*12*", inline: [.emphasis: [.baseline(.em(-0.3))]], "₁₂"),
        Row("raised letters stay", "*x2*", inline: [.emphasis: [.baseline(.em(0.3))]], "x2"),
        Row("larger text", "*b*", inline: [.emphasis: [.textStyle(.title1)]], "⎋1mb⎋0m"),
        Row("smaller text", "*b*", inline: [.emphasis: [.textStyle(.caption1)]], "⎋2mb⎋0m"),
        Row("smaller code", "`b`", inline: [.code: [.fontSize(.em(0.8)), .fontDesign(.monospaced)]], "b"),
        Row("a size in em", "*b*", inline: [.emphasis: [.fontSize(.em(1.1))]], "⎋1mb⎋0m"),
        Row("a heavy weight", "*b*", inline: [.emphasis: [.fontWeight(.semibold)]], "⎋1mb⎋0m"),
        Row("a light weight", "*b*", inline: [.emphasis: [.fontWeight(.ultraLight)]], "b"),
        Row("a family and a width", "*b*", inline: [.emphasis: [.fontFamily("A"), .fontWidth(.expanded)]], "b"),
        // Light environments have a white page.
        Row(
            "half transparent", "*b*", inline: [.emphasis: [.color(.rgb(0x0000FE, alpha: 0.5))]],
            "⎋38;2;127;127;254mb⎋0m"),
        Row(
            "half transparent in front of a color", "*b*",
            inline: [.emphasis: [.color(.rgb(0xFF0000, alpha: 0.2)), .inlineBackground(.rgb(0x0000FF))]],
            "⎋38;2;51;0;204;48;2;0;0;255mb⎋0m"),
        Row("transparent", "*b*", inline: [.emphasis: [.inlineBackground(.rgb(1, alpha: 0))]], "b"),
        Row(
            "Display P3, clipped", "*b*",
            inline: [.emphasis: [.color(.paint(.init(.displayP3(red: 0, green: 1, blue: 0))))]],
            "⎋38;2;0;255;0mb⎋0m"),
        Row(
            "a name, by its fallback", "*b*",
            inline: [.emphasis: [.color(.named("Brand", fallback: .init(.ansi(.red))))]],
            "⎋31mb⎋0m"),
        Row("a link", "[b](b)", inline: [.link: [.underline(true)]], "⎋4mb⎋0m"),
        Row("an image", "![b](b)", inline: [.image: [.italic(true)]], "⎋3mb⎋0m"),
        Row(
            "a reference to a footnote", "a[^1]\n\n[^1]: b", inline: [.footnoteReference: [.bold(true)]],
            "a⎋1m[1]⎋0m\n1. b"),
        Row(
            "inner rules win", "**a *b***",
            inline: [.strong: [.color(.ansi(.red))], .emphasis: [.color(.ansi(.blue))]], "⎋31ma ⎋0m⎋34mb⎋0m"),
    ])
    func `each text style has its sequence`(_ row: Row) {
        expect(row)
    }

    @Test(arguments: [
        Row("of the document", "b", block: [.document: [.italic(true)]], "⎋3mb⎋0m"),
        Row("of a paragraph", "b", block: [.paragraph: [.bold(true)]], "⎋1mb⎋0m"),
        Row("of a heading's level", "# a\n## b", block: [.heading(level: 2): [.bold(true)]], "# a\n⎋1m## b⎋0m"),
        Row("of all headings", "# a\n## b", block: [.headings: [.bold(true)]], "⎋1m# a⎋0m\n⎋1m## b⎋0m"),
        Row("of code", "    b", block: [.codeBlock: [.bold(true)]], "⎋1mb⎋0m"),
        Row("of a quote", "> b", block: [.blockQuote: [.bold(true)]], "⎋1mb⎋0m"),
        Row("of lists with numbers", "1. a\n\n- b", block: [.list(.ordered): [.bold(true)]], "⎋1m1. a⎋0m\n• b"),
        Row("of an item", "- a", block: [.item: [.bold(true)]], "⎋1m• a⎋0m"),
        Row("of a line across", "---", block: [.thematicBreak: [.bold(true)]], "⎋1m────────────────────⎋0m"),
        Row(
            "a dashed line of half the width", "---",
            block: [.thematicBreak: [.divider(.rule(color: .ansi(.red), width: .fraction(0.5), pattern: .dashed))]],
            "  ⎋31m╌╌╌╌╌⎋0m", width: 10),
        Row(
            "a double line of a fixed width, behind", "---",
            block: [
                .thematicBreak: [.divider(.rule(width: .length(.em(2)), pattern: .double, alignment: .trailing))]
            ], "      ════", width: 10),
        Row("an ornament", "---", block: [.thematicBreak: [.divider(.ornament("* *"))]], "   * *", width: 10),
        Row(
            "an ornament in front", "a\n\n---\n\nb",
            block: [.thematicBreak: [.divider(.ornament("*\n\t*", alignment: .leading)), .italic(true)]],
            "a\n⎋3m*  *⎋0m\nb", width: 10),
        Row("of a table", "|a|\n|-|\n|b|", block: [.table: [.bold(true)]], "⎋1ma⎋0m\n⎋1mb⎋0m"),
        Row(
            "lines around a table and below its header", "|a|b|\n|-|-|\n|c|d|\n|e|f|",
            block: [.table: [.tableLines(.init([.outer, .header], color: .primary))]],
            "┌──────┐\n│ a  b │\n├──────┤\n│ c  d │\n│ e  f │\n└──────┘"),
        Row(
            "double lines between all cells", "|a|b|\n|-|-|\n|c|d|\n|e|f|",
            block: [.table: [.tableLines(.init(color: .primary, pattern: .double))]],
            "╔═══╦═══╗\n║ a ║ b ║\n╠═══╬═══╣\n║ c ║ d ║\n╠═══╬═══╣\n║ e ║ f ║\n╚═══╩═══╝"),
        Row(
            "dashed lines between columns, in a round border", "|a|b|\n|-|-|\n|c|d|",
            block: [
                .table: [
                    .tableLines(.init([.outer, .columns], color: .primary, pattern: .dashed)),
                    .border(.init(color: .primary, cornerRadius: .points(3))),
                ]
            ], "╭───┬───╮\n│ a ╎ b │\n│ c ╎ d │\n╰───┴───╯"),
        Row(
            "every other row on a background", "|a|\n|-|\n|b|\n|c|\n|d|",
            block: [.table: [.alternateRowBackground(.ansi(.blue))]], "a\nb\n⎋44mc⎋0m\nd"),
        Row("of a table's header", "|a|\n|-|\n|b|", block: [.tableHeader: [.bold(true)]], "⎋1ma⎋0m\nb"),
        Row("of a table's rows", "|a|\n|-|\n|b|", block: [.tableRow: [.bold(true)]], "a\n⎋1mb⎋0m"),
        Row("of cells", "|a|\n|-|\n|b|", block: [.tableCell: [.bold(true)]], "⎋1ma⎋0m\n⎋1mb⎋0m"),
        Row("of footnotes", "a[^1]\n\n[^1]: b", block: [.footnotes: [.bold(true)]], "a[1]\n⎋1m1. b⎋0m"),
        Row("of a footnote", "a[^1]\n\n[^1]: b", block: [.footnote: [.bold(true)]], "a[1]\n⎋1m1. b⎋0m"),
        Row("alignment in the middle", "ab", block: [.paragraph: [.alignment(.center)]], "    ab", width: 10),
        Row("alignment behind", "ab", block: [.document: [.alignment(.trailing)]], "        ab", width: 10),
        Row("a justified text", "ab", block: [.paragraph: [.alignment(.justified)]], "ab", width: 10),
        Row(
            "room in front of the first line", "a b c d e f", block: [.paragraph: [.firstLineIndent(.em(1))]],
            "  a b c d\ne f", width: 10),
        Row(
            "room in front", "a b c d e f", block: [.paragraph: [.leadingIndent(.em(1))]], "  a b c d\n  e f", width: 10
        ),
        Row(
            "a hanging indent", "a b c d e f g",
            block: [.paragraph: [.leadingIndent(.em(1)), .firstLineIndent(.em(-1))]], "a b c d e\n  f g", width: 10),
        Row("room behind", "a b c d e f", block: [.paragraph: [.trailingIndent(.em(1))]], "a b c d\ne f", width: 10),
        Row(
            "room between blocks, the larger of two", "a\n\n# b",
            block: [.paragraph: [.spacingAfter(.em(2))], .headings: [.spacingBefore(.em(1))]], "a\n\n\n# b"),
        Row(
            "room above the first block and below the last", "a\n\nb",
            block: [
                .paragraph: [.spacingBefore(.em(1)), .spacingAfter(.em(1))], .firstBlock: [.spacingBefore(.em(2))],
                .lastBlock: [.spacingAfter(.em(1))],
            ], "\n\na\n\nb\n"),
        Row(
            "of tasks, and of lists that are tight, and in others", "- [x] a\n- b\n  - c",
            block: [.taskItem(.done): [.bold(true)], .list(level: 2): [.italic(true)]],
            "⎋1m☑ a⎋0m\n• b\n  ⎋3m• c⎋0m"),
        Row("room between lines", "a\\\nb", block: [.paragraph: [.lineSpacing(.em(1))]], "a\n\nb"),
        Row("numbers", "1. a\n2. b", block: [.lists: [.marker(.numbers([.lowercaseRoman]))]], " i. a\nii. b"),
        Row(
            "numbers with a prefix and a suffix", "7. a\n8. b",
            block: [.lists: [.marker(.numbers([.octal], prefix: "§", suffix: " –"))]], " §7 – a\n§10 – b"),
        Row("bullets", "- a\n  - b", block: [.lists: [.marker(.bullets(["+", "o"]))]], "+ a\n  o b"),
        Row(
            "drawn bullets", "- a\n  - b\n    - c", block: [.lists: [.marker(.bullets([.disc, .circle, .square]))]],
            "• a\n  ◦ b\n    ▪ c"),
        Row(
            "texts of tasks", "- [ ] a\n- [x] b", block: [.lists: [.taskMarker(.texts(open: "todo", done: "ok"))]],
            "todo a\nok   b"),
        Row(
            "colors of tasks", "- [ ] a\n- [x] b\n- c",
            block: [.lists: [.taskMarker(.checkbox(open: .ansi(.red), done: .ansi(.blue)))]],
            "⎋31m☐ ⎋0ma\n⎋34m☑ ⎋0mb\n• c"),
        Row(
            "a task without a text, after a number", "1. [ ] a\n2. [x] b",
            block: [.lists: [.taskMarker(.texts(open: "", done: "x"))]], " 1.  a\n2. x b"),
        Row("no markers", "- a\n- b", block: [.list(.bullets): [.marker(.none)]], "a\nb"),
        Row(
            "a bar in front", "> a\n> \n> b",
            block: [
                .blockQuote: [
                    .border(.init(edges: [.leading], color: .ansi(.blue))), .padding(.init(leading: .em(0.5))),
                ]
            ], "⎋34m│ ⎋0ma\n⎋34m│ ⎋0mb"),
        Row(
            "a box", "a", block: [.paragraph: [.border(.init(color: .primary))]], "┌────────┐\n│a       │\n└────────┘",
            width: 10),
        Row(
            "a box with round corners and dashes", "a",
            block: [
                .paragraph: [.border(.init(color: .primary, pattern: .dashed, cornerRadius: .points(4)))]
            ], "╭╌╌╌╌╌╌╌╌╮\n╎a       ╎\n╰╌╌╌╌╌╌╌╌╯", width: 10),
        Row(
            "a double box", "a", block: [.paragraph: [.border(.init(color: .primary, pattern: .double))]],
            "╔════════╗\n║a       ║\n╚════════╝", width: 10),
        Row(
            "a dotted bar", "> a",
            block: [.blockQuote: [.border(.init(edges: [.leading], color: .primary, pattern: .dotted))]],
            "┊a", width: 10),
        Row(
            "a box around blocks, with room between these only", "> a\n>\n> b\n\nc",
            block: [
                .blockQuote: [.border(.init(color: .primary))],
                .paragraph: [.spacingBefore(.em(1)), .spacingAfter(.em(1))],
            ], "┌────────┐\n│a       │\n│        │\n│b       │\n└────────┘\n\nc", width: 10),
        Row(
            "a padded box around blocks with room", "> - a\n\nc",
            block: [
                .blockQuote: [.padding(.init(top: .em(1), bottom: .em(1))), .background(.ansi(.blue))],
                .item: [.spacingBefore(.em(1)), .spacingAfter(.em(2))],
            ], "⎋44m    ⎋0m\n⎋44m• a ⎋0m\n⎋44m    ⎋0m\n\n\nc", width: 4),
        Row(
            "a line below", "# a", block: [.headings: [.border(.init(edges: [.bottom], color: .primary))]],
            "a\n──────────", width: 10),
        Row(
            "room inside a box", "a", block: [.paragraph: [.border(.init(color: .primary)), .padding(.all(.em(1)))]],
            "┌────────────────┐\n│                │\n│  a             │\n│                │\n└────────────────┘",
            width: 18),
        Row(
            "a background of the whole block", "    a", block: [.codeBlock: [.background(.ansi(.blue))]],
            "⎋44ma         ⎋0m", width: 10),
        Row(
            "a background of the letters", "    a", block: [.codeBlock: [.inlineBackground(.ansi(.blue))]], "⎋44ma⎋0m",
            width: 10),
        Row(
            "a background where there are no colors", "    a", block: [.codeBlock: [.background(.ansi(.blue))]], "a",
            color: .none),
    ])
    func `each block style is shown`(_ row: Row) {
        expect(row)
    }

    @Test func `colors differ between light and dark`() {
        let style = StyleSheet().setting(inline: [
            .emphasis: [.color(.dynamic(light: .ansi(.black), dark: .ansi(.white)))]
        ])
        let renderer = TerminalRenderer(width: 80, color: .ansi16)
        let document = Document("*a*")

        #expect(visible(renderer.render(document, style: style, environment: .init(appearance: .light))) == "⎋30ma⎋0m")
        #expect(visible(renderer.render(document, style: style, environment: .init(appearance: .dark))) == "⎋37ma⎋0m")
    }

    @Test func `in dark mode, translucent colors are mixed with black, and increased contrast has its own colors`() {
        let paint = StyleSheet.Paint(
            light: .rgb(1), dark: .rgb(0xFF0000, alpha: 0.4), darkIncreasedContrast: .rgb(0xFF0000))
        let style = StyleSheet().setting(inline: [.emphasis: [.color(.paint(paint))]])
        let renderer = TerminalRenderer(width: 80, color: .full)
        func shown(_ environment: StyleSheet.Environment) -> String {
            visible(renderer.render(Document("*a*"), style: style, environment: environment))
        }
        #expect(shown(.init(appearance: .dark)) == "⎋38;2;102;0;0ma⎋0m")
        #expect(shown(.init(appearance: .dark, contrast: .increased)) == "⎋38;2;255;0;0ma⎋0m")
    }

    @Test func `lengths are relative to the document's font size`() {
        let style = StyleSheet().setting(block: [
            .document: [.fontSize(.points(12))], .paragraph: [.spacingAfter(.points(12)), .leadingIndent(.points(12))],
        ])
        let renderer = TerminalRenderer(width: 80, color: .full)
        #expect(visible(renderer.render(Document("a\n\nb"), style: style)) == "  a\n\n  b")
        let environment = StyleSheet.Environment(platform: .macOS)
        #expect(
            renderer.render(Document("# a\n\nb"), environment: environment) == renderer.render(Document("# a\n\nb")))
    }

    @Test func `lengths in em look the same at every size category`() {
        let document = Document("# a\n\nb *c*\n\n> - d\n> - e\n\nf[^1]\n\n[^1]: g")
        let renderer = TerminalRenderer(width: 80, color: .full)
        let usual = renderer.render(document)
        for category in [StyleSheet.SizeCategory.large, .xLarge, .accessibility1, .accessibility5] {
            #expect(shown(renderer.render(document, environment: .init(sizeCategory: category))) == shown(usual))
        }
    }

    private func expect(_ row: Row) {
        let output = TerminalRenderer(width: row.width, color: row.color).render(
            Document(row.markdown), style: row.style)
        #expect(visible(output) == row.output)
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
    func `the colors depend on the environment`(
        _ environment: [String: String], _ isTerminal: Bool, _ color: TerminalRenderer.Color
    ) {
        #expect(TerminalRenderer.Color.detect(environment: environment, isTerminal: isTerminal) == color)
    }
}
