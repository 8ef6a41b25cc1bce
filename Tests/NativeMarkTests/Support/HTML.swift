import NativeMark

/// The HTML of a text.
func html(_ markdown: String, _ options: Document.Options = .init()) -> String {
    HTMLRenderer().render(Document(markdown, options: options))
}

extension Document {
    /// The first node of a kind, in document order.
    func first(where condition: (Kind) -> Bool) -> Node? {
        nodes { condition($0.kind) }.first
    }

    /// The source text of a node.
    func source(of node: Node) -> String {
        String(decoding: Array(source.utf8)[node.sourceRange], as: UTF8.self)
    }
}
