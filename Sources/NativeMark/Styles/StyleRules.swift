// MARK: - Selectors

extension StyleSheet {
    /// The blocks that a rule applies to.
    ///
    /// If two selectors match the same block, such as ``headings`` and ``heading(level:)``, the narrower one wins.
    public enum BlockSelector: Sendable, Hashable {
        /// The whole document.
        case document
        /// A paragraph.
        case paragraph
        /// Headings of every level.
        case headings
        /// Headings of one level, 1 to 6.
        case heading(level: Int)
        /// A block quote.
        case blockQuote
        /// A code block, fenced or indented.
        case codeBlock
        /// Ordered lists and bullet lists.
        case lists
        /// Lists of one kind.
        case list(ListKind)
        /// An item of a list.
        case item
        /// A thematic break.
        case thematicBreak
        /// A table.
        case table
        /// The first row of a table, with the column names.
        case tableHeader
        /// The rows below the header.
        case tableRow
        /// A cell, including header cells.
        case tableCell
        /// All footnotes together, at the end of the document.
        case footnotes
        /// A footnote.
        case footnote
    }

    /// The two kinds of lists.
    public enum ListKind: Sendable, Hashable, CaseIterable {
        /// Lists with numbers.
        case ordered
        /// Lists with bullets.
        case bullets
    }

    /// The text that a rule applies to.
    public enum InlineSelector: Sendable, Hashable {
        /// `*emphasis*`
        case emphasis
        /// `**strong emphasis**`
        case strong
        /// A code span.
        case code
        /// The text of a link.
        case link
        /// The alternative text of an image.
        case image
        /// `~~deleted~~`
        case strikethrough
        /// The number that refers to a footnote.
        case footnoteReference
        /// A part of a code block that a ``CodeHighlighter`` has found. In JSON, `code.keyword` and so on.
        case token(CodeToken.Kind)
    }
}

extension StyleSheet.InlineSelector: CaseIterable {
    /// All selectors, in the order of their declarations.
    public static let allCases: [StyleSheet.InlineSelector] =
        [.emphasis, .strong, .code, .link, .image, .strikethrough, .footnoteReference]
        + CodeToken.Kind.allCases.map { .token($0) }

    /// The name in JSON.
    var name: String {
        switch self {
        case .emphasis: "emphasis"
        case .strong: "strong"
        case .code: "code"
        case .link: "link"
        case .image: "image"
        case .strikethrough: "strikethrough"
        case .footnoteReference: "footnoteReference"
        case .token(let kind): "code.\(kind.rawValue)"
        }
    }
}

extension StyleSheet.BlockSelector: CaseIterable {
    /// All selectors, in the order of their declarations.
    public static let allCases: [StyleSheet.BlockSelector] =
        [.document, .paragraph, .headings] + (1...6).map { .heading(level: $0) } + [
            .blockQuote, .codeBlock, .lists, .list(.ordered), .list(.bullets), .item, .thematicBreak, .table,
            .tableHeader, .tableRow, .tableCell, .footnotes, .footnote,
        ]

    /// The name in JSON, such as `paragraph`, `heading1` or `orderedList`.
    var name: String {
        switch self {
        case .document: "document"
        case .paragraph: "paragraph"
        case .headings: "headings"
        case .heading(let level): "heading\(level)"
        case .blockQuote: "blockQuote"
        case .codeBlock: "codeBlock"
        case .lists: "lists"
        case .list(.ordered): "orderedList"
        case .list(.bullets): "bulletList"
        case .item: "item"
        case .thematicBreak: "thematicBreak"
        case .table: "table"
        case .tableHeader: "tableHeader"
        case .tableRow: "tableRow"
        case .tableCell: "tableCell"
        case .footnotes: "footnotes"
        case .footnote: "footnote"
        }
    }
}

// MARK: - Styles of text

