extension Document {
    /// All images in document order: what an app loads while the text shows already.
    ///
    ///     for image in document.images {
    ///         guard case .image(let source, _) = image.kind else { continue }
    ///         load(source)
    ///     }
    ///
    /// Linear in the number of nodes.
    public var images: [Node] {
        indices { $0.tag == .image }
    }

    /// All nodes that a condition holds for, in document order.
    ///
    ///     let headings = document.nodes { if case .heading = $0.kind { true } else { false } }
    ///
    /// The condition is asked once for each node.
    public func nodes(where condition: (Node) -> Bool) -> [Node] {
        var result: [Node] = []
        for case .enter(let node) in events where condition(node) {
            result.append(node)
        }
        return result
    }

    private func indices(where condition: (NodeRecord) -> Bool) -> [Node] {
        var result: [Node] = []
        var walk = TreeWalk(from: 0)
        while let step = walk.next(in: storage.nodes) {
            if step.isEnter, condition(storage.nodes[step.index]) {
                result.append(Node(document: self, id: step.index))
            }
        }
        return result
    }
}
