@testable import NativeMark
import Testing

/// Every style under every selector, as `StyledText` shows it: what has the style, what inherits it, and that nothing else does.
@Suite struct `Styles in styled text` {
    /// A style of text and what it changes in body text of 17 points.
    struct TextRow: Sendable, CustomTestStringConvertible {
        var style: StyleSheet.InlineStyle
        var change: @Sendable (inout ResolvedTextStyle) -> Void

        init(_ style: StyleSheet.InlineStyle, _ change: @escaping @Sendable (inout ResolvedTextStyle) -> Void) {
            (self.style, self.change) = (style, change)
        }

        var testDescription: String { "\(style)" }
    }

    /// A style of a block and what it changes in one of body text.
    struct BlockRow: Sendable, CustomTestStringConvertible {
        var style: StyleSheet.BlockStyle
        var change: @Sendable (inout ResolvedBlockStyle) -> Void

        init(_ style: StyleSheet.BlockStyle, _ change: @escaping @Sendable (inout ResolvedBlockStyle) -> Void) {
            (self.style, self.change) = (style, change)
        }

        var testDescription: String { "\(style)" }
    }

    static let textRows: [TextRow] = [
        TextRow(.textStyle(.title2)) { ($0.textStyle, $0.fontSize) = (.title2, 22) },
        TextRow(.textStyle(.caption2)) { ($0.textStyle, $0.fontSize) = (.caption2, 11) },
        TextRow(.color(.rgb(0x010203))) { $0.color = .rgb(red: 1, green: 2, blue: 3) },
        TextRow(.color(.ansi(.brightWhite))) { $0.color = .ansi(.brightWhite) },
        TextRow(.inlineBackground(.rgb(0xFF00FE))) { $0.background = .rgb(red: 255, green: 0, blue: 254) },
        TextRow(.kerning(.em(0.5))) { $0.kerning = 8.5 },
        TextRow(.kerning(.points(-2))) { $0.kerning = -2 },
        TextRow(.baseline(.em(-0.25))) { $0.baseline = -4.25 },
        TextRow(.baseline(.points(3))) { $0.baseline = 3 },
        TextRow(.fontSize(.em(2))) { $0.fontSize = 34 },
        TextRow(.fontSize(.points(10))) { $0.fontSize = 10 },
        TextRow(.fontDesign(.serif)) { $0.fontDesign = .serif },
        TextRow(.fontFamily("Avenir Next")) { $0.fontFamily = "Avenir Next" },
        TextRow(.fontWeight(.light)) { $0.fontWeight = .light },
        TextRow(.fontWidth(.condensed)) { $0.fontWidth = .condensed },
        TextRow(.bold(true)) { $0.fontWeight = .bold },
        TextRow(.italic(true)) { $0.isItalic = true },
        TextRow(.fontDesign(.monospaced)) { $0.fontDesign = .monospaced },
        TextRow(.underline(true)) { $0.isUnderlined = true },
        TextRow(.strikethrough(true)) { $0.isStruckThrough = true },
    ]

    static let blockRows: [BlockRow] =
        textRows.map { row in BlockRow(.text(row.style)) { row.change(&$0.text) } } + [
            BlockRow(.alignment(.center)) { $0.alignment = .center },
            BlockRow(.alignment(.trailing)) { $0.alignment = .trailing },
            BlockRow(.alignment(.justified)) { $0.alignment = .justified },
            BlockRow(.firstLineIndent(.em(-1))) { $0.firstLineIndent = -17 },
            BlockRow(.leadingIndent(.em(2))) { $0.leadingIndent = 34 },
            BlockRow(.trailingIndent(.points(3))) { $0.trailingIndent = 3 },
            BlockRow(.spacingBefore(.em(0.5))) { $0.spacingBefore = 8.5 },
            BlockRow(.spacingAfter(.points(4))) { $0.spacingAfter = 4 },
            BlockRow(.lineSpacing(.em(1))) { $0.lineSpacing = 17 },
            BlockRow(.lineHeight(1.5)) { $0.lineHeight = 1.5 },
            BlockRow(.hyphenation(true)) { $0.isHyphenated = true },
            BlockRow(.marker(.none)) { $0.marker = StyleSheet.Marker.none },
            BlockRow(.marker(.bullets(["+"]))) { $0.marker = .bullets(["+"]) },
            BlockRow(.marker(.numbers([.lowercaseRoman]))) { $0.marker = .numbers([.lowercaseRoman]) },
            BlockRow(.border(.init(edges: [.top, .trailing], width: .em(2), color: .ansi(.red)))) {
                $0.border = .init(edges: [.top, .trailing], width: 34, color: .ansi(.red))
            },
            BlockRow(.padding(.init(top: .points(1), leading: .em(1), bottom: .points(2), trailing: .em(2)))) {
                $0.padding = .init(top: 1, leading: 17, bottom: 2, trailing: 34)
            },
            BlockRow(.background(.ansi(.cyan))) { $0.background = .ansi(.cyan) },
        ]

