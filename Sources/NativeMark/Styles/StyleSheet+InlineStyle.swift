extension StyleSheet {
    /// A style of text. ``BlockStyle/text(_:)`` applies it to all text of a block.
    public enum InlineStyle: Sendable, Hashable {
        /// The text style, which determines the font size and grows with the size category.
        case textStyle(TextStyle)
        /// The font size. An em is the size of the enclosing text. Points are for the standard size category, and grow with the text
        /// style. The result is at least 1 and at most 1,000 points.
        case fontSize(Length)
        /// The system's font in a design. It replaces the family of the enclosing text.
        case fontDesign(FontDesign)
        /// The family of an installed font or of a font in the app, such as `Avenir Next`. Where there is no such font, the text is shown
        /// in the font design.
        case fontFamily(String)
        /// The weight of the font.
        case fontWeight(FontWeight)
        /// The width of the font.
        case fontWidth(FontWidth)
        /// The text color.
        case color(Color)
        /// The color behind the text.
        case inlineBackground(Color)
        /// Extra space after each character.
        case kerning(Length)
        /// The offset of the text above the baseline. Negative values are below it.
        case baseline(Length)
        /// Whether the text is bold relative to the enclosing text, for strong emphasis in text of any weight.
        ///
        /// With `true`, the weight is at least bold, and black in text that is itself semibold or heavier. With `false`, semibold and
        /// heavier text becomes regular.
        case bold(Bool)
        /// Whether the text is italic.
        case italic(Bool)
        /// Whether the text is underlined.
        case underline(Bool)
        /// Whether the text has a line through it.
        case strikethrough(Bool)
    }
}

extension StyleSheet.InlineStyle: StyleOfProperty {
    /// Also the names in JSON. Styles are applied in this order: a family after the design that it replaces, and bold after the weight.
    enum Property: String, Hashable, CaseIterable {
        case textStyle
        case fontSize
        case fontDesign
        case fontFamily
        case fontWeight
        case fontWidth
        case color
        case inlineBackground
        case kerning
        case baseline
        case bold
        case italic
        case underline
        case strikethrough
    }

    var property: Property {
        switch self {
        case .textStyle: .textStyle
        case .fontSize: .fontSize
        case .fontDesign: .fontDesign
        case .fontFamily: .fontFamily
        case .fontWeight: .fontWeight
        case .fontWidth: .fontWidth
        case .color: .color
        case .inlineBackground: .inlineBackground
        case .kerning: .kerning
        case .baseline: .baseline
        case .bold: .bold
        case .italic: .italic
        case .underline: .underline
        case .strikethrough: .strikethrough
        }
    }

    var rank: Int { Property.allCases.firstIndex(of: property) ?? 0 }
}
