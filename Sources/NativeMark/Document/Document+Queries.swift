extension Document {
    /// All images in document order. O(n) in the number of nodes.
    ///
    ///     for image in document.images {
    ///         guard case .image(let source, _) = image.kind else { continue }
    ///         load(source)
    ///     }
    public var images: [Node] {
        var result: [Node] = []
        for case .enter(let node) in events where !node.place.isRoot {
            if storage.record(at: node.place).tag == .image { result.append(node) }
        }
        return result
    }

    /// Returns the nodes that satisfy a condition, in document order.
    ///
    ///     let headings = document.nodes { if case .heading = $0.kind { true } else { false } }
    public func nodes(where condition: (Node) -> Bool) -> [Node] {
        var result: [Node] = []
        for case .enter(let node) in events where condition(node) {
            result.append(node)
        }
        return result
    }
}
