extension StyledText {
    /// A block of a document: what it is, where it stands, and what it looks like.
    public struct Block: Sendable, Hashable {
        /// What it is.
        public var kind: Kind
        /// What it looks like.
        public var style: ResolvedBlockStyle
        /// The index of the block around it; `nil` for the document.
        public var parent: Int?
        /// Its text in ``StyledText/string`` with that of all blocks in it, in UTF-8 bytes. Empty for a block without text.
        public var range: Range<Int>
        /// The index behind the last block in it: those in it are `index + 1 ..< end`.
        public var end: Int
    }

    /// The kinds of blocks.
    public enum Kind: Sendable, Hashable {
        /// The whole document.
        case document
        /// A paragraph.
        case paragraph
        /// A heading of level 1 to 6.
        case heading(level: Int)
        /// A block quote; the outermost has depth 1.
        case blockQuote(depth: Int)
        /// A code block, with the first word of its info string if it has one.
        case codeBlock(language: String?)
        /// A list.
        case list(List)
        /// An item of a list.
        case item(Item)
        /// A line across.
        case thematicBreak
        /// A table, with one alignment per column.
        case table(alignments: [Document.Alignment])
        /// A row; the header has number 0.
        case tableRow(Int)
        /// A cell.
        case tableCell(row: Int, column: Int, alignment: Document.Alignment)
        /// All footnotes.
        case footnotes
        /// One of them, with its number.
        case footnote(label: String, number: Int)
    }

    /// What all items of a list share.
    public struct List: Sendable, Hashable {
        /// Whether it has numbers.
        public var isOrdered: Bool
        /// How many lists it is in, itself included: the outermost has 1.
        public var depth: Int
        /// Whether its items stand close together.
        public var isTight: Bool

        /// A list.
        public init(isOrdered: Bool, depth: Int, isTight: Bool) {
            self.isOrdered = isOrdered
            self.depth = depth
            self.isTight = isTight
        }
    }

    /// An item of a list.
    public struct Item: Sendable, Hashable {
        /// Its number, if the list has numbers.
        public var number: Int?
        /// What stands in front of it: `1.`, `iv)`, `•`, `☑`. Empty if the sheet says so.
        public var marker: String
        /// Whether it is a task, and which.
        public var task: Document.TaskState?

        /// An item.
        public init(number: Int?, marker: String, task: Document.TaskState?) {
            self.number = number
            self.marker = marker
            self.task = task
        }
    }
}
