extension Document {
    /// What a node is.
    ///
    /// Blocks are `document`, `blockQuote`, `paragraph`, `thematicBreak`, `list`, `item`, `heading`, `codeBlock`, `table`,
    /// `tableRow`, `tableCell` and `footnoteDefinition`; the others stand in a paragraph, heading or table cell.
    public enum Kind: Sendable, Hashable {
        /// The root.
        case document
        /// `> quoted`
        case blockQuote
        /// Lines of text. In a tight list (``List/isTight``) too: whether it is set apart is a question of style.
        case paragraph
        /// `---`
        case thematicBreak
        /// Items, and nothing else, are its children.
        case list(List)
        /// One of a list.
        case item(task: TaskState?)
        /// `# Heading`, of level 1 to 6.
        case heading(level: Int)
        /// Fenced or indented code. Its one child is a `text` with the code, the line feed at the end of each line among it; an
        /// empty block has no child. `info` is what stands behind the opening fence.
        case codeBlock(info: String, isFenced: Bool)
        /// Rows are its children, the first one the header. There is one alignment per column.
        case table(alignments: [Alignment])
        /// Cells are its children: as many as the table has columns, some of them empty.
        case tableRow(isHeader: Bool)
        /// One cell, with the alignment of its column.
        case tableCell(Alignment)
        /// A footnote. All stand at the end of the document, in the order of the first reference to each.
        case footnoteDefinition(label: String)

        /// Letters as they are to be shown: entities and backslashes are resolved. Never empty, never holds a line feed but in
        /// a code block. Two texts never stand side by side.
        case text(String)
        /// The end of a line in the source: shown as a space.
        case softBreak
        /// The end of a line that was asked for, by two spaces or a backslash.
        case lineBreak
        /// Code in a line.
        case code(String)
        /// `*emphasis*`
        case emphasis
        /// `**strong**`
        case strong
        /// `~~struck~~`
        case strikethrough
        /// A link around its children. The destination is percent-encoded where it must be.
        case link(destination: String, title: String?)
        /// An image. Its children are its description, to be shown in its place.
        case image(source: String, title: String?)
        /// A mark that points to a footnote, which is `number` in the order of first references, from 1.
        case footnoteReference(label: String, number: Int)
    }

    /// What all items of a list share.
    public struct List: Sendable, Hashable {
        /// The number of the first item, 0 to 999,999,999; nil in a list of bullets.
        public var start: Int?
        /// The bullet (`-`, `+` or `*`), or what stands behind the number (`.` or `)`).
        public var marker: Character
        /// Whether the items stand close together: no blank line in between.
        public var isTight: Bool

        /// A list that begins with a number, or one of bullets.
        public init(start: Int?, marker: Character, isTight: Bool) {
            self.start = start
            self.marker = marker
            self.isTight = isTight
        }
    }

    /// The box of a task item.
    public enum TaskState: Sendable, Hashable, CaseIterable {
        /// `[ ]`
        case open
        /// `[x]`
        case done
    }

    /// How the cells of a column are aligned.
    public enum Alignment: Sendable, Hashable, CaseIterable {
        /// `---`: nothing was said.
        case none
        /// `:--`
        case leading
        /// `:-:`
        case center
        /// `--:`
        case trailing
    }
}
