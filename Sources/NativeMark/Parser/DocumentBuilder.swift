/// The nodes under construction. In the parser's first phase, these are the nodes of the whole document, and in its second phase the nodes
/// of one region.
struct DocumentBuilder {
    var nodes: [NodeRecord] = []
    var content: [UInt8] = []
    var map = SourceMap()
    var strings: [String] = []
    var alignments: [Document.Alignment] = []
    /// The first link definition and the first footnote for each folded label.
    var references: [[UInt8]: DocumentContext.Definition] = [:]
    var footnotes: [[UInt8]: Footnote] = [:]
    /// All link definitions, in order.
    var definitions: [DocumentContext.LabeledDefinition] = []
    /// All footnotes in order, including ones that repeat the label of an earlier footnote.
    var footnoteDefinitions: [(node: Int32, leaves: Range<Int>)] = []
    /// The paragraphs, headings and cells with inline content, in document order.
    var leaves: [Int32] = []
    /// The beginnings of the regions so far, and after parsing, the end of the text.
    var marks: [RegionMark] = []
    var steps = 0

    struct Reference {
        /// Indices in the strings.
        var destination: Int32
        var title: Int32
        /// The number of bytes that one reference adds to the document.
        var size: Int
    }

    struct Footnote {
        var label: String
        /// The index of the region.
        var region: Int
        var node: Int32
        var leaves: Range<Int>
    }

    init() {}

    init(length: Int) {
        nodes.reserveCapacity(16 + length / 64)
        content.reserveCapacity(length + 16)
        nodes.append(NodeRecord(.document, start: 0, end: length))
    }

    mutating func add(_ string: String) -> Int32 {
        strings.append(string)
        return Int32(strings.count - 1)
    }

    // MARK: Links between nodes

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

    /// Removes the node that was appended last: a paragraph that became a table's header. The table's nodes then have the same numbers with
    /// and without a paragraph before the header.
    mutating func removeLast(_ index: Int32) {
        detach(index)
        nodes.removeLast()
    }

    /// Moves the siblings from `first` through `last` into a parent that has no children. Afterward, a node is no longer a sibling at the
    /// outer level, so it moves once per level and the total time is linear.
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

// MARK: - Regions

/// The beginning of a region in the source and in each table of the first phase.
struct RegionMark {
    @Compact var source: Int
    @Compact var nodes: Int
    @Compact var content: Int
    @Compact var jumps: Int
    @Compact var leaves: Int
    @Compact var strings: Int
    @Compact var alignments: Int
    @Compact var footnotes: Int
    @Compact var definitions: Int
    /// The number of cells added to short table rows.
    @Compact var cells: Int

    /// An integer stored in four bytes, because a text with many short blocks has many marks.
    @propertyWrapper struct Compact {
        private let value: Int32
        var wrappedValue: Int { Int(value) }

        init(wrappedValue: Int) { value = Int32(wrappedValue) }
    }
}
