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
        /// The distance of the baselines of two lines, as a multiple of the font size. It is at least 0.1 and at most 10. Without this
        /// style, the font determines it.
        case lineHeight(Double)
        /// Whether words may be divided at the ends of lines.
        case hyphenation(Bool)
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
    /// The font size; see ``StyleSheet/InlineStyle/fontSize(_:)``.
    public static func fontSize(_ size: StyleSheet.Length) -> Self { .text(.fontSize(size)) }
    /// The system's font in a design.
    public static func fontDesign(_ design: StyleSheet.FontDesign) -> Self { .text(.fontDesign(design)) }
    /// The family of the font; see ``StyleSheet/InlineStyle/fontFamily(_:)``.
    public static func fontFamily(_ name: String) -> Self { .text(.fontFamily(name)) }
    /// The weight of the font.
    public static func fontWeight(_ weight: StyleSheet.FontWeight) -> Self { .text(.fontWeight(weight)) }
    /// The width of the font.
    public static func fontWidth(_ width: StyleSheet.FontWidth) -> Self { .text(.fontWidth(width)) }
    /// The text color.
    public static func color(_ color: StyleSheet.Color) -> Self { .text(.color(color)) }
    /// The color behind the text, not behind the whole block.
    public static func inlineBackground(_ color: StyleSheet.Color) -> Self { .text(.inlineBackground(color)) }
    /// Extra space after each character.
    public static func kerning(_ length: StyleSheet.Length) -> Self { .text(.kerning(length)) }
    /// The offset of the text above the baseline.
    public static func baseline(_ length: StyleSheet.Length) -> Self { .text(.baseline(length)) }
    /// Whether the text is bold relative to the enclosing block; see ``StyleSheet/InlineStyle/bold(_:)``.
    public static func bold(_ isOn: Bool) -> Self { .text(.bold(isOn)) }
    /// Whether the text is italic.
    public static func italic(_ isOn: Bool) -> Self { .text(.italic(isOn)) }
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
        case lineHeight
        case hyphenation
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
        case .lineHeight: .block(.lineHeight)
        case .hyphenation: .block(.hyphenation)
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