    @Test func `the tables have every style there is`() {
        #expect(Set(Self.textRows.map(\.style.property)) == Set(StyleSheet.InlineStyle.Property.allCases))
        let properties =
            StyleSheet.InlineStyle.Property.allCases.map(StyleSheet.BlockStyle.Property.text)
            + StyleSheet.BlockStyle.BlockProperty.allCases.map(StyleSheet.BlockStyle.Property.block)
        #expect(Set(Self.blockRows.map(\.style.property)) == Set(properties))
    }

    // MARK: Text

    /// A text in which one run, `x` or the number of a footnote, is what the selector is about.
    private func sample(_ selector: StyleSheet.InlineSelector) -> (markdown: String, run: String) {
        switch selector {
        case .emphasis: ("a *x* b", "x")
        case .strong: ("a **x** b", "x")
        case .code: ("a `x` b", "x")
        case .link: ("a [x](y) b", "x")
        case .image: ("a ![x](y) b", "x")
        case .strikethrough: ("a ~~x~~ b", "x")
        case .footnoteReference: ("a[^n] b\n\n[^n]: c", "1")
        }
    }

    @Test(arguments: textRows, StyleSheet.InlineSelector.allCases)
    func `a style of text is on what its selector names, and on nothing else`(
        _ row: TextRow, _ selector: StyleSheet.InlineSelector
    ) {
        let (markdown, run) = sample(selector)
        let text = StyledText(Document(markdown), style: StyleSheet().setting(inline: [selector: [row.style]]))
        var changed = ResolvedTextStyle()
        row.change(&changed)

        #expect(changed != ResolvedTextStyle())
        for found in text.runs {
            #expect(found.style == (text.string(of: found) == run ? changed : ResolvedTextStyle()))
        }
        #expect(text.runs.contains { text.string(of: $0) == run })
    }

