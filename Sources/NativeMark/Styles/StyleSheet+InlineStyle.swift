extension StyleSheet {
    /// A style of text. ``BlockStyle/text(_:)`` applies it to all text of a block.
    public enum InlineStyle: Sendable, Hashable {
        /// The text style, which determines the font size and grows with the size category.
        case textStyle(TextStyle)
        /// The text color.
        case color(Color)
        /// The color behind the text.
        case inlineBackground(Color)
        /// Extra space after each character.
        case kerning(Length)
        /// The offset of the text above the baseline. Negative values are below it.
        case baseline(Length)
        /// Whether the text is bold.
        case bold(Bool)
        /// Whether the text is italic.
        case italic(Bool)
        /// Whether the text uses a monospaced font.
        case monospaced(Bool)
        /// Whether the text is underlined.
        case underline(Bool)
        /// Whether the text has a line through it.
        case strikethrough(Bool)
    }
}

extension StyleSheet.InlineStyle: StyleOfProperty {
    /// Also the names in JSON.
    enum Property: String, Hashable, CaseIterable {
        case textStyle
        case color
        case inlineBackground
        case kerning
        case baseline
        case bold
        case italic
        case monospaced
        case underline
        case strikethrough
    }

    var property: Property {
        switch self {
        case .textStyle: .textStyle
        case .color: .color
        case .inlineBackground: .inlineBackground
        case .kerning: .kerning
        case .baseline: .baseline
        case .bold: .bold
        case .italic: .italic
        case .monospaced: .monospaced
        case .underline: .underline
        case .strikethrough: .strikethrough
        }
    }

    var rank: Int { Property.allCases.firstIndex(of: property) ?? 0 }
}
