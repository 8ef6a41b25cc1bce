import NativeMark
import Testing

/// Which styles depend on the appearance and on the size category, and how.
@Suite struct `Styles in an environment` {
    private typealias Rows = `Styles in styled text`

    // MARK: Colors

    /// The style with another color; `nil` if it has none.
    private func colored(_ style: StyleSheet.InlineStyle, _ color: StyleSheet.Color) -> StyleSheet.InlineStyle? {
        switch style {
        case .color: .color(color)
        case .inlineBackground: .inlineBackground(color)
        default: nil
        }
    }

    private func colored(_ style: StyleSheet.BlockStyle, _ color: StyleSheet.Color) -> StyleSheet.BlockStyle? {
        switch style {
        case .text(let style): colored(style, color).map { .text($0) }
        case .border: .border(.init(color: color))
        case .background: .background(color)
        default: nil
        }
    }

    private func tones(_ style: ResolvedTextStyle) -> Set<StyleSheet.Tone> {
        Set([style.color, style.background].compactMap(\.self)).subtracting([.standard])
    }

    private func tones(_ style: ResolvedBlockStyle) -> Set<StyleSheet.Tone> {
        tones(style.text).union([style.border?.color, style.background].compactMap(\.self))
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
    func `every style with a color has the one of the appearance`(
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

    @Test func `a highlighter's colors are those of the appearance, too`() {
        for (appearance, tone) in [(StyleSheet.Appearance.light, StyleSheet.Tone.rgb(4)), (.dark, .rgb(104))] {
            let text = StyledText(
                Document("    ab"), style: sheet, environment: .init(appearance: appearance),
                highlighter: { _, _ in [.init(0..<1, [.color(.accent)])] })
            #expect(text.runs.map { tones($0.style) } == [[tone], []])
        }
    }

    // MARK: Lengths

    /// The style with another length; `nil` if it has none.
    private func measured(_ style: StyleSheet.InlineStyle, _ length: StyleSheet.Length) -> StyleSheet.InlineStyle? {
        switch style {
        case .kerning: .kerning(length)
        case .baseline: .baseline(length)
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
        case .border: .border(.init(width: length))
        case .padding: .padding(.all(length))
        case .alignment, .lineHeight, .hyphenation, .marker, .background: nil
        }
    }

    private func lengths(_ style: ResolvedTextStyle) -> Set<Double> {
        Set([style.kerning, style.baseline]).subtracting([0])
    }

    private func lengths(_ style: ResolvedBlockStyle) -> Set<Double> {
        lengths(style.text).union(
            [
                style.firstLineIndent, style.leadingIndent, style.trailingIndent, style.spacingBefore,
                style.spacingAfter, style.lineSpacing, style.border?.width ?? 0, style.padding.top,
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
    func `an em is of the text that the same rule makes, of the block or of the span`(
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