    @Test(arguments: textRows, StyleSheet.InlineSelector.allCases)
    func `an inner rule wins over one of the block, and leaves its other styles`(
        _ row: TextRow, _ selector: StyleSheet.InlineSelector
    ) {
        let (markdown, run) = sample(selector)
        let outer: [StyleSheet.BlockStyle] = [
            .textStyle(.title1), .color(.ansi(.red)), .inlineBackground(.ansi(.blue)), .kerning(.points(1)),
            .baseline(.points(1)), .bold(true), .italic(true), .fontDesign(.rounded), .fontFamily("Georgia"),
            .underline(true), .strikethrough(true),
        ]
        let rules = StyleSheet().setting(block: [.document: outer])
        let base = StyledText(Document("a"), style: rules).runs[0].style
        let text = StyledText(Document(markdown), style: rules.setting(inline: [selector: [inverted(row.style)]]))
        var changed = base
        switch row.style {
        case .bold: changed.fontWeight = .regular
        case .italic: changed.isItalic = false
        case .fontSize(.em): changed.fontSize = 56
        case .underline: changed.isUnderlined = false
        case .strikethrough: changed.isStruckThrough = false
        case .kerning(.em): changed.kerning = 14
        case .baseline(.em): changed.baseline = -7
        case .fontDesign:
            changed.fontFamily = nil
            row.change(&changed)
        case .textStyle, .fontSize, .fontFamily, .fontWeight, .fontWidth, .color, .inlineBackground, .kerning,
            .baseline:
            row.change(&changed)
        }

        for found in text.runs { #expect(found.style == (text.string(of: found) == run ? changed : base)) }
    }

    /// The same style, switched off if it can be.
    private func inverted(_ style: StyleSheet.InlineStyle) -> StyleSheet.InlineStyle {
        switch style {
        case .bold(let isOn): .bold(!isOn)
        case .italic(let isOn): .italic(!isOn)
        case .underline(let isOn): .underline(!isOn)
        case .strikethrough(let isOn): .strikethrough(!isOn)
        default: style
        }
    }

    // MARK: Blocks

    /// A document with every kind of block.
    private static let everything = """
        # a
        ## b
        ### c
        #### d
        ##### e
        ###### f

        text[^n]

        > quote

            code

        1. one

           more

        - two

          more

        ---

        | h | i |
        |---|---|
        | j | k |

        [^n]: note
        """

    /// The selectors of a block, all of which must be in the documentation's list.
    private func selectors(_ kind: StyledText.Kind) -> [StyleSheet.BlockSelector] {
        switch kind {
        case .document: [.document]
        case .paragraph: [.paragraph]
        case .heading(let level): [.headings, .heading(level: level)]
        case .blockQuote: [.blockQuote]
        case .codeBlock: [.codeBlock]
        case .list(let list): [.lists, .list(list.isOrdered ? .ordered : .bullets)]
        case .item: [.item]
        case .thematicBreak: [.thematicBreak]
        case .table: [.table]
        case .tableRow(let row): [row == 0 ? .tableHeader : .tableRow]
        case .tableCell: [.tableCell]
        case .footnotes: [.footnotes]
        case .footnote: [.footnote]
        }
    }

    private func matches(_ selector: StyleSheet.BlockSelector, _ kind: StyledText.Kind) -> Bool {
        selectors(kind).contains(selector)
    }

    @Test func `a document with every kind of block has a block for every selector`() {
        let blocks = StyledText(Document(Self.everything)).blocks
        #expect(Set(blocks.flatMap { selectors($0.kind) }) == Set(StyleSheet.BlockSelector.allCases))
    }

    @Test(arguments: blockRows, StyleSheet.BlockSelector.allCases)
    func
        `a style of a block is on what its selector names, what is inherited is on all inside, and nothing else changes`(
            _ row: BlockRow, _ selector: StyleSheet.BlockSelector
        )
    {
        let text = StyledText(
            Document(Self.everything), style: StyleSheet().setting(block: [selector: [row.style]]))
        let plain = ResolvedBlockStyle(text: ResolvedTextStyle())
        var changed = plain
        row.change(&changed)
        var inside = ResolvedBlockStyle(text: changed.text)
        (inside.alignment, inside.lineSpacing) = (changed.alignment, changed.lineSpacing)
        (inside.lineHeight, inside.isHyphenated) = (changed.lineHeight, changed.isHyphenated)

        #expect(changed != plain)
        #expect(text.blocks.contains { matches(selector, $0.kind) })
        for (index, block) in text.blocks.enumerated() {
            let isInside = text.path(ofBlock: index).dropLast().contains { matches(selector, $0.kind) }
            #expect(
                block.style == (matches(selector, block.kind) ? changed : isInside ? inside : plain), "\(block.kind)")
        }
        for run in text.runs { #expect(run.style == text.blocks[run.block].style.text) }
    }

    @Test(arguments: 1...6)
    func `a heading has the rules of all headings and those of its level, which win`(_ level: Int) {
        let sheet = StyleSheet().setting(block: [
            .heading(level: level): [.color(.ansi(.red)), .spacingAfter(.points(2))],
            .headings: [.color(.ansi(.blue)), .spacingAfter(.points(1)), .bold(true), .spacingBefore(.points(3))],
        ])
        var levels: Set<Int> = []
        for block in StyledText(Document(Self.everything), style: sheet).blocks {
            guard case .heading(let found) = block.kind else { continue }
            levels.insert(found)
            #expect(block.style.text.color == (found == level ? .ansi(.red) : .ansi(.blue)))
            #expect(block.style.spacingAfter == (found == level ? 2 : 1))
            #expect(block.style.text.isBold && block.style.spacingBefore == 3)
        }
        #expect(levels == Set(1...6))
    }
}
