extension BlockParser {
    /// Opens the blocks that begin on the line. Returns the number of open blocks that the line has matched, or -1 if the whole line has
    /// been consumed.
    mutating func beginBlocks(matched: Int) -> Int {
        var matched = matched
        while true {
            builder.steps &+= 1
            // The line continues a paragraph unless a block begins.
            let inParagraph = open[matched - 1].tag == .paragraph && matched == open.count
            let mayBeLazy = open[open.count - 1].tag == .paragraph
            guard !isBlank else { return matched }
            if indent >= 4 {
                guard !mayBeLazy else { return matched }
                advanceColumns(4)
                closeForNew(matched)
                beginLeaf(.codeBlock, at: offset)
                addCodeLine()
                return -1
            }
            if options.tables, matched == open.count, beginTable() { return -1 }
            switch source[nonspace] {
            case 0x3E where matched < Self.maximalDepth:
                closeForNew(matched)
                addContainer(.blockQuote)
                readToNonspace()
                advance(1)
                skipOptionalSpace()
                matched = open.count
                continue
            case 0x23 where beginHeading(matched): return -1
            case 0x60 where beginFence(matched), 0x7E where beginFence(matched): return -1
            case 0x3D where inParagraph && endAsHeading(level: 1): return -1
            case 0x2D where inParagraph && endAsHeading(level: 2): return -1
            case 0x2A where beginThematicBreak(matched), 0x2D where beginThematicBreak(matched),
                0x5F where beginThematicBreak(matched):
                return -1
            case 0x5B where options.footnotes && beginFootnote(matched):
                matched = open.count
                continue
            case 0x2A, 0x2B, 0x2D, 0x30...0x39:
                guard matched < Self.maximalDepth, beginItem(matched, inParagraph: inParagraph) else {
                    return matched
                }
                matched = open.count
                continue
            default: break
            }
            return matched
        }
    }

    // MARK: Containers

    /// Closes the blocks that the line doesn't continue, and a paragraph or table that the new block interrupts.
    private mutating func closeForNew(_ matched: Int) {
        closeInterrupted(matched)
        closeUnfittingList()
    }

    private mutating func closeInterrupted(_ matched: Int) {
        close(downTo: matched)
        let tag = open[open.count - 1].tag
        if tag == .paragraph || tag == .table { close(downTo: open.count - 1) }
    }

    /// Closes a list, because only items can be its children.
    mutating func closeUnfittingList() {
        if open[open.count - 1].tag == .list { close(downTo: open.count - 1) }
    }

    mutating func addContainer(_ tag: NodeTag) {
        beginChild(at: nonspace)
        let node = builder.append(
            NodeRecord(tag, start: nonspace, end: nonspace + 1), to: open[open.count - 1].node)
        open.append(OpenBlock(node: node, tag: tag))
    }

    /// Records that a block begins in the innermost container. If there is a blank line before it, the enclosing list is loose.
    mutating func beginChild(at start: Int) {
        let index = open.count - 1
        if index == 0, !keepsRegion { beginRegion(at: start) }
        if open[index].hadChild, blankLine == lineNumber - 1, index >= blankDepth {
            if open[index].tag == .item {
                builder.nodes[Int(open[index - 1].node)].flag = false
            } else if open[index].tag == .list {
                builder.nodes[Int(open[index].node)].flag = false
            }
        }
        open[index].hadChild = true
    }

    mutating func beginLeaf(_ tag: NodeTag, at start: Int) {
        beginChild(at: start)
        let node = builder.append(NodeRecord(tag, start: start, end: lineEnd), to: open[open.count - 1].node)
        var block = OpenBlock(node: node, tag: tag)
        block.contentStart = builder.content.count
        open.append(block)
    }

    // MARK: Leaves

    private mutating func beginHeading(_ matched: Int) -> Bool {
        var end = endOfRun(from: nonspace)
        let level = end - nonspace
        guard level <= 6, end == lineEnd || source[end].isSpaceOrTab else { return false }
        end = afterSpaces(in: end..<lineEnd)
        closeForNew(matched)
        beginLeaf(.heading, at: nonspace)
        var last = beforeSpaces(in: end..<lineEnd)
        let index = Int(open[open.count - 1].node)
        builder.nodes[index].end = Int32(last > end ? last : nonspace + level)
        var hashes = last
        while hashes > end, source[hashes - 1] == 0x23 { hashes -= 1 }
        if hashes == end {
            last = end
        } else if source[hashes - 1].isSpaceOrTab {
            last = beforeSpaces(in: end..<hashes)
        }
        builder.nodes[index].detail = UInt8(level)
        let oldEnd = lineEnd
        lineEnd = last
        appendContent(from: end)
        lineEnd = oldEnd
        close(downTo: open.count - 1)
        return true
    }

