extension StyleSheet {
    /// One style of a block, or of the text in it.
    ///
    ///     sheet.setting(block: [.headings: [.alignment(.center), .spacingBefore(.em(1)), .color(.secondary), .bold(true)]])
    ///
    /// Every ``InlineStyle`` has a function of the same name here.
    public enum BlockStyle: Sendable, Hashable {
        /// A style of all text in the block.
        case text(InlineStyle)
        /// Where lines stand between the indents.
        case alignment(Alignment)
        /// Extra room in front of the first line; a hanging indent, if negative.
        case firstLineIndent(Length)
        /// Room in front of all lines.
        case leadingIndent(Length)
        /// Room behind all lines.
        case trailingIndent(Length)
        /// Room above the block. Between two blocks the larger of the two spacings holds.
        case spacingBefore(Length)
        /// Room below the block.
        case spacingAfter(Length)
        /// Extra room between lines.
        case lineSpacing(Length)
        /// What stands in front of the items, for lists.
        case marker(Marker)
        /// Lines around the block, or on some of its sides.
        case border(Border)
        /// Room between the border and the text.
        case padding(Padding)
        /// The colour behind the whole block.
        case background(Color)
    }

    /// Where the lines of a block stand.
    public enum Alignment: String, Sendable, Hashable, CaseIterable {
        /// Where the language begins its lines.
        case leading
        /// In the middle.
        case center
        /// Where the language ends its lines.
        case trailing
        /// Both edges straight. A terminal shows it as `leading`.
        case justified
    }
}

extension StyleSheet.BlockStyle {
    /// The size and role of the text in the block.
    public static func textStyle(_ style: StyleSheet.TextStyle) -> Self { .text(.textStyle(style)) }
    /// The colour of the letters.
    public static func color(_ color: StyleSheet.Color) -> Self { .text(.color(color)) }
    /// The colour behind the letters, not behind the whole block.
    public static func inlineBackground(_ color: StyleSheet.Color) -> Self { .text(.inlineBackground(color)) }
    /// Extra room behind each character.
    public static func kerning(_ length: StyleSheet.Length) -> Self { .text(.kerning(length)) }
    /// How far above the baseline the text stands.
    public static func baseline(_ length: StyleSheet.Length) -> Self { .text(.baseline(length)) }
    /// A heavier weight.
    public static func bold(_ isOn: Bool) -> Self { .text(.bold(isOn)) }
    /// Slanted letters.
    public static func italic(_ isOn: Bool) -> Self { .text(.italic(isOn)) }
    /// Letters of one width.
    public static func monospaced(_ isOn: Bool) -> Self { .text(.monospaced(isOn)) }
    /// A line below the letters.
    public static func underline(_ isOn: Bool) -> Self { .text(.underline(isOn)) }
    /// A line through the letters.
    public static func strikethrough(_ isOn: Bool) -> Self { .text(.strikethrough(isOn)) }
}

extension StyleSheet.BlockStyle: StyleOfProperty {
    /// What a style is about: a property of text, or one of the block itself.
    enum Property: Hashable {
        case text(StyleSheet.InlineStyle.Property)
        case block(BlockProperty)
    }

    /// The names of the styles that only blocks have, in JSON as well.
    enum BlockProperty: String, Hashable, CaseIterable {
        case alignment
        case firstLineIndent
        case leadingIndent
        case trailingIndent
        case spacingBefore
        case spacingAfter
        case lineSpacing
        case marker
        case border
        case padding
        case background
    }

    var property: Property {
        switch self {
        case .text(let style): .text(style.property)
        case .alignment: .block(.alignment)
        case .firstLineIndent: .block(.firstLineIndent)
        case .leadingIndent: .block(.leadingIndent)
        case .trailingIndent: .block(.trailingIndent)
        case .spacingBefore: .block(.spacingBefore)
        case .spacingAfter: .block(.spacingAfter)
        case .lineSpacing: .block(.lineSpacing)
        case .marker: .block(.marker)
        case .border: .block(.border)
        case .padding: .block(.padding)
        case .background: .block(.background)
        }
    }

    var rank: Int {
        switch property {
        case .text(let property): StyleSheet.InlineStyle.Property.allCases.firstIndex(of: property) ?? 0
        case .block(let property): 100 + (BlockProperty.allCases.firstIndex(of: property) ?? 0)
        }
    }
}
