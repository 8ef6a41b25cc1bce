extension StyledText {
    /// A block of a styled text: its kind, position and style.
    public struct Block: Sendable, Hashable {
        /// The kind of the block.
        public var kind: Kind
        /// The style of the block.
        public var style: ResolvedBlockStyle
        /// The index of the enclosing block, or `nil` for the document.
        public var parent: Int?
        /// The range of the block's text, including nested blocks, in ``StyledText/string`` as UTF-8 offsets. It may be empty.
        public var range: Range<Int>
        /// The index after the last nested block. The nested blocks have the indices `index + 1 ..< end`.
        public var end: Int
    }

    /// The kind of a block.
    public enum Kind: Sendable, Hashable {
        /// The whole document.
        case document
        /// A paragraph.
        case paragraph
        /// A heading, with a level from 1 to 6.
        case heading(level: Int)
        /// A block quote. The outermost one has depth 1.
        case blockQuote(depth: Int)
        /// A code block, with the first word of its info string if it has one.
        case codeBlock(language: String?)
        /// A list.
        case list(List)
        /// An item of a list.
        case item(Item)
        /// A thematic break.
        case thematicBreak
        /// A table, with one alignment for each column.
        case table(alignments: [Document.Alignment])
        /// A row. The header has number 0.
        case tableRow(Int)
        /// A cell.
        case tableCell(row: Int, column: Int, alignment: Document.Alignment)
        /// All footnotes together.
        case footnotes
        /// A footnote and its number.
        case footnote(label: String, number: Int)
    }

    /// The properties that all items of a list share.
    public struct List: Sendable, Hashable {
        /// Whether the items are numbered.
        public var isOrdered: Bool
        /// The nesting depth. The outermost list has depth 1.
        public var depth: Int
        /// Whether the list is tight: blank lines don't separate its items or the blocks in them.
        public var isTight: Bool

        /// Creates the properties of a list.
        public init(isOrdered: Bool, depth: Int, isTight: Bool) {
            self.isOrdered = isOrdered
            self.depth = depth
            self.isTight = isTight
        }
    }

    /// An item of a list.
    public struct Item: Sendable, Hashable {
        /// The number of the item, in an ordered list.
        public var number: Int?
        /// The marker, such as `1.`, `iv)`, `•` or `☑`. Empty if the style sheet hides it.
        public var marker: String
        /// The state of a task item, or `nil` for other items.
        public var task: Document.TaskState?

        /// Creates an item.
        public init(number: Int?, marker: String, task: Document.TaskState?) {
            self.number = number
            self.marker = marker
            self.task = task
        }
    }
}