extension StyleSheet {
    /// A style of text. ``BlockStyle/text(_:)`` applies it to all text in a block.
    public enum InlineStyle: Sendable, Hashable {
        /// The text style, which determines the font size and grows with the size category.
        case textStyle(TextStyle)
        /// The font size. An em is the size of the enclosing text. Points are the size at the standard size category and scale with the
        /// text style. The result is clamped to 1–1,000 points.
        case fontSize(Length)
        /// A design of the system font. Replaces the family of the enclosing text.
        case fontDesign(FontDesign)
        /// The family of a font that is installed or bundled with the app, such as `Avenir Next`. If there is no such font, the font design
        /// applies.
        case fontFamily(String)
        /// The font weight.
        case fontWeight(FontWeight)
        /// The font width.
        case fontWidth(FontWidth)
        /// The text color.
        case color(Color)
        /// The color behind the text, or a box with padding, round corners and a border.
        case inlineBackground(InlineBackground)
        /// Extra space after each character.
        case kerning(Length)
        /// The offset of the text above the baseline. Negative values lower the text.
        case baseline(Length)
        /// Whether the text is bold relative to the enclosing text. Use it for strong emphasis, which must stand out in text of any weight.
        ///
        /// With `true`, the weight becomes at least bold, or black inside text that is already semibold or heavier. With `false`, semibold
        /// and heavier text becomes regular.
        case bold(Bool)
        /// Whether the text is italic.
        case italic(Bool)
        /// The line under the text, or `nil` for none.
        case underline(TextLine?)
        /// The line through the text, or `nil` for none.
        case strikethrough(TextLine?)
    }
}

extension StyleSheet.InlineStyle {
    /// The color behind the text.
    public static func inlineBackground(_ color: StyleSheet.Color) -> Self {
        .inlineBackground(StyleSheet.InlineBackground(color))
    }
    /// Whether the text is underlined, with a single line in the color of the text.
    public static func underline(_ isOn: Bool) -> Self { .underline(isOn ? StyleSheet.TextLine() : nil) }
    /// Whether the text has a line through it: a single line in the color of the text.
    public static func strikethrough(_ isOn: Bool) -> Self { .strikethrough(isOn ? StyleSheet.TextLine() : nil) }
}

extension StyleSheet.InlineStyle: StyleOfProperty {
    /// The raw values are the names in JSON. Styles are applied in this order: a family after the design that it replaces, and bold after
    /// the weight.
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

// MARK: - Styles of blocks

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
        /// The distance between baselines as a multiple of the font size, clamped to 0.1–10. Without this style, the font determines it.
        case lineHeight(Double)
        /// Whether words may be hyphenated at the ends of lines.
        case hyphenation(Bool)
        /// The marker of a list's items.
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
        /// Lines are stretched to both edges. Terminals show `leading` instead.
        case justified
    }
}

extension StyleSheet.BlockStyle {
    /// The text style, which determines the font size.
    public static func textStyle(_ style: StyleSheet.TextStyle) -> Self { .text(.textStyle(style)) }
    /// The font size; see ``StyleSheet/InlineStyle/fontSize(_:)``.
    public static func fontSize(_ size: StyleSheet.Length) -> Self { .text(.fontSize(size)) }
    /// A design of the system font; see ``StyleSheet/InlineStyle/fontDesign(_:)``.
    public static func fontDesign(_ design: StyleSheet.FontDesign) -> Self { .text(.fontDesign(design)) }
    /// The font family; see ``StyleSheet/InlineStyle/fontFamily(_:)``.
    public static func fontFamily(_ name: String) -> Self { .text(.fontFamily(name)) }
    /// The font weight.
    public static func fontWeight(_ weight: StyleSheet.FontWeight) -> Self { .text(.fontWeight(weight)) }
    /// The font width.
    public static func fontWidth(_ width: StyleSheet.FontWidth) -> Self { .text(.fontWidth(width)) }
    /// The text color.
    public static func color(_ color: StyleSheet.Color) -> Self { .text(.color(color)) }
    /// The color behind the text, not behind the whole block.
    public static func inlineBackground(_ color: StyleSheet.Color) -> Self { .text(.inlineBackground(color)) }
    /// The box behind the text; see ``StyleSheet/InlineBackground``.
    public static func inlineBackground(_ box: StyleSheet.InlineBackground) -> Self { .text(.inlineBackground(box)) }
    /// Extra space after each character.
    public static func kerning(_ length: StyleSheet.Length) -> Self { .text(.kerning(length)) }
    /// The offset of the text above the baseline.
    public static func baseline(_ length: StyleSheet.Length) -> Self { .text(.baseline(length)) }
    /// Whether the text is bold relative to the enclosing block; see ``StyleSheet/InlineStyle/bold(_:)``.
    public static func bold(_ isOn: Bool) -> Self { .text(.bold(isOn)) }
    /// Whether the text is italic.
    public static func italic(_ isOn: Bool) -> Self { .text(.italic(isOn)) }
    /// Whether the text is underlined, with a single line in the color of the text.
    public static func underline(_ isOn: Bool) -> Self { .text(.underline(isOn)) }
    /// The line under the text, or `nil` for none.
    public static func underline(_ line: StyleSheet.TextLine?) -> Self { .text(.underline(line)) }
    /// Whether the text has a line through it: a single line in the color of the text.
    public static func strikethrough(_ isOn: Bool) -> Self { .text(.strikethrough(isOn)) }
    /// The line through the text, or `nil` for none.
    public static func strikethrough(_ line: StyleSheet.TextLine?) -> Self { .text(.strikethrough(line)) }
}

