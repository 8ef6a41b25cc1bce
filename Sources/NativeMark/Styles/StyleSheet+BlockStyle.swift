extension StyleSheet {
    /// A style of a block, or of the text in it.
    ///
    /// Every ``InlineStyle`` has a static function with the same name here.
    public enum BlockStyle: Sendable, Hashable {
        /// A style for all text in the block.
        case text(InlineStyle)
        /// The horizontal position of the lines between the indents.
        case alignment(Alignment)
        /// Extra space before the first line. A negative value is a hanging indent.
        case firstLineIndent(Length)
        /// Space before all lines.
        case leadingIndent(Length)
        /// Space after all lines.
        case trailingIndent(Length)
        /// Space above the block. The larger of two adjacent spacings applies.
        case spacingBefore(Length)
        /// Space below the block.
        case spacingAfter(Length)
        /// Extra space between lines.
        case lineSpacing(Length)
        /// The marker of the items, for lists.
        case marker(Marker)
        /// Lines on some or all sides of the block.
        case border(Border)
        /// Space between the border and the text.
        case padding(Padding)
        /// The color behind the whole block.
        case background(Color)
    }

    /// The horizontal position of the lines of a block.
    public enum Alignment: String, Sendable, Hashable, CaseIterable {
        /// Lines begin at the leading edge, which depends on the writing direction.
        case leading
        /// Lines are centered.
        case center
        /// Lines end at the trailing edge, which depends on the writing direction.
        case trailing
        /// Lines are stretched to both edges. Terminals show it as `leading`.
        case justified
    }
}

extension StyleSheet.BlockStyle {
    /// The text style, which determines the font size.
    public static func textStyle(_ style: StyleSheet.TextStyle) -> Self { .text(.textStyle(style)) }
    /// The text color.
    public static func color(_ color: StyleSheet.Color) -> Self { .text(.color(color)) }
    /// The color behind the text, not behind the whole block.
    public static func inlineBackground(_ color: StyleSheet.Color) -> Self { .text(.inlineBackground(color)) }
    /// Extra space after each character.
    public static func kerning(_ length: StyleSheet.Length) -> Self { .text(.kerning(length)) }
    /// The offset of the text above the baseline.
    public static func baseline(_ length: StyleSheet.Length) -> Self { .text(.baseline(length)) }
    /// Whether the text is bold.
    public static func bold(_ isOn: Bool) -> Self { .text(.bold(isOn)) }
    /// Whether the text is italic.
    public static func italic(_ isOn: Bool) -> Self { .text(.italic(isOn)) }
    /// Whether the text uses a monospaced font.
    public static func monospaced(_ isOn: Bool) -> Self { .text(.monospaced(isOn)) }
    /// Whether the text is underlined.
    public static func underline(_ isOn: Bool) -> Self { .text(.underline(isOn)) }
    /// Whether the text has a line through it.
    public static func strikethrough(_ isOn: Bool) -> Self { .text(.strikethrough(isOn)) }
}

extension StyleSheet.BlockStyle: StyleOfProperty {
    enum Property: Hashable {
        case text(StyleSheet.InlineStyle.Property)
        case block(BlockProperty)
    }

    /// Also the names in JSON.
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
