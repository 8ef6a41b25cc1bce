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
            // The parent covers the block even if the block left no node.
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

    /// Reads `[ ]` or `[x]` at the beginning of an item, and returns the beginning of the text after it.
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
        // The text includes the last line feed; its source range doesn't.
        var text = NodeRecord(.text, start: block.contentStart, end: block.codeEnd - 1)
        text.value = Int32(block.contentStart)
        text.extra = Int32(length)
        _ = builder.append(text, to: block.node)
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