extension StyleSheet.BlockStyle: StyleOfProperty {
    enum Property: Hashable {
        case text(StyleSheet.InlineStyle.Property)
        case block(BlockProperty)
    }

    /// The raw values are the names in JSON.
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

// MARK: - One style per property

/// A style of a rule. A rule has at most one style per property, sorted by rank.
protocol StyleOfProperty {
    associatedtype Property: Hashable
    var property: Property { get }
    /// The position of the style in a rule. Text styles come first, because they set the font size that an em refers to.
    var rank: Int { get }
}

extension Array where Element: StyleOfProperty {
    func replacing(with later: [Element]) -> [Element] {
        var byProperty: [Element.Property: Element] = [:]
        for style in self + later { byProperty[style.property] = style }
        return byProperty.values.sorted { $0.rank < $1.rank }
    }
}

// MARK: - Fonts

extension StyleSheet {
    /// The design of the system font.
    ///
    ///     sheet.setting(block: [.headings: [.fontDesign(.rounded), .fontWeight(.heavy)]])
    public enum FontDesign: String, Sendable, Hashable, CaseIterable {
        /// The font of the system's controls: San Francisco on Apple platforms.
        case `default`
        /// Letters with serifs: New York on Apple platforms.
        case serif
        /// Letters with rounded ends.
        case rounded
        /// Characters of equal width, as for code.
        case monospaced
    }

    /// The thickness of the letters: the nine weights of Apple's fonts and of CSS.
    ///
    /// If a font lacks a weight, its nearest weight is used.
    public enum FontWeight: String, Sendable, Hashable, CaseIterable, Comparable {
        /// 100 in CSS.
        case ultraLight
        /// 200 in CSS.
        case thin
        /// 300 in CSS.
        case light
        /// 400 in CSS.
        case regular
        /// 500 in CSS.
        case medium
        /// 600 in CSS. The lightest weight that terminals show in bold.
        case semibold
        /// 700 in CSS.
        case bold
        /// 800 in CSS.
        case heavy
        /// 900 in CSS.
        case black

        /// The number of the weight in CSS, from 100 to 900.
        public var number: Int {
            switch self {
            case .ultraLight: 100
            case .thin: 200
            case .light: 300
            case .regular: 400
            case .medium: 500
            case .semibold: 600
            case .bold: 700
            case .heavy: 800
            case .black: 900
            }
        }

        /// Returns whether `left` is lighter than `right`.
        public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// The width of the letters. If a font lacks a width, its nearest width is used.
    public enum FontWidth: String, Sendable, Hashable, CaseIterable {
        /// The narrowest letters.
        case compressed
        /// Narrow letters.
        case condensed
        /// The usual letters.
        case standard
        /// Wide letters.
        case expanded
    }
}

// MARK: - Boxes behind text

extension StyleSheet {
    /// A box behind a piece of text, such as GitHub's boxes around inline code.
    ///
    ///     let box = StyleSheet.InlineBackground(
    ///         .codeBackground, padding: .init(leading: .em(0.4), trailing: .em(0.4)), cornerRadius: .points(6))
    ///     sheet.setting(inline: [.code: [.inlineBackground(box)]])
    ///
    /// Terminals and labels show only the color.
    public struct InlineBackground: Sendable, Hashable {
        /// The color of the box.
        public var color: Color
        /// The space between the text and the edges of the box.
        public var padding: Padding
        /// The radius of the corners.
        public var cornerRadius: Length
        /// The lines around the box, if there are any. Their corner radius isn't used.
        public var border: Border?

