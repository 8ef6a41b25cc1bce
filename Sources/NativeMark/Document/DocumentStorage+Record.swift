/// What a node is, in a byte; ``NodeRecord/value`` and ``NodeRecord/extra`` say the rest.
enum NodeTag: UInt8, Sendable {
    // Blocks. Their places are offsets in the source.
    case document, blockQuote, list, item, footnoteDefinition
    case paragraph, heading, codeBlock, thematicBreak
    case table, tableRow, tableCell
    // The content of blocks. Their places are offsets in the content; see SourceMap.
    case text, softBreak, lineBreak, code
    case emphasis, strong, strikethrough, link, image, footnoteReference

    var isInline: Bool { rawValue >= Self.text.rawValue }

    /// Whether there can be no children.
    var isLeaf: Bool {
        switch self {
        case .thematicBreak, .text, .softBreak, .lineBreak, .code, .footnoteReference: true
        default: false
        }
    }
}

/// One node: 40 bytes, linked by index; -1 stands for none.
struct NodeRecord: Sendable {
    var tag: NodeTag
    /// | tag | |
    /// |---|---|
    /// | heading | the level |
    /// | list | the marker |
    /// | item | 0, or 1 for an open and 2 for a done task |
    /// | codeBlock | 1 if fenced |
    /// | tableRow | 1 if the header |
    /// | tableCell | the alignment |
    var detail: UInt8 = 0
    /// list: whether it is tight.
    var flag = false
    var parent: Int32 = -1
    var firstChild: Int32 = -1
    var lastChild: Int32 = -1
    var next: Int32 = -1
    var previous: Int32 = -1
    /// The place: of a block in the source, of others in the content.
    var start: Int32
    var end: Int32
    /// | tag | value | extra |
    /// |---|---|---|
    /// | text, code | offset in the bytes | length |
    /// | list | the first number, -1 for bullets | |
    /// | codeBlock | number of its info in the strings, -1 for none | |
    /// | link, image | number of its destination in the strings | that of its title, -1 for none |
    /// | table | number of its first alignment | number of columns |
    /// | footnoteDefinition, footnoteReference | number of its label in the strings | its number |
    var value: Int32 = -1
    var extra: Int32 = 0

    init(_ tag: NodeTag, start: Int, end: Int) {
        self.tag = tag
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
    }
}
