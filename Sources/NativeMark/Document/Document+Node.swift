extension Document {
    /// One place in the tree: a document and a number.
    ///
    ///     let heading = document.root.firstChild
    ///     if case .heading(let level)? = heading?.kind { print(level, heading!.plainText) }
    ///
    /// A node keeps its document alive, and costs no more than a reference to it. Going to a neighbour is O(1), and so is
    /// ``kind`` but for the strings in it, which are made on demand.
    ///
    /// Nodes are equal when they have the same ``id`` in equal documents.
    public struct Node: Sendable, Identifiable {
        /// The document that the node is of.
        public let document: Document
        /// Its number in the document: 0 is the root. Parsing the same text with the same options gives the same numbers.
        public let id: Int

        init(document: Document, id: Int) {
            self.document = document
            self.id = id
        }

        /// What the node is.
        public var kind: Kind { document.storage.kind(of: id) }

        /// Where the node stands in the source, in UTF-8 bytes.
        ///
        /// From the first byte of the first marker to the last byte that is not the end of a line; the range of a parent covers
        /// its children. A text whose entities were resolved covers the source of those. In a block quote or list the range of
        /// several lines has the markers in between in it. O(log n) in the number of lines.
        public var sourceRange: Range<Int> { document.storage.sourceRange(of: id) }

        /// The node that this one is a child of; nil for the root.
        public var parent: Node? { neighbour(record.parent) }
        /// The first child, if there is one.
        public var firstChild: Node? { neighbour(record.firstChild) }
        /// The last child, if there is one.
        public var lastChild: Node? { neighbour(record.lastChild) }
        /// The next child of the same parent.
        public var nextSibling: Node? { neighbour(record.next) }
        /// The previous child of the same parent.
        public var previousSibling: Node? { neighbour(record.previous) }

        /// The children in order.
        public var children: some Sequence<Node> {
            sequence(first: firstChild) { $0?.nextSibling }.prefix { $0 != nil }.lazy.map { $0! }
        }

        /// All text below the node without its markup: a line break counts as a line feed, a soft one as a space, and two
        /// blocks have a line feed in between. Linear in the size of the subtree.
        public var plainText: String { document.storage.plainText(of: id) }

        private var record: NodeRecord { document.storage.nodes[id] }

        private func neighbour(_ index: Int32) -> Node? {
            index < 0 ? nil : Node(document: document, id: Int(index))
        }
    }
}

extension Document.Node: Hashable {
    /// Whether both are the same place in equal documents: O(1) in one document, see ``Document`` for two.
    public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.document == right.document
    }

    /// Hashes the number only, because hashing the document takes time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}
