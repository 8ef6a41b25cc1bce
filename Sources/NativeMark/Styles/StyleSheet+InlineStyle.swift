extension StyleSheet {
    /// One style of text. In a rule for a block it holds for all text of the block, through ``BlockStyle/text(_:)``.
    public enum InlineStyle: Sendable, Hashable {
        /// The size and role of the text, which grows with the size category.
        case textStyle(TextStyle)
        /// The colour of the letters.
        case color(Color)
        /// The colour behind the letters.
        case inlineBackground(Color)
        /// Extra room behind each character.
        case kerning(Length)
        /// How far above the baseline the text stands; below it, if negative.
        case baseline(Length)
        /// A heavier weight.
        case bold(Bool)
        /// Slanted letters.
        case italic(Bool)
        /// Letters of one width.
        case monospaced(Bool)
        /// A line below the letters.
        case underline(Bool)
        /// A line through the letters.
        case strikethrough(Bool)
    }
}

extension StyleSheet.InlineStyle: StyleOfProperty {
    /// The names of the styles, in JSON as well.
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