    private mutating func beginFence(_ matched: Int) -> Bool {
        let character = source[nonspace]
        let end = endOfRun(from: nonspace)
        let length = end - nonspace
        guard length >= 3, character != 0x60 || !source[end..<lineEnd].contains(0x60) else { return false }
        closeForNew(matched)
        beginLeaf(.codeBlock, at: nonspace)
        let index = open.count - 1
        open[index].width = length
        open[index].indentation = indent
        open[index].character = character
        open[index].codeEnd = builder.content.count
        let last = beforeSpaces(in: end..<lineEnd)
        let info = afterSpaces(in: end..<last)..<last
        builder.nodes[Int(open[index].node)].end = Int32(last)
        builder.nodes[Int(open[index].node)].detail = 1
        if !info.isEmpty {
            builder.nodes[Int(open[index].node)].value = builder.add(Unescaping.string(source[info]))
        }
        return true
    }

    private mutating func endAsHeading(level: Int) -> Bool {
        let last = endOfRun(from: nonspace)
        guard afterSpaces(in: last..<lineEnd) == lineEnd else { return false }
        let index = open.count - 1
        readDefinitions(of: index)
        // The paragraph had only definitions, so the line is a thematic break or the text of a new paragraph.
        guard open[index].contentStart < builder.content.count else { return false }
        let node = Int(open[index].node)
        builder.nodes[node].tag = .heading
        builder.nodes[node].detail = UInt8(level)
        open[index].tag = .heading
        close(downTo: index)
        builder.nodes[node].end = Int32(last)
        return true
    }

    private mutating func beginThematicBreak(_ matched: Int) -> Bool {
        guard thematicBreakFailure <= nonspace else { return false }
        let character = source[nonspace]
        var index = nonspace
        var count = 0
        var last = nonspace
        while index < lineEnd {
            builder.steps &+= 1
            if source[index] == character {
                count += 1
                last = index + 1
            } else if !source[index].isSpaceOrTab {
                thematicBreakFailure = index
                return false
            }
            index += 1
        }
        guard count >= 3 else {
            thematicBreakFailure = lineEnd
            return false
        }
        closeForNew(matched)
        beginChild(at: nonspace)
        _ = builder.append(NodeRecord(.thematicBreak, start: nonspace, end: last), to: open[open.count - 1].node)
        return true
    }

    // MARK: Items

    private mutating func beginItem(_ matched: Int, inParagraph: Bool) -> Bool {
        var end = nonspace
        var start = -1
        if source[end].isDigit {
            start = 0
            while end < lineEnd, source[end].isDigit {
                guard end - nonspace < 9 else { return false }
                start = start * 10 + Int(source[end] - 0x30)
                end += 1
            }
            guard end < lineEnd, source[end] == 0x2E || source[end] == 0x29 else { return false }
        }
        let marker = source[end]
        end += 1
        guard end == lineEnd || source[end].isSpaceOrTab else { return false }
        if inParagraph {
            // An item interrupts a paragraph only if it has text and, in an ordered list, the number 1.
            guard start < 0 || start == 1 else { return false }
            guard afterSpaces(in: end..<lineEnd) < lineEnd else { return false }
        }

        let markerStart = nonspace
        let markerIndent = indent
        closeInterrupted(matched)
        readToNonspace()
        advance(end - nonspace)

        var padding = indent
        if isBlank || padding > 4 || padding < 1 { padding = 1 }
        let width = markerIndent + (end - markerStart) + padding

        let last = open[open.count - 1]
        let fits =
            last.tag == .list && last.character == marker
            && (builder.nodes[Int(last.node)].value >= 0) == (start >= 0)
        let contentNonspace = nonspace
        nonspace = markerStart
        if !fits {
            closeUnfittingList()
            addContainer(.list)
            let list = open.count - 1
            open[list].character = marker
            builder.nodes[Int(open[list].node)].detail = marker
            builder.nodes[Int(open[list].node)].value = Int32(start)
            builder.nodes[Int(open[list].node)].flag = true
        }
        addContainer(.item)
        builder.nodes[Int(open[open.count - 1].node)].end = Int32(end)
        open[open.count - 1].width = width
        nonspace = contentNonspace
        if isBlank { readToNonspace() } else { advanceColumns(padding) }
        return true
    }

    // MARK: Footnotes

    private mutating func beginFootnote(_ matched: Int) -> Bool {
        // Footnotes can't be nested, because the leaves of a footnote are a range.
        guard matched < Self.maximalDepth, !open[..<matched].contains(where: { $0.tag == .footnoteDefinition }),
            let end = Footnotes.endOfLabel(in: source, from: nonspace, to: lineEnd), end + 1 < lineEnd,
            source[end + 1] == 0x3A
        else { return false }
        let label = String(decoding: source[(nonspace + 2)..<end], as: UTF8.self)
        closeForNew(matched)
        addContainer(.footnoteDefinition)
        footnoteStart = builder.leaves.count
        let node = Int(open[open.count - 1].node)
        builder.nodes[node].end = Int32(end + 2)
        builder.nodes[node].value = builder.add(label)
        let length = end + 2 - nonspace
        readToNonspace()
        advance(length)
        readToNonspace()
        return true
    }
}
