/// The first phase of the parser: reads the text line by line and keeps a stack of open blocks.
///
/// For each line, it finds the open containers that continue, because their markers are present, and the blocks that begin after them. The
/// rest of the line is text of the innermost block. This strategy comes from the appendix of the CommonMark specification. A line takes
/// time linear in its length plus the depth of the stack, which is limited.
struct BlockParser {
    /// The maximum number of open containers. Deeper markers are text.
    static let maximalDepth = 100

    var source: UnsafeBufferPointer<UInt8>
    /// Whether the source is at the beginning of the text. Otherwise it is a later part.
    var beginsText = true
    let options: Document.Options
    var builder: DocumentBuilder
    var open: [OpenBlock] = []

    // The current line: its range in the source, and the position of the parser in it.
    var lineNumber = 0
    private var lineStart = 0
    var lineEnd = 0
    /// Whether the line contains a zero byte, which becomes U+FFFD.
    private var hasZero = false
    var offset = 0
    var column = 0
    /// The number of columns of the tab at `offset` that have already been read.
    private var tabRead = 0
    // The first character after the spaces and tabs at `offset`.
    var nonspace = 0
    private var nonspaceColumn = 0
    var indent: Int { nonspaceColumn - column }
    var isBlank: Bool { nonspace >= lineEnd }

    /// The number of the last blank line, and the depth of the innermost block quote on it.
    var blankLine = -2
    var blankDepth = 0
    /// The position where the current line turned out not to be a thematic break. No thematic break begins before it.
    var thematicBreakFailure = 0
    var footnoteStart = -1
    /// The number of cells added to short rows. It is limited so that a short text can't produce a huge table.
    var autocompletedCells = 0
    var maximalAutocompletedCells: Int
    /// Whether the paragraph before a table's header stays in the table's region.
    var keepsRegion = false
    /// For a text that arrives in pieces: the regions and definitions found so far.
    var regions: RegionScan?

    struct OpenBlock {
        var node: Int32
        var tag: NodeTag
        /// Item: the columns from the container's content to the item's content. Fence: its length.
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
        /// Code: the end of its content. In indented code, that excludes blank lines at the end.
        var codeEnd = 0
    }

    /// Creates a parser for a text, or for the rest of a text from the region that begins at `start`. `length` is the number of bytes that
    /// are expected to be parsed.
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

