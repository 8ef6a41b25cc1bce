extension Document {
    /// A node of the tree: a document and the place of the node in it.
    ///
    ///     let heading = document.root.firstChild
    ///     if case .heading(let level)? = heading?.kind { print(level, heading!.plainText) }
    ///
    /// A node keeps its document alive and is as cheap to copy as a reference to it. The properties that return another node are O(1);
    /// between two children of the root, they also skip the definitions there. ``kind`` is O(1) too, except for creating the strings in it.
    public struct Node: Sendable, Identifiable {
        /// The document that contains the node.
        public let document: Document
        let place: NodePlace

        /// The number of the node in its document. The root is 0. Parsing the same text with the same options gives the same numbers.
        public var id: Int { document.storage.number(of: place) }

        /// The kind of the node.
        public var kind: Kind { document.storage.kind(of: place) }

        /// The range of the node in the source, as UTF-8 offsets. O(log n) in the number of lines.
        ///
        /// The range begins at the node's first marker, ends before its last line ending, and contains the ranges of its children. The
        /// range of a text with resolved entities or escapes covers them. In a block quote or list, a range of several lines includes the
        /// markers at the beginning of its inner lines. Siblings are in order and don't overlap, except for footnotes, whose ranges are where
        /// they are in the source. A cell that a row of a table lacks has an empty range at the end of the row.
        public var sourceRange: Range<Int> { document.storage.sourceRange(of: place) }

        /// The same range in UTF-16 code units, for `NSRange` and text views. O(log n) in the number of lines.
        ///
        ///     document.root.utf16SourceRange.count == document.source.utf16.count
        public var utf16SourceRange: Range<Int> { document.storage.utf16Range(of: place) }

        /// The parent, or `nil` for the root.
        public var parent: Node? { neighbour(document.storage.parent(of: place)) }
        /// The first child, or `nil` if the node has no children.
        public var firstChild: Node? { neighbour(document.storage.firstChild(of: place)) }
        /// The last child, or `nil` if the node has no children.
        public var lastChild: Node? { neighbour(document.storage.lastChild(of: place)) }
        /// The next child of the same parent.
        public var nextSibling: Node? { neighbour(document.storage.next(after: place)) }
        /// The previous child of the same parent.
        public var previousSibling: Node? { neighbour(document.storage.previous(before: place)) }

        /// The children in order.
        public var children: some Sequence<Node> {
            sequence(first: firstChild) { $0?.nextSibling }.prefix { $0 != nil }.lazy.map { $0! }
        }

        /// The text of the node and its descendants without markup. O(n) in the size of the subtree.
        ///
        /// Line breaks become line feeds, soft breaks become spaces, and a line feed separates blocks.
        public var plainText: String { document.storage.plainText(of: place) }

        private func neighbour(_ place: NodePlace?) -> Node? {
            place.map { Node(document: document, place: $0) }
        }
    }
}

extension Document.Node: Hashable {
    /// Returns whether two nodes have the same ``id`` in equal documents. O(1) within one document; see ``Document`` for two.
    public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.document == right.document
    }

    /// Hashes only ``id``: hashing the document takes time linear in its length.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}
