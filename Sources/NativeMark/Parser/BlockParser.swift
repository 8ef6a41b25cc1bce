/// The first phase of the parser: reads the text line by line and keeps a stack of open blocks.
///
/// For each line it determines which open containers continue (their markers are present) and which blocks begin after them. The rest is
/// text of the innermost block. This is the strategy of the appendix of the CommonMark specification. The work for a line is linear in
/// its length plus the depth of the stack, which is limited.
struct BlockParser {
    /// The maximum number of open containers. Deeper markers are text.
    static let maximalDepth = 100

    var source: UnsafeBufferPointer<UInt8>
    /// Whether the source is the beginning of the text. Otherwise it is a later part.
    var beginsText = true
    let options: Document.Options
    var builder: DocumentBuilder
    var open: [OpenBlock] = []

    // The current line: its range in the source, and the position of the parser in it.
    var lineNumber = 0
    var lineStart = 0
    var lineEnd = 0
    var offset = 0
    var column = 0
    /// The number of columns already read of the tab at `offset`.
    var tabRead = 0
    // The first character after the spaces and tabs at `offset`.
    var nonspace = 0
    var nonspaceColumn = 0
    var indent: Int { nonspaceColumn - column }
    var isBlank: Bool { nonspace >= lineEnd }

    /// The number of the last blank line, and the depth of the block quotes on it.
    var blankLine = -2
    var blankDepth = 0
    /// The position at which the current line failed to be a thematic break. It also fails at every earlier position.
    var thematicBreakFailure = 0
    var footnoteStart = -1
    /// The number of cells added to complete rows. It is limited so that a short text can't produce a huge table.
    var autocompletedCells = 0
    var maximalAutocompletedCells: Int
    /// Whether the line before a table's header stays in the region of the table.
    var keepsRegion = false
    /// For a text that arrives in pieces: the findings so far.
    var regions: RegionScan?

    struct OpenBlock {
        var node: Int32
        var tag: NodeTag
        /// Item: the columns of the content, from the indentation of the container. Fence: its length.
        var width = 0
        /// Fence: its indentation. Paragraph: the indentation of its last line.
        var indentation = 0
        /// Fence: its character. List: its marker.
        var character: UInt8 = 0
        /// Leaf: the beginning of its content.
        var contentStart = 0
        /// Paragraph: the beginning of its last line, in the content and in the source.
        var lastLine = 0
        var lastLineSource = 0
        /// Paragraph: its end before the last line.
        var previousEnd: Int32 = 0
        /// Container: whether it had a child, including definitions, which leave no node.
        var hadChild = false
        /// Indented code: the end of the last line that isn't blank.
        var codeEnd = 0
    }

    /// Creates a parser for a text, or for the end of a text from the beginning of a region on, of which `length` bytes are expected to be
    /// parsed.
    init(source: UnsafeBufferPointer<UInt8>, options: Document.Options, from start: Int = 0, length: Int? = nil) {
        self.source = source
        self.options = options
        builder = DocumentBuilder(length: length ?? source.count)
        maximalAutocompletedCells = Self.maximalAutocompletedCells(ofLength: source.count)
        open.append(OpenBlock(node: 0, tag: .document))
        builder.marks.append(mark(at: start))
    }

    static func maximalAutocompletedCells(ofLength length: Int) -> Int { max(0x10000, length) }

    mutating func parse() {
        parseLines(from: 0, to: source.count)
        finish()
    }

    /// Closes all blocks and the last region.
    mutating func finish() {
        close(downTo: 0)
        builder.marks.append(mark(at: source.count))
    }

    /// Returns the position of the next line.
    @discardableResult
    mutating func parseLines(from start: Int, to count: Int, while goesOn: (inout Self) -> Bool = { _ in true }) -> Int
    {
        var position = start == 0 ? byteOrderMarkLength : start
        while position < count, goesOn(&self) {
            let end = source.firstLineEnd(in: position..<count)
            lineStart = position
            lineEnd = end
            position = end + 1
            if end < count, source[end] == 0x0D, position < count, source[position] == 0x0A { position += 1 }
            parseLine()
            lineNumber += 1
            builder.steps &+= end - lineStart + 1
        }
        return position
    }

    /// A byte order mark at the beginning of a text isn't part of the first line, as in cmark.
    private var byteOrderMarkLength: Int {
        beginsText && source.count >= 3 && source[0] == 0xEF && source[1] == 0xBB && source[2] == 0xBF ? 3 : 0
    }

    // MARK: One line

