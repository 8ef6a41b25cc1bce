/// Parses a text in two phases: blocks line by line, then the content of each leaf block.
enum DocumentParser {
    static func parse(_ markdown: String, options: Document.Options) -> DocumentStorage {
        var source = markdown
        source.makeContiguousUTF8()
        var nodes = [NodeRecord(.document, start: 0, end: source.utf8.count)]
        var map = SourceMap()
        let bytes = Array(source.utf8)
        precondition(bytes.count < Int(Int32.max), "A document must be shorter than 2 GiB.")
        map.append(content: 0, source: 0)

        func add(_ node: NodeRecord, to parent: Int32) -> Int32 {
            let index = Int32(nodes.count)
            var node = node
            node.parent = parent
            node.previous = nodes[Int(parent)].lastChild
            if node.previous >= 0 {
                nodes[Int(node.previous)].next = index
            } else {
                nodes[Int(parent)].firstChild = index
            }
            nodes[Int(parent)].lastChild = index
            nodes.append(node)
            return index
        }
        var paragraph: Int32 = -1
        var position = 0
        while position < bytes.count {
            let end = bytes[position...].firstIndex(of: 0x0A) ?? bytes.count
            if position == end {
                paragraph = -1
            } else {
                if paragraph < 0 {
                    paragraph = add(NodeRecord(.paragraph, start: position, end: end), to: 0)
                } else {
                    _ = add(NodeRecord(.softBreak, start: position - 1, end: position), to: paragraph)
                }
                nodes[Int(paragraph)].end = Int32(end)
                var text = NodeRecord(.text, start: position, end: end)
                text.value = Int32(position)
                text.extra = Int32(end - position)
                _ = add(text, to: paragraph)
            }
            position = end + 1
        }
        return DocumentStorage(
            source: source, options: options, nodes: nodes, bytes: bytes, map: map, strings: [], alignments: [])
    }
}