    /// Parses lines as long as `goesOn` returns `true`. Returns the position of the next line.
    @discardableResult
    mutating func parseLines(from start: Int, to count: Int, while goesOn: (inout Self) -> Bool = { _ in true }) -> Int
    {
        var position = start == 0 ? byteOrderMarkLength : start
        while position < count, goesOn(&self) {
            hasZero = false
            let end = source.firstLineEnd(in: position..<count, hasZero: &hasZero)
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

    /// The length of a byte order mark at the beginning of the text. As in cmark, it isn't part of the first line.
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
            // A list matches every line. It is closed later unless one of its items continues or another item begins.
            return true
        case .item:
            // An item can begin with at most one blank line (CommonMark 5.2).
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
            let end = endOfRun(from: nonspace)
            let length = end - nonspace
            if length >= block.width, afterSpaces(in: end..<lineEnd) == lineEnd {
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

    private mutating func addParagraphLine(to index: Int) {
        open[index].lastLine = builder.content.count
        open[index].lastLineSource = nonspace
        open[index].indentation = indent
        open[index].previousEnd = builder.nodes[Int(open[index].node)].end
        appendContent(from: nonspace)
        builder.nodes[Int(open[index].node)].end = Int32(beforeSpaces(in: nonspace..<lineEnd))
    }

    mutating func addCodeLine() {
        let index = open.count - 1
        let isIndented = open[index].character == 0
        appendCode()
        // Trailing blank lines don't belong to indented code.
        if !isBlank || !isIndented {
            builder.nodes[Int(open[index].node)].end = Int32(lineEnd)
            open[index].codeEnd = builder.content.count
        }
    }

    /// Appends the rest of a line of code. The unread columns of a tab become spaces.
    private mutating func appendCode() {
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
            let zero = hasZero ? source.first(0, in: start..<lineEnd) : lineEnd
            builder.content.append(contentsOf: UnsafeBufferPointer(rebasing: source[start..<zero]))
            guard zero < lineEnd else { break }
            builder.map.append(content: builder.content.count, source: zero)
            builder.content.append(contentsOf: [0xEF, 0xBF, 0xBD])
            start = zero + 1
        }
        builder.content.append(0x0A)
    }
}

// MARK: - Columns

/// The position in a line. A tab extends to the next column that is a multiple of four. It may be read in part.
extension BlockParser {
    private mutating func findNonspace() {
        var index = offset
        var position = column
        while index < lineEnd {
            if source[index] == 0x20 {
                position += 1
            } else if source[index] == 0x09 {
                position += 4 - position % 4
            } else {
                break
            }
            index += 1
        }
        builder.steps &+= index - offset
        nonspace = index
        nonspaceColumn = position
    }

    mutating func readToNonspace() {
        offset = nonspace
        column = nonspaceColumn
        tabRead = 0
    }

    /// The bytes must not contain tabs.
    mutating func advance(_ count: Int) {
        offset += count
        column += count
        tabRead = 0
        findNonspace()
    }

    mutating func advanceColumns(_ count: Int) {
        var left = count
        while left > 0, offset < lineEnd {
            if source[offset] == 0x09 {
                let width = 4 - column % 4
                if width > left {
                    tabRead += left
                    column += left
                    left = 0
                } else {
                    column += width
                    left -= width
                    offset += 1
                    tabRead = 0
                }
            } else {
                offset += 1
                column += 1
                left -= 1
            }
        }
        if nonspace < offset { findNonspace() }
    }

    mutating func skipOptionalSpace() {
        if offset < lineEnd, source[offset].isSpaceOrTab { advanceColumns(1) }
    }

    /// Returns the end of a run of equal bytes in the line.
    func endOfRun(from start: Int) -> Int {
        var end = start
        while end < lineEnd, source[end] == source[start] { end += 1 }
        return end
    }

    /// Returns the position after the spaces and tabs at the beginning of a range.
    func afterSpaces(in range: Range<Int>) -> Int {
        var start = range.lowerBound
        while start < range.upperBound, source[start].isSpaceOrTab { start += 1 }
        return start
    }

    /// Returns the position before the spaces and tabs at the end of a range.
    func beforeSpaces(in range: Range<Int>) -> Int {
        var end = range.upperBound
        while end > range.lowerBound, source[end - 1].isSpaceOrTab { end -= 1 }
        return end
    }

    func trimmed(_ range: Range<Int>) -> Range<Int> {
        let start = afterSpaces(in: range)
        return start..<beforeSpaces(in: start..<range.upperBound)
    }
}

// MARK: - Regions

extension BlockParser {
    func mark(at position: Int) -> RegionMark {
        RegionMark(
            source: position, nodes: builder.nodes.count, content: builder.content.count,
            jumps: builder.map.jumps.count, leaves: builder.leaves.count, strings: builder.strings.count,
            alignments: builder.alignments.count, footnotes: builder.footnoteDefinitions.count,
            definitions: builder.definitions.count, cells: autocompletedCells)
    }

    /// Records that a top-level block begins. All blocks before it are closed.
    mutating func beginRegion(at position: Int) {
        // A table takes its header from the paragraph before it, so the block may begin before the current line.
        var start = position
        while start > 0, source[start - 1].isSpaceOrTab { start -= 1 }
        if regions != nil { return beginScannedRegion(at: start) }
        // Blank lines before the first block belong to it.
        guard let last = builder.marks.last, start > last.source, builder.nodes.count > last.nodes else { return }
        builder.marks.append(mark(at: start))
    }
}

// MARK: - The ends of blocks

extension BlockParser {
    mutating func close(downTo count: Int) {
        while open.count > count {
            builder.steps &+= 1
            let block = open[open.count - 1]
            let node = Int(block.node)
            switch block.tag {
            case .paragraph:
                readDefinitions(of: open.count - 1)
                finishText(open[open.count - 1])
            case .heading: finishText(block)
            case .codeBlock: finishCode(block)
            case .footnoteDefinition: finishFootnote(block)
            default: break
            }
            if block.tag != .document, block.tag != .codeBlock {
                let last = builder.nodes[node].lastChild
                if last >= 0 {
                    builder.nodes[node].end = max(builder.nodes[node].end, builder.nodes[Int(last)].end)
                }
            }
            open.removeLast()
            // The parent includes the block's range even if the block left no node.
            if open.count > 1 {
                let parent = Int(open[open.count - 1].node)
                builder.nodes[parent].end = max(builder.nodes[parent].end, builder.nodes[node].end)
            }
        }
    }

    private mutating func finishText(_ block: OpenBlock) {
        let node = Int(block.node)
        var start = block.contentStart
        var end = builder.content.count
        if block.tag == .paragraph, options.taskItems { start = readTask(of: block) }
        while end > start, builder.content[end - 1].isSpaceOrTab || builder.content[end - 1] == 0x0A { end -= 1 }
        while start < end, builder.content[start].isSpaceOrTab || builder.content[start] == 0x0A { start += 1 }
        if start == end, block.tag == .paragraph {
            builder.detach(block.node)
            return
        }
        builder.nodes[node].value = Int32(start)
        builder.nodes[node].extra = Int32(end - start)
        builder.leaves.append(block.node)
    }

    /// Reads `[ ]` or `[x]` at the beginning of an item. Returns the position of the text after it.
    private mutating func readTask(of block: OpenBlock) -> Int {
        let start = block.contentStart
        let node = builder.nodes[Int(block.node)]
        guard builder.content.count > start + 3, builder.content[start] == 0x5B, node.previous < 0,
            builder.nodes[Int(node.parent)].tag == .item, builder.content[start + 2] == 0x5D,
            builder.content[start + 3].isSpaceOrTab
        else { return start }
        switch builder.content[start + 1] {
        case 0x20: builder.nodes[Int(node.parent)].detail = 1
        case 0x58, 0x78: builder.nodes[Int(node.parent)].detail = 2
        default: return start
        }
        builder.nodes[Int(block.node)].start += 4
        return start + 4
    }

    private mutating func finishCode(_ block: OpenBlock) {
        let length = block.codeEnd - block.contentStart
        guard length > 0 else { return }
        // The text includes the last line feed, but its source range doesn't.
        _ = builder.append(
            NodeRecord(
                .text, start: block.contentStart, end: block.codeEnd - 1, value: block.contentStart, extra: length),
            to: block.node)
    }

    private mutating func finishFootnote(_ block: OpenBlock) {
        let written = builder.strings[Int(builder.nodes[Int(block.node)].value)]
        let label = Labels.folded(written)
        if builder.footnotes[label] == nil {
            regions?.footnotes.append((label, .init(label: written, number: 0)))
            builder.footnotes[label] = .init(
                label: written, region: builder.marks.count - 1, node: block.node,
                leaves: footnoteStart..<builder.leaves.count)
        }
        builder.footnoteDefinitions.append((block.node, footnoteStart..<builder.leaves.count))
    }
}

// MARK: - Link reference definitions (CommonMark 4.7)

extension BlockParser {
    mutating func readDefinitions(of index: Int) {
        let start = open[index].contentStart
        guard start < builder.content.count, builder.content[start] == 0x5B else { return }
        var position = start
        while position < builder.content.count, builder.content[position] == 0x5B {
            guard let end = readDefinition(at: position) else { break }
            position = end
        }
        guard position > start else { return }
        open[index].contentStart = position
        if position < builder.content.count {
            builder.nodes[Int(open[index].node)].start = Int32(
                builder.map.range(of: position..<position + 1).lowerBound)
        }
    }

    /// Reads a definition. Returns the beginning of the next line, or `nil` if there is no definition.
    private mutating func readDefinition(at start: Int) -> Int? {
        let parsed: (label: Range<Int>, parts: LinkParts, end: Int)? = builder.content.withUnsafeBufferPointer {
            bytes in
            guard let labelEnd = Labels.end(in: bytes, from: start, to: bytes.count), labelEnd + 1 < bytes.count,
                bytes[labelEnd + 1] == 0x3A
            else { return nil }
            var position = LinkParts.skipSpace(bytes, from: labelEnd + 2, to: bytes.count)
            guard let destination = LinkParts.destination(bytes, from: position, to: bytes.count) else { return nil }
            position = destination.end
            var parts = LinkParts(destination: destination.range)

            // If something else follows the title on its line, it isn't a title, and the destination must end its own line.
            let titleStart = LinkParts.skipSpace(bytes, from: position, to: bytes.count)
            if titleStart > position, let title = LinkParts.title(bytes, from: titleStart, to: bytes.count),
                let end = LinkParts.endOfLine(bytes, from: title.end)
            {
                parts.title = title.range
                return (start + 1..<labelEnd, parts, end)
            }
            guard let end = LinkParts.endOfLine(bytes, from: position) else { return nil }
            return (start + 1..<labelEnd, parts, end)
        }
        builder.steps &+= (parsed?.end ?? builder.content.count) - start
        guard let parsed else { return nil }
        let (label, link) = builder.content.withUnsafeBufferPointer {
            (Labels.folded($0[parsed.label]), parsed.parts.definition(in: $0))
        }
        guard !label.isEmpty, let definition = link else { return nil }
        builder.definitions.append(.init(label: label, definition: definition))
        if builder.references[label] == nil {
            regions?.definitions.append(.init(label: label, definition: definition))
            builder.references[label] = definition
        }
        return parsed.end
    }
}
