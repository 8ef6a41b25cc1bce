/// The document while it is built: the arena, and what both phases share.
struct DocumentBuilder {
    var nodes: [NodeRecord]
    /// See ``DocumentStorage/bytes``.
    var content: [UInt8] = []
    var map = SourceMap()
    var strings: [String] = []
    var alignments: [Document.Alignment] = []
    /// By folded label.
    var references: [[UInt8]: Reference] = [:]
    var footnotes: [[UInt8]: Footnote] = [:]
    /// All that were read, in order, also those that a footnote before has the label of.
    var footnoteDefinitions: [(node: Int32, leaves: Range<Int>)] = []
    /// Paragraphs, headings and cells whose content is to be parsed, in document order.
    var leaves: [Int32] = []
    var steps = 0

    struct Reference {
        /// Numbers in the strings.
        var destination: Int32
        var title: Int32
        /// What using it adds to the document, in bytes.
        var size: Int
    }

    struct Footnote {
        var node: Int32
        /// Those of the leaves that are in it.
        var leaves: Range<Int>
        /// 0 until a reference is seen.
        var number: Int32 = 0
    }

    /// Nothing yet, not even a root.
    init() {
        nodes = []
    }

    init(length: Int) {
        nodes = []
        // Short texts have more nodes than that as often as not, and would grow twice.
        nodes.reserveCapacity(16 + length / (length < 4_096 ? 8 : 24))
        content.reserveCapacity(length + 16)
        nodes.append(NodeRecord(.document, start: 0, end: length))
    }

    mutating func add(_ string: String) -> Int32 {
        strings.append(string)
        return Int32(strings.count - 1)
    }

    // MARK: Links between nodes

    /// Adds a node as the last child.
    @inline(__always)
    mutating func append(_ record: NodeRecord, to parent: Int32) -> Int32 {
        let index = Int32(truncatingIfNeeded: nodes.count)
        var record = record
        record.parent = parent
        let last = nodes[Int(parent)].lastChild
        record.previous = last
        nodes[Int(parent)].lastChild = index
        if last >= 0 { nodes[Int(last)].next = index } else { nodes[Int(parent)].firstChild = index }
        nodes.append(record)
        return index
    }

    /// Adds a node behind another one.
    mutating func insert(_ record: NodeRecord, after sibling: Int32) -> Int32 {
        let index = Int32(truncatingIfNeeded: nodes.count)
        var record = record
        let parent = nodes[Int(sibling)].parent
        let next = nodes[Int(sibling)].next
        record.parent = parent
        record.previous = sibling
        record.next = next
        nodes[Int(sibling)].next = index
        if next >= 0 { nodes[Int(next)].previous = index } else { nodes[Int(parent)].lastChild = index }
        nodes.append(record)
        return index
    }

    mutating func detach(_ index: Int32) {
        let record = nodes[Int(index)]
        if record.previous >= 0 {
            nodes[Int(record.previous)].next = record.next
        } else if record.parent >= 0 {
            nodes[Int(record.parent)].firstChild = record.next
        }
        if record.next >= 0 {
            nodes[Int(record.next)].previous = record.previous
        } else if record.parent >= 0 {
            nodes[Int(record.parent)].lastChild = record.previous
        }
        nodes[Int(index)].parent = -1
        nodes[Int(index)].next = -1
        nodes[Int(index)].previous = -1
    }

    /// Makes siblings, from one to another, the children of a node that has none.
    ///
    /// Each node is moved once for each level, and does not count as a sibling afterwards: linear in total.
    mutating func move(from first: Int32, through last: Int32, into parent: Int32) {
        guard first >= 0, last >= 0 else { return }
        let before = nodes[Int(first)].previous
        let after = nodes[Int(last)].next
        let old = nodes[Int(first)].parent
        if before >= 0 { nodes[Int(before)].next = after } else { nodes[Int(old)].firstChild = after }
        if after >= 0 { nodes[Int(after)].previous = before } else { nodes[Int(old)].lastChild = before }
        nodes[Int(first)].previous = -1
        nodes[Int(last)].next = -1
        nodes[Int(parent)].firstChild = first
        nodes[Int(parent)].lastChild = last
        var index = first
        while index >= 0 {
            steps &+= 1
            nodes[Int(index)].parent = parent
            index = nodes[Int(index)].next
        }
    }
}
