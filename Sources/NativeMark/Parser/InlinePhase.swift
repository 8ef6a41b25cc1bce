/// The second phase of the parser: the content of paragraphs, headings and cells, and the order of the footnotes.
enum InlinePhase {
    /// Returns the used definitions of the context, and the number of bytes that references may still add.
    @discardableResult
    static func run(
        on builder: inout DocumentBuilder, options: Document.Options, context: DocumentContext? = nil
    ) -> (uses: [DocumentContext.Use], expansion: Int) {
        var parser = InlineParser(taking: &builder, options: options, context: context)
        let content = parser.builder.content
        content.withUnsafeBufferPointer { bytes in
            parser.bytes = bytes
            parser.parseLeaves()
        }
        let result = (parser.uses, parser.expansionLeft)
        parser.deallocate()
        swap(&builder, &parser.builder)
        if !parser.extra.isEmpty { builder.content += parser.extra }
        return result
    }
}

extension InlineParser {
    /// Parses the leaves outside footnotes, then the footnotes in the order of their first references. Footnotes may refer to further
    /// footnotes. A footnote without a reference is removed.
    mutating func parseLeaves() {
        var next = 0
        let isBodyWanted = context?.footnotesInOrder == nil
        for definition in builder.footnoteDefinitions {
            if isBodyWanted {
                for leaf in next..<max(next, definition.leaves.lowerBound) { parse(leaf: builder.leaves[leaf]) }
            }
            next = max(next, definition.leaves.upperBound)
            builder.detach(definition.node)
        }
        if isBodyWanted {
            for leaf in next..<builder.leaves.count { parse(leaf: builder.leaves[leaf]) }
        }
        if let order = context?.footnotesInOrder {
            builder.nodes[0].firstChild = -1
            builder.nodes[0].lastChild = -1
            for label in order { _ = useFootnote(label) }
        } else if context != nil {
            return
        }

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
    fileprivate mutating func attach(_ index: Int32, to parent: Int32) {
        let last = nodes[Int(parent)].lastChild
        nodes[Int(index)].parent = parent
        nodes[Int(index)].previous = last
        nodes[Int(parent)].lastChild = index
        if last >= 0 { nodes[Int(last)].next = index } else { nodes[Int(parent)].firstChild = index }
    }
}
