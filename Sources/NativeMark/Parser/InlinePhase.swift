/// The second phase: the content of paragraphs, headings and cells, and which footnotes are there.
enum InlinePhase {
    static func run(on builder: inout DocumentBuilder, options: Document.Options) {
        var parser = InlineParser(taking: &builder, options: options)
        let content = parser.builder.content
        content.withUnsafeBufferPointer { bytes in
            parser.bytes = bytes
            parser.parseLeaves()
        }
        parser.deallocate()
        swap(&builder, &parser.builder)
        builder.content += parser.extra
    }
}

extension InlineParser {
    /// Leaves that are in no footnote, then those of footnotes in the order of the first reference to each, which may refer
    /// to more of them. A footnote that nothing refers to goes.
    mutating func parseLeaves() {
        var next = 0
        for definition in builder.footnoteDefinitions {
            for leaf in next..<max(next, definition.leaves.lowerBound) { parse(leaf: builder.leaves[leaf]) }
            next = max(next, definition.leaves.upperBound)
            builder.detach(definition.node)
        }
        for leaf in next..<builder.leaves.count { parse(leaf: builder.leaves[leaf]) }

        var number = 0
        while number < usedFootnotes.count {
            let footnote = usedFootnotes[number]
            number += 1
            for leaf in footnote.leaves { parse(leaf: builder.leaves[leaf]) }
            builder.attach(footnote.node, to: 0)
            builder.nodes[Int(footnote.node)].extra = Int32(number)
        }
    }
}

extension DocumentBuilder {
    /// Makes a node that was unlinked the last child.
    fileprivate mutating func attach(_ index: Int32, to parent: Int32) {
        let last = nodes[Int(parent)].lastChild
        nodes[Int(index)].parent = parent
        nodes[Int(index)].previous = last
        nodes[Int(parent)].lastChild = index
        if last >= 0 { nodes[Int(last)].next = index } else { nodes[Int(parent)].firstChild = index }
    }
}