    private mutating func parseLine() {
        offset = lineStart
        column = 0
        tabRead = 0
        thematicBreakFailure = 0
        findNonspace()

        var matched = 1
        var quoteDepth = 0
        while matched < open.count {
            builder.steps &+= 1
            guard let goesOn = matchContainer(at: matched) else { return }  // The line closed a fence.
            guard goesOn else { break }
            if open[matched].tag == .blockQuote { quoteDepth = matched }
            matched += 1
        }

        let allMatched = matched == open.count
        // If its item doesn't continue, a list stays open only if another item follows.
        let isCode = allMatched && open[matched - 1].tag == .codeBlock
        if isBlank {
            blankLine = lineNumber
            blankDepth = quoteDepth
        }
        if isCode {
            addCodeLine()
            return
        }
        let depth = beginBlocks(matched: matched)
        addText(matched: depth, began: depth > matched || depth < 0)
    }

    /// Returns whether the line continues a block, or `nil` if it closed a fence.
    private mutating func matchContainer(at index: Int) -> Bool? {
        switch open[index].tag {
        case .blockQuote:
            guard indent < 4, !isBlank, source[nonspace] == 0x3E else { return false }
            readToNonspace()
            advance(1)
            skipOptionalSpace()
            return true
        case .list:
            return true
        case .item:
            // An item that begins with two blank lines ends at the second.
            guard !isBlank || open[index].hadChild else { return false }
            if indent >= open[index].width {
                advanceColumns(open[index].width)
                return true
            }
            guard isBlank else { return false }
            readToNonspace()
            return true
        case .footnoteDefinition:
            if indent >= 4 {
                advanceColumns(4)
                return true
            }
            guard isBlank else { return false }
            readToNonspace()
            return true
        case .codeBlock:
            return matchCode(at: index)
        case .paragraph:
            return !isBlank
        case .table:
            return !isBlank && indent < 4
        default:
            return false
        }
    }

    private mutating func matchCode(at index: Int) -> Bool? {
        let block = open[index]
        guard block.character != 0 else {
            if indent >= 4 {
                advanceColumns(4)
                return true
            }
            guard isBlank else { return false }
            readToNonspace()
            return true
        }
        if indent < 4, !isBlank, source[nonspace] == block.character {
            var end = nonspace
            while end < lineEnd, source[end] == block.character { end += 1 }
            let length = end - nonspace
            while end < lineEnd, source[end].isSpaceOrTab { end += 1 }
            if length >= block.width, end == lineEnd {
                builder.nodes[Int(block.node)].end = Int32(nonspace + length)
                close(downTo: index)
                return nil
            }
        }
        var left = block.indentation
        while left > 0, offset < lineEnd, source[offset].isSpaceOrTab {
            advanceColumns(1)
            left -= 1
        }
        return true
    }

    /// Adds the rest of the line to the innermost block, or begins a paragraph with it, unless it is blank.
    private mutating func addText(matched: Int, began: Bool) {
        guard matched >= 0 else { return }
        let tip = open.count - 1
        if isBlank {
            if matched < open.count { close(downTo: matched) }
            return
        }
        if !began, open[tip].tag == .paragraph {
            addParagraphLine(to: tip)
            return
        }
        close(downTo: matched)
        let last = open.count - 1
        if open[last].tag == .table {
            if addTableRow(to: last) { return }
            close(downTo: last)
        }
        closeUnfittingList()
        beginLeaf(.paragraph, at: nonspace)
        addParagraphLine(to: open.count - 1)
    }

    mutating func addParagraphLine(to index: Int) {
        open[index].lastLine = builder.content.count
        open[index].lastLineSource = nonspace
        open[index].indentation = indent
        open[index].previousEnd = builder.nodes[Int(open[index].node)].end
        appendContent(from: nonspace)
        var end = lineEnd
        while end > nonspace, source[end - 1].isSpaceOrTab { end -= 1 }
        builder.nodes[Int(open[index].node)].end = Int32(end)
    }

    private mutating func addCodeLine() {
        let index = open.count - 1
        let isIndented = open[index].character == 0
        appendCode()
        // Trailing blank lines don't belong to indented code.
        if !isBlank || !isIndented {
            builder.nodes[Int(open[index].node)].end = Int32(lineEnd)
            open[index].codeEnd = builder.content.count
        }
    }

    /// The unread columns of a tab become spaces.
    mutating func appendCode() {
        if tabRead > 0, offset < lineEnd {
            for _ in 0..<(4 - column % 4) {
                builder.map.append(content: builder.content.count, source: offset)
                builder.content.append(0x20)
            }
            offset += 1
            tabRead = 0
        }
        appendContent(from: min(offset, lineEnd))
    }

    mutating func appendContent(from start: Int) {
        var start = start
        while true {
            builder.map.append(content: builder.content.count, source: start)
            let zero = source.firstZero(in: start..<lineEnd)
            builder.content.append(contentsOf: source[start..<zero])
            guard zero < lineEnd else { break }
            builder.map.append(content: builder.content.count, source: zero)
            builder.content.append(contentsOf: [0xEF, 0xBF, 0xBD])
            start = zero + 1
        }
        builder.content.append(0x0A)
    }
}
