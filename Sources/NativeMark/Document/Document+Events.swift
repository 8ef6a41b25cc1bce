extension Document {
    /// One step of a walk over the tree.
    public enum Event: Sendable, Hashable {
        /// A node begins: its children follow.
        case enter(Node)
        /// A node that can have children ends.
        case leave(Node)
    }

    /// The whole tree in document order, without recursion.
    ///
    ///     for event in document.events {
    ///         switch event {
    ///         case .enter(let node): open(node)
    ///         case .leave(let node): close(node)
    ///         }
    ///     }
    ///
    /// A node that can have children gives both events, even if it has none. The others (`text`, `softBreak`, `lineBreak`,
    /// `code`, `thematicBreak`, `footnoteReference`) give only `enter`.
    public var events: Events { Events(of: root) }

    /// The walk of ``Document/events``. It is a value: a copy goes on from where it is.
    public struct Events: Sequence, IteratorProtocol, Sendable {
        private let document: Document
        private var walk: TreeWalk

        init(of node: Node) {
            document = node.document
            walk = TreeWalk(from: node.id)
        }

        /// The next event; nil at the end.
        public mutating func next() -> Event? {
            guard let step = walk.next(in: document.storage.nodes) else { return nil }
            let node = Node(document: document, id: step.index)
            return step.isEnter ? .enter(node) : .leave(node)
        }
    }
}

extension Document.Node {
    /// The same walk over this node and what is below it.
    public var events: Document.Events { Document.Events(of: self) }
}

/// A walk over the links of the nodes, with no stack: every node knows its parent.
struct TreeWalk: Sendable {
    struct Step {
        var index: Int
        var isEnter: Bool
    }

    private let start: Int
    private var upcoming: Step?

    init(from start: Int) {
        self.start = start
        upcoming = Step(index: start, isEnter: true)
    }

    mutating func next(in nodes: [NodeRecord]) -> Step? {
        guard let step = upcoming else { return nil }
        let record = nodes[step.index]
        if step.isEnter, record.firstChild >= 0 {
            upcoming = Step(index: Int(record.firstChild), isEnter: true)
        } else if step.isEnter, !record.tag.isLeaf {
            upcoming = Step(index: step.index, isEnter: false)
        } else if step.index == start {
            upcoming = nil
        } else if record.next >= 0 {
            upcoming = Step(index: Int(record.next), isEnter: true)
        } else {
            upcoming = Step(index: Int(record.parent), isEnter: false)
        }
        return step
    }
}
