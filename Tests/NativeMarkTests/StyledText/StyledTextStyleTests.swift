@testable import NativeMark
import Testing

/// Every style under every selector, as `StyledText` shows it: what has the style, what inherits it, and that nothing else does.
@Suite struct `Styles in styled text` {
    /// A text style, and what it changes in body text of 17 points.
    struct TextRow: Sendable, CustomTestStringConvertible {
        var style: StyleSheet.InlineStyle
        var change: @Sendable (inout ResolvedTextStyle) -> Void

        init(_ style: StyleSheet.InlineStyle, _ change: @escaping @Sendable (inout ResolvedTextStyle) -> Void) {
            (self.style, self.change) = (style, change)
        }

        var testDescription: String { "\(style)" }
    }

    /// A block style, and what it changes in a block of body text.
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
        TextRow(
            .inlineBackground(
                .init(
                    .ansi(.red), padding: .init(leading: .em(0.5)), cornerRadius: .points(6),
                    border: .init(edges: [.bottom], color: .ansi(.blue))))
        ) {
            $0.background = .ansi(.red)
            $0.backgroundBox = .init(
                padding: .init(leading: 8.5), cornerRadius: 6,
                border: .init(edges: [.bottom], width: 1, color: .ansi(.blue)))
        },
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
        TextRow(.underline(true)) { $0.underline = .init() },
        TextRow(.underline(.init(.wavy, color: .ansi(.red)))) {
            $0.underline = .init(pattern: .wavy, color: .ansi(.red))
        },
        TextRow(.strikethrough(true)) { $0.strikethrough = .init() },
        TextRow(
            .imageLayout(.init(.maximum(width: .em(2), height: .points(3)), alignment: .center, cornerRadius: .em(1)))
        ) {
            $0.imageLayout = .init(size: .maximum(width: 34, height: 3), alignment: .center, cornerRadius: 17)
        },
        TextRow(.imageLayout(.init(.fitWidth))) {
            $0.imageLayout = .init(size: .fitWidth, alignment: nil, cornerRadius: 0)
        },
        TextRow(.strikethrough(.init(.double))) { $0.strikethrough = .init(pattern: .double) },
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
            BlockRow(.marker(.bullets([.circle, "–"]))) { $0.marker = .bullets([.circle, .text("–")]) },
            BlockRow(.taskMarker(.checkbox(done: .ansi(.red)))) {
                $0.taskMarker = .checkbox(open: nil, done: .ansi(.red))
            },
            BlockRow(.taskMarker(.texts(open: "o", done: "d"))) { $0.taskMarker = .texts(open: "o", done: "d") },
            BlockRow(.marker(.numbers([.lowercaseRoman]))) { $0.marker = .numbers([.lowercaseRoman]) },
            BlockRow(.border(.init(edges: [.top, .trailing], width: .em(2), color: .ansi(.red)))) {
                $0.border = .init(edges: [.top, .trailing], width: 34, color: .ansi(.red))
            },
            BlockRow(.border(.init(color: .ansi(.red), pattern: .dotted, cornerRadius: .em(0.5)))) {
                $0.border = .init(
                    edges: [.top, .leading, .bottom, .trailing], width: 1, color: .ansi(.red), pattern: .dotted,
                    cornerRadius: 8.5)
            },
            BlockRow(.padding(.init(top: .points(1), leading: .em(1), bottom: .points(2), trailing: .em(2)))) {
                $0.padding = .init(top: 1, leading: 17, bottom: 2, trailing: 34)
            },
            BlockRow(.background(.ansi(.cyan))) { $0.background = .ansi(.cyan) },
            BlockRow(.divider(.rule(thickness: .em(1), color: .ansi(.red), width: .length(.em(2))))) {
                $0.divider = .rule(
                    .init(
                        thickness: 17, color: .ansi(.red), width: .length(.points(34)), pattern: .solid,
                        alignment: .center))
            },
            BlockRow(.tableLines(.init([.rows], width: .em(1), color: .ansi(.red), pattern: .dotted))) {
                $0.tableLines = .init(parts: [.rows], width: 17, color: .ansi(.red), pattern: .dotted)
            },
            BlockRow(.alternateRowBackground(.ansi(.red))) { $0.alternateRowBackground = .ansi(.red) },
            BlockRow(.divider(.ornament("⁂", alignment: .leading))) {
                $0.divider = .ornament("⁂", alignment: .leading)
            },
        ]

    @Test func `the tables have every style`() {
        #expect(Set(Self.textRows.map(\.style.property)) == Set(StyleSheet.InlineStyle.Property.allCases))
        let properties =
            StyleSheet.InlineStyle.Property.allCases.map(StyleSheet.BlockStyle.Property.text)
            + StyleSheet.BlockStyle.BlockProperty.allCases.map(StyleSheet.BlockStyle.Property.block)
        #expect(Set(Self.blockRows.map(\.style.property)) == Set(properties))
    }

    // MARK: Text

    /// A text with one run, `x` or the number of a footnote, that the selector matches.
    private func sample(_ selector: StyleSheet.InlineSelector) -> (markdown: String, run: String) {
        switch selector {
        case .emphasis: ("a *x* b", "x")
        case .strong: ("a **x** b", "x")
        case .code: ("a `x` b", "x")
        case .link: ("a [x](y) b", "x")
        case .image: ("a ![x](y) b", "x")
        case .strikethrough: ("a ~~x~~ b", "x")
        case .footnoteReference: ("a[^n] b\n\n[^n]: c", "1")
        case .token: ("    a x b", "x")
        }
    }

    /// Finds the `x` in the sample of a token.
    private func highlighter(_ selector: StyleSheet.InlineSelector) -> FixedHighlighter? {
        if case .token(let kind) = selector { FixedHighlighter(tokens: [.init(2..<3, kind)]) } else { nil }
    }

    @Test(arguments: textRows, StyleSheet.InlineSelector.allCases)
    func `a text style applies to what its selector matches, and to nothing else`(
        _ row: TextRow, _ selector: StyleSheet.InlineSelector
    ) {
        let (markdown, run) = sample(selector)
        let text = StyledText(
            Document(markdown), style: StyleSheet().setting(inline: [selector: [row.style]]),
            highlighter: highlighter(selector))
        var changed = ResolvedTextStyle()
        row.change(&changed)

        #expect(changed != ResolvedTextStyle())
        for found in text.runs {
            #expect(found.style == (text.string(of: found) == run ? changed : ResolvedTextStyle()))
        }
        #expect(text.runs.contains { text.string(of: $0) == run })
    }

    @Test(arguments: textRows, StyleSheet.InlineSelector.allCases)
    func `an inner rule overrides the block's rule and keeps its other styles`(
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
        let text = StyledText(
            Document(markdown), style: rules.setting(inline: [selector: [inverted(row.style)]]),
            highlighter: highlighter(selector))
        var changed = base
        switch row.style {
        case .bold: changed.fontWeight = .regular
        case .italic: changed.isItalic = false
        case .fontSize(.em): changed.fontSize = 56
        case .inlineBackground:
            row.change(&changed)
            // Half an em of the larger text.
            if changed.backgroundBox != nil { changed.backgroundBox?.padding.leading = 14 }
        case .imageLayout(let layout):
            row.change(&changed)
            // An em of the larger text.
            if layout.size != .fitWidth {
                changed.imageLayout = .init(size: .maximum(width: 56, height: 3), alignment: .center, cornerRadius: 28)
            }
        case .underline: changed.underline = nil
        case .strikethrough: changed.strikethrough = nil
        case .kerning(.em): changed.kerning = 14
        case .baseline(.em): changed.baseline = -7
        case .fontDesign:
            changed.fontFamily = nil
            row.change(&changed)
        case .textStyle, .fontSize, .fontFamily, .fontWeight, .fontWidth, .color, .kerning, .baseline:
            row.change(&changed)
        }

        for found in text.runs { #expect(found.style == (text.string(of: found) == run ? changed : base)) }
    }

    /// The same style, turned off if possible.
    private func inverted(_ style: StyleSheet.InlineStyle) -> StyleSheet.InlineStyle {
        switch style {
        case .bold(let isOn): .bold(!isOn)
        case .italic(let isOn): .italic(!isOn)
        case .underline: .underline(false)
        case .strikethrough: .strikethrough(false)
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

        + [ ] three

        + [x] four

        * # tight

        ---

        | h | i |
        |---|---|
        | j | k |

        [^n]: note
        """

    /// A list of every level. All are loose, because the paragraphs of tight items have no spacing.
    private static let nested =
        "x\n\n" + (0..<9).map { String(repeating: "  ", count: $0) + "- a\n\n" }.joined()
        + String(repeating: "  ", count: 9) + "b\n\n---"

    private static func sample(_ selector: StyleSheet.BlockSelector) -> String {
        if case .listLevel = selector { nested } else { everything }
    }

    /// The selectors of a block, all of which must be in the documentation's list.
    private func selectors(of index: Int, in text: StyledText) -> [StyleSheet.BlockSelector] {
        let block = text.blocks[index]
        var selectors = selectors(block.kind)
        if index == 1 { selectors.append(.firstBlock) }
        if block.parent == 0, block.end == text.blocks.count { selectors.append(.lastBlock) }
        return selectors
    }

    private func selectors(_ kind: StyledText.Kind) -> [StyleSheet.BlockSelector] {
        switch kind {
        case .document: [.document]
        case .paragraph: [.paragraph]
        case .heading(let level): [.headings, .heading(level: level)]
        case .blockQuote: [.blockQuote]
        case .codeBlock: [.codeBlock]
        case .list(let list):
            [.lists, .list(list.isOrdered ? .ordered : .bullets), .list(level: list.depth), .list(tight: list.isTight)]
        case .item(let item): [.item] + (item.task.map { [.taskItem($0)] } ?? [])
        case .thematicBreak: [.thematicBreak]
        case .table: [.table]
        case .tableRow(let row): [row == 0 ? .tableHeader : .tableRow]
        case .tableCell: [.tableCell]
        case .footnotes: [.footnotes]
        case .footnote: [.footnote]
        }
    }

    private func matches(_ selector: StyleSheet.BlockSelector, _ index: Int, in text: StyledText) -> Bool {
        selectors(of: index, in: text).contains(selector)
    }

    @Test func `a document with every kind of block has a block for every selector`() {
        let found = Set(
            [Self.everything, Self.nested].flatMap { markdown in
                let text = StyledText(Document(markdown))
                return text.blocks.indices.flatMap { selectors(of: $0, in: text) }
            })
        #expect(found == Set(StyleSheet.BlockSelector.allCases))
    }

    @Test(arguments: blockRows, StyleSheet.BlockSelector.allCases)
    func `a block style applies to what its selector matches, if inherited also inside it, and to nothing else`(
        _ row: BlockRow, _ selector: StyleSheet.BlockSelector
    ) {
        let text = StyledText(
            Document(Self.sample(selector)), style: StyleSheet().setting(block: [selector: [row.style]]))
        let plain = ResolvedBlockStyle(text: ResolvedTextStyle())
        var changed = plain
        row.change(&changed)
        var inside = ResolvedBlockStyle(text: changed.text)
        (inside.alignment, inside.lineSpacing) = (changed.alignment, changed.lineSpacing)
        (inside.lineHeight, inside.isHyphenated) = (changed.lineHeight, changed.isHyphenated)

        #expect(changed != plain)
        let matching = Set(text.blocks.indices.filter { matches(selector, $0, in: text) })
        #expect(!matching.isEmpty)
        for (index, block) in text.blocks.enumerated() {
            var outer = block.parent
            while let parent = outer, !matching.contains(parent) { outer = text.blocks[parent].parent }
            #expect(
                block.style == (matching.contains(index) ? changed : outer == nil ? plain : inside), "\(block.kind)")
        }
        for run in text.runs { #expect(run.style == text.blocks[run.block].style.text) }
    }

    @Test func `the narrowest of the selectors that match a list, an item or the last block wins`() {
        let order: [StyleSheet.BlockSelector] = [
            .lists, .list(.bullets), .list(level: 1), .list(tight: true), .lastBlock,
        ]
        for count in 1...order.count {
            var sheet = StyleSheet()
            for (number, selector) in order.prefix(count).enumerated() {
                sheet = sheet.setting(block: [selector: [.spacingAfter(.points(Double(number)))]])
            }
            let text = StyledText(Document("a\n\n- [x] b"), style: sheet)
            #expect(text.blocks[2].style.spacingAfter == Double(count - 1))
            #expect(text.ends == .init(above: 0, below: count == order.count ? 4 : 0))
        }
        let sheet = StyleSheet().setting(block: [
            .taskItem(.done): [.color(.ansi(.red))], .item: [.color(.ansi(.blue))],
            .firstBlock: [.spacingBefore(.em(1))], .paragraph: [.spacingBefore(.points(2))],
        ])
        let text = StyledText(Document("a\n\n- [x] b\n- c"), style: sheet)
        let colors = text.blocks.compactMap { block in
            if case .item = block.kind { block.style.text.color } else { nil }
        }
        #expect(colors == [.ansi(.red), .ansi(.blue)] && text.ends == .init(above: 17, below: 0))
    }

    @Test(arguments: 1...6)
    func `a heading has the rules for all headings and for its level, which wins`(_ level: Int) {
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

/// Which styles depend on the appearance and on the size category, and how.
@Suite struct `Styles in an environment` {
    private typealias Rows = `Styles in styled text`

    // MARK: Colors

    /// The style with another color; `nil` if it has none.
    private func colored(_ style: StyleSheet.InlineStyle, _ color: StyleSheet.Color) -> StyleSheet.InlineStyle? {
        switch style {
        case .color: .color(color)
        case .inlineBackground: .inlineBackground(color)
        case .underline: .underline(.init(color: color))
        case .strikethrough: .strikethrough(.init(.dashed, color: color))
        default: nil
        }
    }

    private func colored(_ style: StyleSheet.BlockStyle, _ color: StyleSheet.Color) -> StyleSheet.BlockStyle? {
        switch style {
        case .text(let style): colored(style, color).map { .text($0) }
        case .border: .border(.init(color: color))
        case .background: .background(color)
        case .divider: .divider(.rule(color: color))
        case .tableLines: .tableLines(.init(color: color))
        case .taskMarker: .taskMarker(.checkbox(open: color))
        case .alternateRowBackground: .alternateRowBackground(color)
        default: nil
        }
    }

    private func tones(_ style: ResolvedTextStyle) -> Set<StyleSheet.Tone> {
        Set([style.color, style.background, style.underline?.color, style.strikethrough?.color].compactMap(\.self))
            .subtracting([.standard])
    }

    private func tones(_ style: ResolvedBlockStyle) -> Set<StyleSheet.Tone> {
        let box = style.taskMarker.color(of: .open)
        let rule: ResolvedBlockStyle.Rule? = if case .rule(let rule)? = style.divider { rule } else { nil }
        return tones(style.text).union(
            [
                style.border?.color, style.background, rule?.color, box, style.tableLines?.color,
                style.alternateRowBackground,
            ].compactMap(\.self))
    }

    /// A color of every kind, with its values in light and in dark.
    static let colors: [(color: StyleSheet.Color, light: StyleSheet.Tone, dark: StyleSheet.Tone)] =
        [
            (.dynamic(light: .rgb(0x102030), dark: .ansi(.brightBlue)), .rgb(0x102030), .ansi(.brightBlue)),
            (.rgb(0x405060), .rgb(0x405060), .rgb(0x405060)), (.ansi(.green), .ansi(.green), .ansi(.green)),
            (
                .named("Brand", fallback: .init(light: .rgb(1), dark: .rgb(2))), .named("Brand", fallback: .rgb(1)),
                .named("Brand", fallback: .rgb(2))
            ),
        ]
        + StyleSheet.Role.allCases.enumerated().map { number, role in
            (.role(role), .rgb(UInt32(number + 1)), .rgb(UInt32(number + 101)))
        }

    /// A sheet with two different colors for every role.
    private var sheet: StyleSheet {
        var sheet = StyleSheet()
        for (number, role) in StyleSheet.Role.allCases.enumerated() {
            sheet = sheet.setting(colors: [
                role: .init(light: .rgb(UInt32(number + 1)), dark: .rgb(UInt32(number + 101)))
            ])
        }
        return sheet
    }

    @Test(arguments: colors)
    func `every style with a color has the color for the appearance`(
        _ color: StyleSheet.Color, _ light: StyleSheet.Tone, _ dark: StyleSheet.Tone
    ) {
        for appearance in StyleSheet.Appearance.allCases {
            let expected = appearance == .light ? light : dark
            let environment = StyleSheet.Environment(appearance: appearance)
            for style in Rows.textRows.compactMap({ colored($0.style, color) }) {
                let text = StyledText(
                    Document("`a`"), style: sheet.setting(inline: [.code: [style]]), environment: environment)
                #expect(text.runs.map { tones($0.style) } == [[expected]], "\(style)")
            }
            for style in Rows.blockRows.compactMap({ colored($0.style, color) }) {
                let text = StyledText(
                    Document("a"), style: sheet.setting(block: [.paragraph: [style]]), environment: environment)
                #expect(tones(text.blocks[1].style) == [expected], "\(style)")
            }
        }
    }

    @Test func `the colors of tokens depend on the appearance, too`() {
        let sheet = sheet.setting(inline: [.token(.keyword): [.color(.accent)]])
        for (appearance, tone) in [(StyleSheet.Appearance.light, StyleSheet.Tone.rgb(4)), (.dark, .rgb(104))] {
            let text = StyledText(
                Document("    ab"), style: sheet, environment: .init(appearance: appearance),
                highlighter: FixedHighlighter(tokens: [.init(0..<1, .keyword)]))
            #expect(text.runs.map { tones($0.style) } == [[tone], []])
        }
    }

    // MARK: Lengths

    /// The style with another length; `nil` if it has none.
    private func measured(_ style: StyleSheet.InlineStyle, _ length: StyleSheet.Length) -> StyleSheet.InlineStyle? {
        switch style {
        case .kerning: .kerning(length)
        case .baseline: .baseline(length)
        case .imageLayout: .imageLayout(.init(.maximum(width: length, height: length), cornerRadius: length))
        default: nil
        }
    }

    private func measured(_ style: StyleSheet.BlockStyle, _ length: StyleSheet.Length) -> StyleSheet.BlockStyle? {
        switch style {
        case .text(let style): measured(style, length).map { .text($0) }
        case .firstLineIndent: .firstLineIndent(length)
        case .leadingIndent: .leadingIndent(length)
        case .trailingIndent: .trailingIndent(length)
        case .spacingBefore: .spacingBefore(length)
        case .spacingAfter: .spacingAfter(length)
        case .lineSpacing: .lineSpacing(length)
        case .border: .border(.init(width: length, cornerRadius: length))
        case .padding: .padding(.all(length))
        case .tableLines: .tableLines(.init(width: length))
        case .divider: .divider(.rule(thickness: length, width: .length(length)))
        case .alignment, .lineHeight, .hyphenation, .marker, .background, .alternateRowBackground, .taskMarker: nil
        }
    }

    private func lengths(_ style: ResolvedTextStyle) -> Set<Double> {
        var lengths: Set = [style.kerning, style.baseline, style.imageLayout?.cornerRadius ?? 0]
        if case .maximum(let width?, let height?) = style.imageLayout?.size { lengths.formUnion([width, height]) }
        return lengths.subtracting([0])
    }

    private func lengths(_ style: ResolvedBlockStyle) -> Set<Double> {
        var divider: [Double] = []
        if case .rule(let rule)? = style.divider {
            divider = [rule.thickness]
            if case .length(let width) = rule.width { divider.append(width.points(atFontSize: 0)) }
        }
        return lengths(style.text).union(
            divider
                + [
                    style.firstLineIndent, style.leadingIndent, style.trailingIndent, style.spacingBefore,
                    style.spacingAfter, style.lineSpacing, style.border?.width ?? 0,
                    style.border?.cornerRadius ?? 0, style.tableLines?.width ?? 0, style.padding.top,
                    style.padding.leading, style.padding.bottom, style.padding.trailing,
                ].filter { $0 != 0 })
    }

    @Test(arguments: dynamicTypeSizes)
    func `every length in em grows with the text, and every length in points stays`(
        _ category: StyleSheet.SizeCategory, _ points: [Double]
    ) {
        let environment = StyleSheet.Environment(sizeCategory: category)
        let body = points[5]
        for (length, expected) in [(StyleSheet.Length.em(2), 2 * body), (.em(-0.5), -0.5 * body), (.points(5), 5)] {
            for style in Rows.textRows.compactMap({ measured($0.style, length) }) {
                let text = StyledText(
                    Document("`a`"), style: StyleSheet().setting(inline: [.code: [style]]), environment: environment)
                #expect(text.runs.map { lengths($0.style) } == [[expected]], "\(style)")
            }
            for style in Rows.blockRows.compactMap({ measured($0.style, length) }) {
                let text = StyledText(
                    Document("a"), style: StyleSheet().setting(block: [.paragraph: [style]]), environment: environment)
                #expect(lengths(text.blocks[1].style) == [expected], "\(style)")
            }
        }
    }

    @Test(arguments: dynamicTypeSizes)
    func `an em is the size of the text that the same rule sets, in a block or a span`(
        _ category: StyleSheet.SizeCategory, _ points: [Double]
    ) {
        let sheet = StyleSheet()
            .setting(block: [.document: [.textStyle(.title1)], .paragraph: [.spacingAfter(.em(1))]])
            .setting(inline: [.strong: [.kerning(.em(1))], .code: [.baseline(.em(1)), .textStyle(.caption1)]])
        let text = StyledText(Document("**a** `b`"), style: sheet, environment: .init(sizeCategory: category))

        #expect(text.blocks[1].style.spacingAfter == points[1])
        #expect(text.runs[0].style.kerning == points[1])
        #expect(text.runs[2].style.baseline == points[9])
    }
}
