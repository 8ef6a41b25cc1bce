// MARK: - Selectors

extension StyleSheet {
    /// The blocks that a rule applies to.
    ///
    /// If several selectors match the same block, such as ``headings`` and ``heading(level:)``, the narrower one wins. They are declared in
    /// this order: those for all lists, then for a kind, for a level, and for tight or loose ones; those for all items, then for tasks; and at
    /// last those for the first and the last block, whatever it is.
    ///
    ///     sheet.setting(block: [
    ///         .lists: [.spacingAfter(.em(1))],
    ///         .list(level: 2): [.spacingAfter(.em(0))],
    ///         .taskItem(.done): [.color(.secondary), .strikethrough(true)],
    ///         .lastBlock: [.spacingAfter(.points(20))],
    ///     ])
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
        /// Lists of one level, 1 to 9. The outermost list has level 1.
        case listLevel(Int)
        /// Lists in which no blank lines separate the items. In HTML, a list without paragraphs is tight.
        case tightLists
        /// Lists in which blank lines separate the items.
        case looseLists
        /// An item of a list.
        case item
        /// An item of a list that is an open or finished task.
        case taskItem(Document.TaskState)
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
        /// The first block of the document. Its ``BlockStyle/spacingBefore(_:)`` is shown above it, where there is no spacing otherwise.
        case firstBlock
        /// The last block of the document, which may be the footnotes. Its ``BlockStyle/spacingAfter(_:)`` is shown below it, where there is
        /// no spacing otherwise.
        case lastBlock
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

extension StyleSheet.BlockSelector {
    /// Lists of one level, 1 to 9. The outermost list has level 1.
    public static func list(level: Int) -> Self { .listLevel(level) }
    /// Tight lists, in which no blank lines separate the items, or loose lists.
    public static func list(tight isTight: Bool) -> Self { isTight ? .tightLists : .looseLists }
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
        [.document, .paragraph, .headings] + (1...6).map { .heading(level: $0) }
        + [.blockQuote, .codeBlock, .lists, .list(.ordered), .list(.bullets)] + (1...9).map { .listLevel($0) } + [
            .tightLists, .looseLists, .item, .taskItem(.open), .taskItem(.done), .thematicBreak, .table,
            .tableHeader, .tableRow, .tableCell, .footnotes, .footnote, .firstBlock, .lastBlock,
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
        case .listLevel(let level): "listLevel\(level)"
        case .tightLists: "tightLists"
        case .looseLists: "looseLists"
        case .item: "item"
        case .taskItem(.open): "openTaskItem"
        case .taskItem(.done): "doneTaskItem"
        case .thematicBreak: "thematicBreak"
        case .table: "table"
        case .tableHeader: "tableHeader"
        case .tableRow: "tableRow"
        case .tableCell: "tableCell"
        case .footnotes: "footnotes"
        case .footnote: "footnote"
        case .firstBlock: "firstBlock"
        case .lastBlock: "lastBlock"
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
        /// The size of images, their position and their corners.
        case imageLayout(ImageLayout)
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
        case imageLayout
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
        case .imageLayout: .imageLayout
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
        /// What a thematic break looks like.
        case divider(Divider)
        /// The lines of a table.
        case tableLines(TableLines)
        /// The color behind the second row below the header of a table, and behind every other row after it.
        case alternateRowBackground(Color)
        /// The marker of a list's task items.
        case taskMarker(TaskMarker)
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
    /// The size of the images in the block, their position and their corners.
    public static func imageLayout(_ layout: StyleSheet.ImageLayout) -> Self { .text(.imageLayout(layout)) }
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
        case divider
        case tableLines
        case alternateRowBackground
        case taskMarker
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
        case .divider: .block(.divider)
        case .tableLines: .block(.tableLines)
        case .alternateRowBackground: .block(.alternateRowBackground)
        case .taskMarker: .block(.taskMarker)
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
