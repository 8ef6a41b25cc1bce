extension Document {
    /// One step of a traversal of the tree.
    public enum Event: Sendable, Hashable {
        /// The traversal reaches a node. The events of its children follow.
        case enter(Node)
        /// The traversal leaves a node that can have children.
        case leave(Node)
    }

    /// The events of a depth-first traversal of the whole tree, in document order.
    ///
    ///     for event in document.events {
    ///         switch event {
    ///         case .enter(let node): open(node)
    ///         case .leave(let node): close(node)
    ///         }
    ///     }
    ///
    /// A node that can have children produces both events, even if it has none. The other kinds (`text`, `softBreak`, `lineBreak`, `code`,
    /// `thematicBreak`, `footnoteReference`) produce only `enter`. The traversal doesn't recurse.
    public var events: Events { Events(of: root) }

    /// The sequence of ``Document/events``. A copy continues from the current position.
    public struct Events: Sequence, IteratorProtocol, Sendable {
        private let document: Document
        private let start: NodePlace
        private var upcoming: (place: NodePlace, isEnter: Bool)?

        init(of node: Node) {
            document = node.document
            start = node.place
            upcoming = (node.place, true)
        }

        /// Returns the next event, or `nil` at the end.
        public mutating func next() -> Event? {
            guard let (place, isEnter) = upcoming else { return nil }
            let storage = document.storage
            if isEnter, let child = storage.firstChild(of: place) {
                upcoming = (child, true)
            } else if isEnter, !storage.isLeaf(place) {
                upcoming = (place, false)
            } else if place == start {
                upcoming = nil
            } else if let next = storage.next(after: place) {
                upcoming = (next, true)
            } else {
                upcoming = storage.parent(of: place).map { ($0, false) }
            }
            let node = Node(document: document, place: place)
            return isEnter ? .enter(node) : .leave(node)
        }
    }
}

extension Document.Node {
    /// The events of a traversal of this node and its descendants.
    public var events: Document.Events { Document.Events(of: self) }
}

/// A traversal of one region without a stack or recursion: every node stores the index of its parent.
struct TreeWalk: Sendable {
    struct Step {
        var node: NodeRecord
        var isEnter: Bool
    }

    private let start: Int
    private var upcoming: (index: Int, isEnter: Bool)?

    init(from start: Int) {
        self.start = start
        upcoming = (start, true)
    }

    @inline(__always) mutating func next(in region: DocumentRegion) -> Step? {
        guard let (index, isEnter) = upcoming else { return nil }
        let node = region[index]
        if isEnter, node.firstChild >= 0 {
            upcoming = (Int(node.firstChild), true)
        } else if isEnter, !node.tag.isLeaf {
            upcoming = (index, false)
        } else if index == start {
            upcoming = nil
        } else if node.next >= 0 {
            upcoming = (Int(node.next), true)
        } else {
            upcoming = (Int(node.parent), false)
        }
        return Step(node: node, isEnter: isEnter)
    }
}
