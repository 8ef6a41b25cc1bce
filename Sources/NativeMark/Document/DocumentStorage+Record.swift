/// The kind of a node in one byte. ``NodeRecord/value`` and ``NodeRecord/extra`` hold the associated values.
enum NodeTag: UInt8, Sendable {
    // Blocks. Their positions are offsets in the source.
    case document, blockQuote, list, item, footnoteDefinition
    case paragraph, heading, codeBlock, thematicBreak
    case table, tableRow, tableCell
    // Inline nodes. Their positions are offsets in the content; see SourceMap.
    case text, softBreak, lineBreak, code
    case emphasis, strong, strikethrough, link, image, footnoteReference

    var isInline: Bool { rawValue >= Self.text.rawValue }

    var isLeaf: Bool {
        switch self {
        case .thematicBreak, .text, .softBreak, .lineBreak, .code, .footnoteReference: true
        default: false
        }
    }
}

/// One node: 40 bytes. Nodes refer to each other by index; -1 means none.
struct NodeRecord: Sendable {
    var tag: NodeTag
    /// | tag | |
    /// |---|---|
    /// | heading | the level |
    /// | list | the marker |
    /// | item | 0 without a task box, 1 for an open task, 2 for a done task |
    /// | codeBlock | 1 if fenced |
    /// | tableRow | 1 for the header |
    /// | tableCell | the alignment |
    var detail: UInt8 = 0
    /// For a list: whether it is tight.
    var flag = false
    var parent: Int32 = -1
    var firstChild: Int32 = -1
    var lastChild: Int32 = -1
    var next: Int32 = -1
    var previous: Int32 = -1
    /// The position: in the source for blocks, in the content for inline nodes.
    var start: Int32
    var end: Int32
    /// | tag | value | extra |
    /// |---|---|---|
    /// | text, code | offset in the bytes | length |
    /// | list | the first number, -1 for bullets | |
    /// | codeBlock | index of its info in the strings, -1 for none | |
    /// | link, image | index of its destination in the strings | index of its title, -1 for none |
    /// | table | index of its first alignment | number of columns |
    /// | footnoteDefinition, footnoteReference | index of its label in the strings | its number |
    var value: Int32 = -1
    var extra: Int32 = 0

    init(_ tag: NodeTag, start: Int, end: Int) {
        self.tag = tag
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
    }
}
