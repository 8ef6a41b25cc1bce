/// The nodes of the whole document during the parser's first phase.
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

    init(length: Int) {
        nodes.reserveCapacity(16 + length / 64)
        content.reserveCapacity(length + 16)
        nodes.append(NodeRecord(.document, start: 0, end: length))
    }

    mutating func add(_ string: String) -> Int32 {
        strings.append(string)
        return Int32(strings.count - 1)
    }

    /// Removes the node that was appended last: a paragraph that became a table's header. The table's nodes then have the same numbers with
    /// and without a paragraph before the header.
    mutating func removeLast(_ index: Int32) {
        detach(index)
        nodes.removeLast()
    }
}

extension DocumentBuilder: NodeTable {
    var nodeCount: Int { nodes.count }

    subscript(index: Int32) -> NodeRecord {
        @inline(__always) get { nodes[Int(index)] }
        @inline(__always) _modify { yield &nodes[Int(index)] }
    }

    @inline(__always) mutating func appendNode(_ record: NodeRecord) { nodes.append(record) }
}

/// The nodes of one region while its leaves are parsed.
struct RegionBuilder: ~Copyable {
    var nodes = GrowingBuffer<NodeRecord>()
    var strings: [String] = []
    var steps = 0

    mutating func add(_ string: String) -> Int32 {
        strings.append(string)
        return Int32(strings.count - 1)
    }
}

extension RegionBuilder: NodeTable {
    var nodeCount: Int { nodes.count }

    subscript(index: Int32) -> NodeRecord {
        @inline(__always) get { nodes[Int(index)] }
        @inline(__always) _modify { yield &nodes[Int(index)] }
    }

    @inline(__always) mutating func appendNode(_ record: NodeRecord) { nodes.append(record) }
}

// MARK: - Links between nodes

/// Nodes that refer to each other by index.
protocol NodeTable: ~Copyable {
    var nodeCount: Int { get }
    var steps: Int { get set }
    subscript(index: Int32) -> NodeRecord { get set }
    mutating func appendNode(_ record: NodeRecord)
}

extension NodeTable where Self: ~Copyable {
    @inline(__always)
    mutating func append(_ record: NodeRecord, to parent: Int32) -> Int32 {
        let index = Int32(truncatingIfNeeded: nodeCount)
        var record = record
        record.parent = parent
        let last = self[parent].lastChild
        record.previous = last
        self[parent].lastChild = index
        if last >= 0 { self[last].next = index } else { self[parent].firstChild = index }
        appendNode(record)
        return index
    }

    mutating func insert(_ record: NodeRecord, after sibling: Int32) -> Int32 {
        let index = Int32(truncatingIfNeeded: nodeCount)
        var record = record
        let parent = self[sibling].parent
        let next = self[sibling].next
        record.parent = parent
        record.previous = sibling
        record.next = next
        self[sibling].next = index
        if next >= 0 { self[next].previous = index } else { self[parent].lastChild = index }
        appendNode(record)
        return index
    }

    mutating func detach(_ index: Int32) {
        let record = self[index]
        if record.previous >= 0 {
            self[record.previous].next = record.next
        } else if record.parent >= 0 {
            self[record.parent].firstChild = record.next
        }
        if record.next >= 0 {
            self[record.next].previous = record.previous
        } else if record.parent >= 0 {
            self[record.parent].lastChild = record.previous
        }
        self[index].parent = -1
        self[index].next = -1
        self[index].previous = -1
    }

    /// Moves the siblings from `first` through `last` into a parent that has no children. Afterward, a node is no longer a sibling at the
    /// outer level, so it moves once per level and the total time is linear.
    mutating func move(from first: Int32, through last: Int32, into parent: Int32) {
        guard first >= 0, last >= 0 else { return }
        let before = self[first].previous
        let after = self[last].next
        let old = self[first].parent
        if before >= 0 { self[before].next = after } else { self[old].firstChild = after }
        if after >= 0 { self[after].previous = before } else { self[old].lastChild = before }
        self[first].previous = -1
        self[last].next = -1
        self[parent].firstChild = first
        self[parent].lastChild = last
        var index = first
        while index >= 0 {
            steps &+= 1
            self[index].parent = parent
            index = self[index].next
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
