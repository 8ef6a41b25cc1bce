extension Document {
    /// The kind of a node, with the values that belong to it.
    ///
    /// Blocks are `document`, `blockQuote`, `paragraph`, `thematicBreak`, `list`, `item`, `heading`, `codeBlock`, `table`,
    /// `tableRow`, `tableCell` and `footnoteDefinition`. The other kinds are inline: they occur in paragraphs, headings and table cells.
    public enum Kind: Sendable, Hashable {
        /// The root of the tree.
        case document
        /// `> quoted`
        case blockQuote
        /// A paragraph. The text of an item is a paragraph in a tight list (``List/isTight``) too.
        case paragraph
        /// `---`
        case thematicBreak
        /// A list. Its children are items.
        case list(List)
        /// An item of a list. `task` is `nil` unless the item has a task box.
        case item(task: TaskState?)
        /// `# Heading`, with a level from 1 to 6.
        case heading(level: Int)
        /// Fenced or indented code. `info` is the text after the opening fence.
        ///
        /// The only child is a `text` that holds the code, including the line feed at the end of each line. An empty block has no child.
        case codeBlock(info: String, isFenced: Bool)
        /// A table. Its children are rows, and the first row is the header. There is one alignment for each column.
        case table(alignments: [Alignment])
        /// A row of a table. It has one cell for each column of the table; cells can be empty.
        case tableRow(isHeader: Bool)
        /// A cell of a table, with the alignment of its column.
        case tableCell(Alignment)
        /// A footnote. All footnotes are at the end of the document, in the order of the first reference to each.
        case footnoteDefinition(label: String)

        /// Text with its entities and backslash escapes resolved.
        ///
        /// A text is never empty. Only code and entities such as `&#10;` have line feeds. Two texts are never adjacent.
        case text(String)
        /// A line break in the source that is shown as a space.
        case softBreak
        /// A hard line break: two spaces or a backslash at the end of a line.
        case lineBreak
        /// A code span.
        case code(String)
        /// `*emphasis*`
        case emphasis
        /// `**strong**`
        case strong
        /// `~~struck~~`
        case strikethrough
        /// A link. Its children are its text. The destination is percent-encoded where necessary.
        case link(destination: String, title: String?)
        /// An image. Its children are its description.
        case image(source: String, title: String?)
        /// A reference to a footnote. `number` counts footnotes from 1, in the order of their first references.
        case footnoteReference(label: String, number: Int)
    }

    /// The properties that all items of a list share.
    public struct List: Sendable, Hashable {
        /// The number of the first item, from 0 to 999,999,999, or `nil` for a bullet list.
        public var start: Int?
        /// The bullet (`-`, `+` or `*`), or the character after the number (`.` or `)`).
        public var marker: Character
        /// Whether the list is tight: blank lines don't separate its items or the blocks in them.
        public var isTight: Bool

        /// Creates the properties of an ordered list, or of a bullet list if `start` is `nil`.
        public init(start: Int?, marker: Character, isTight: Bool) {
            self.start = start
            self.marker = marker
            self.isTight = isTight
        }
    }

    /// The state of a task item.
    public enum TaskState: Sendable, Hashable, CaseIterable {
        /// `[ ]`
        case open
        /// `[x]`
        case done
    }

    /// How the cells of a column are aligned.
    public enum Alignment: Sendable, Hashable, CaseIterable {
        /// `---`, no alignment.
        case none
        /// `:--`
        case leading
        /// `:-:`
        case center
        /// `--:`
        case trailing
    }
}