        /// Creates a box, by default as large as the text and without a border.
        public init(
            _ color: Color, padding: Padding = Padding(), cornerRadius: Length = .points(0), border: Border? = nil
        ) {
            self.color = color
            self.padding = padding
            self.cornerRadius = cornerRadius
            self.border = border
        }
    }
}

// MARK: - Lines under and through text

extension StyleSheet {
    /// A line under or through text.
    ///
    ///     sheet.setting(inline: [.link: [.underline(.init(.dotted, color: .secondary))]])
    public struct TextLine: Sendable, Hashable {
        /// The form of the line.
        public var pattern: Pattern
        /// The color of the line, or `nil` for the color of the text.
        public var color: Color?

        /// Creates a line, by default a single one in the color of the text.
        public init(_ pattern: Pattern = .single, color: Color? = nil) {
            self.pattern = pattern
            self.color = color
        }

        /// The form of a line under or through text. Back ends without a form show a single line.
        public enum Pattern: String, Sendable, Hashable, CaseIterable {
            /// One line of the usual thickness.
            case single
            /// One line of twice the usual thickness.
            case thick
            /// Two lines.
            case double
            /// A row of dots.
            case dotted
            /// A row of dashes.
            case dashed
            /// A wavy line, as under spelling mistakes.
            case wavy
        }
    }
}

// MARK: - Lengths, padding and borders

extension StyleSheet {
    /// A distance, in points or relative to the font size of the text.
    ///
    /// In a terminal, a column is half an em of body text and a row is one em. Distances are rounded to whole columns and rows.
    public enum Length: Sendable, Hashable {
        /// A number of points, independent of the font size.
        case points(Double)
        /// A multiple of the font size.
        case em(Double)

        /// Returns the distance in points for a font size in points.
        public func points(atFontSize size: Double) -> Double {
            switch self {
            case .points(let points): points
            case .em(let ems): ems * size
            }
        }
    }

    /// The space between a border and its content, on each side.
    public struct Padding: Sendable, Hashable {
        /// Space above the content.
        public var top: Length
        /// Space before the content.
        public var leading: Length
        /// Space below the content.
        public var bottom: Length
        /// Space after the content.
        public var trailing: Length

        /// Creates padding. The default for each side is none.
        public init(
            top: Length = .points(0), leading: Length = .points(0), bottom: Length = .points(0),
            trailing: Length = .points(0)
        ) {
            self.top = top
            self.leading = leading
            self.bottom = bottom
            self.trailing = trailing
        }

        /// Returns the same padding on all sides.
        public static func all(_ length: Length) -> Padding {
            Padding(top: length, leading: length, bottom: length, trailing: length)
        }
    }

    /// Lines on any of the four sides of a block.
    ///
    ///     .codeBlock: [.border(.init(cornerRadius: .points(6))), .background(.codeBackground)]
    public struct Border: Sendable, Hashable {
        /// The sides that have a line.
        public var edges: Set<Edge>
        /// The thickness. Terminals have only one thickness.
        public var width: Length
        /// The color of the lines.
        public var color: Color
        /// The form of the lines.
        public var pattern: Pattern
        /// The radius of the corners, also of the block's background. Without edges, only the background is rounded.
        public var cornerRadius: Length

        /// Creates a border, by default a solid line on all sides.
        public init(
            edges: Set<Edge> = Set(Edge.allCases), width: Length = .points(1), color: Color = .border,
            pattern: Pattern = .solid, cornerRadius: Length = .points(0)
        ) {
            self.edges = edges
            self.width = width
            self.color = color
            self.pattern = pattern
            self.cornerRadius = cornerRadius
        }

        /// The form of a border's lines.
        public enum Pattern: String, Sendable, Hashable, CaseIterable {
            /// A continuous line.
            case solid
            /// A row of dashes.
            case dashed
            /// A row of dots.
            case dotted
            /// Two thin lines, which need a width of three points or more.
            case double
        }
    }

