extension StyleSheet {
    /// The blocks that a rule applies to.
    ///
    /// If two selectors match the same block (``headings`` and ``heading(level:)``), the narrower one takes precedence.
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
        /// A cell, also in the header.
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