    /// A side of a block.
    public enum Edge: String, Sendable, Hashable, CaseIterable {
        /// The upper side.
        case top
        /// The side where lines of text begin.
        case leading
        /// The lower side.
        case bottom
        /// The side where lines of text end.
        case trailing
    }
}

// MARK: - Markers

extension StyleSheet {
    /// The marker of the items of a list.
    ///
    ///     sheet.setting(block: [
    ///         .list(.ordered): [.marker(.numbers([.decimal, .lowercaseLetters, .lowercaseRoman]))],   // 1., then a., then i.
    ///         .list(.bullets): [.marker(.bullets(["–"]))],
    ///     ])
    ///
    /// The first value applies to lists that aren't inside another list of their kind, the next value to lists one level deeper, and so on.
    /// After the last value, the first one is used again.
    public enum Marker: Sendable, Hashable {
        /// No marker.
        case none
        /// Numbers between a prefix and a suffix. Without a suffix, the period or parenthesis that the document uses follows. An empty
        /// array means decimal numbers. At most 64 Unicode scalars of prefix and suffix are shown. Bullet lists show `•` instead.
        case numbers([Numbering], prefix: String = "", suffix: String? = nil)
        /// Bullets. At most 64 Unicode scalars of each are shown. An empty array means no bullets. Ordered lists keep their decimal
        /// numbers.
        case bullets([String])
    }

    /// The format of a number.
    public enum Numbering: String, Sendable, Hashable, CaseIterable {
        /// 1, 2, 3
        case decimal
        /// a, b, … z, aa, ab
        case lowercaseLetters
        /// A, B, … Z, AA, AB
        case uppercaseLetters
        /// i, ii, iii
        case lowercaseRoman
        /// I, II, III
        case uppercaseRoman
        /// 7, 10, 11
        case octal
        /// f, 10, 11
        case lowercaseHexadecimal
        /// F, 10, 11
        case uppercaseHexadecimal

        /// Returns the number as text. Numbers that the format can't express become decimal digits: 0 and below, and above 3,999 for Roman
        /// numerals.
        ///
        ///     StyleSheet.Numbering.lowercaseLetters.text(of: 28)   // "ab"
        ///     StyleSheet.Numbering.uppercaseRoman.text(of: 2026)   // "MMXXVI"
        public func text(of number: Int) -> String {
            guard number > 0 else { return String(number) }
            return switch self {
            case .decimal: String(number)
            case .lowercaseLetters: Self.letters(of: number, from: "a")
            case .uppercaseLetters: Self.letters(of: number, from: "A")
            case .lowercaseRoman: number < 4_000 ? Self.roman(of: number).lowercased() : String(number)
            case .uppercaseRoman: number < 4_000 ? Self.roman(of: number) : String(number)
            case .octal: String(number, radix: 8)
            case .lowercaseHexadecimal: String(number, radix: 16)
            case .uppercaseHexadecimal: String(number, radix: 16, uppercase: true)
            }
        }

        private static func letters(of number: Int, from first: Unicode.Scalar) -> String {
            var left = number
            var letters: [Character] = []
            while left > 0 {
                let letter = UInt8(first.value) + UInt8((left - 1) % 26)
                letters.append(Character(Unicode.Scalar(letter)))
                left = (left - 1) / 26
            }
            return String(letters.reversed())
        }

        private static func roman(of number: Int) -> String {
            let values = [
                (1_000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
                (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
            ]
            var left = number
            var text = ""
            for (value, letters) in values {
                while left >= value {
                    text += letters
                    left -= value
                }
            }
            return text
        }
    }
}

extension StyleSheet.Marker {
    /// Returns the marker of an item. `number` is `nil` in a bullet list, `delimiter` is the character after the number in the document,
    /// and `depth` is the number of enclosing lists of the same kind.
    func text(number: Int?, delimiter: Character, depth: Int) -> String {
        switch (self, number) {
        case (.none, _): ""
        // Each item repeats the prefix, the suffix and the bullet.
        case (.numbers(let numberings, let prefix, let suffix), let number?):
            Self.limited(prefix)
                + (numberings.isEmpty ? .decimal : numberings[depth % numberings.count]).text(of: number)
                + (suffix.map(Self.limited) ?? String(delimiter))
        case (.bullets, let number?): String(number) + String(delimiter)
        case (.bullets(let bullets), nil): bullets.isEmpty ? "" : Self.limited(bullets[depth % bullets.count])
        case (.numbers, nil): "•"
        }
    }

    static func limited(_ text: String) -> String { String(text.unicodeScalars.prefix(64)) }
}
