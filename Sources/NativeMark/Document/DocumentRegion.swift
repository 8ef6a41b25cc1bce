/// The nodes of one region: the source from the start of one top-level block to the start of the next.
///
/// All positions are relative to the region. A region therefore stays valid when the text before it changes, and documents can share it.
/// The first node is the region's own root. Its children are children of the document's root.
final class DocumentRegion: @unchecked Sendable {
    // Immutable once initialized, and so are the bytes behind `base`.

    /// Keeps `base` alive.
    private let memory: RegionMemory
    /// The nodes, followed by the jumps of the source map and the bytes of the content.
    private let base: UnsafeRawBufferPointer
    let nodeCount: Int
    private let jumpCount: Int
    private let byteCount: Int
    let strings: [String]
    let alignments: [Document.Alignment]
    /// The length of the source in bytes.
    let length: Int
    let utf16: UTF16Index
    /// What the region contributes to the rest of the document. Most regions contribute nothing.
    let shared: Shared?

    /// What an edit of the region can change in the rest of the document.
    final class Shared: Sendable {
        /// All definitions of link references, in order.
        let definitions: [DocumentContext.LabeledDefinition]
        let definesFootnotes: Bool
        /// The numbers of the footnotes that the region refers to, in the order of the first references.
        let footnotes: [Int32]
        /// The number of bytes that references add to the document.
        let expansion: Int
        /// The number of cells that were added to complete the rows of tables.
        let autocompletedCells: Int

        init(
            definitions: [DocumentContext.LabeledDefinition], definesFootnotes: Bool, footnotes: [Int32],
            expansion: Int, autocompletedCells: Int
        ) {
            self.definitions = definitions
            self.definesFootnotes = definesFootnotes
            self.footnotes = footnotes
            self.expansion = expansion
            self.autocompletedCells = autocompletedCells
        }
    }

    /// `content` has the content of all leaf blocks, line by line, without the markers of their containers. `extra` has text that doesn't
    /// occur literally in the source, such as resolved entities; it is stored after the content. `memory` must have room for everything.
    init(
        nodes: UnsafeBufferPointer<NodeRecord>, jumps: some Collection<SourceMap.Jump>,
        content: UnsafeBufferPointer<UInt8>, extra: [UInt8], strings: [String], alignments: [Document.Alignment],
        source: UnsafeBufferPointer<UInt8>, shared: Shared?, memory: RegionMemory
    ) {
        nodeCount = nodes.count
        jumpCount = jumps.count
        byteCount = content.count + extra.count
        let size = Self.size(nodes: nodes.count, jumps: jumps.count, bytes: byteCount)
        let raw = memory.take(size)
        raw.copyMemory(from: UnsafeRawBufferPointer(nodes))
        var position = nodes.count * MemoryLayout<NodeRecord>.stride
        for jump in jumps {
            raw.storeBytes(of: jump, toByteOffset: position, as: SourceMap.Jump.self)
            position += MemoryLayout<SourceMap.Jump>.stride
        }
        UnsafeMutableRawBufferPointer(rebasing: raw[position...]).copyMemory(from: UnsafeRawBufferPointer(content))
        extra.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: raw[(position + content.count)...]).copyMemory(from: $0)
        }
        self.memory = memory
        base = UnsafeRawBufferPointer(raw)
        self.strings = strings
        self.alignments = alignments
        length = source.count
        utf16 = UTF16Index(source)
        self.shared = shared
    }

    /// Returns the number of bytes of memory that a region takes.
    static func size(nodes: Int, jumps: Int, bytes: Int) -> Int {
        nodes * MemoryLayout<NodeRecord>.stride + jumps * MemoryLayout<SourceMap.Jump>.stride + bytes
    }

    @inline(__always) subscript(id: Int) -> NodeRecord {
        precondition(id < nodeCount)
        return base.load(fromByteOffset: id &* MemoryLayout<NodeRecord>.stride, as: NodeRecord.self)
    }

    /// Calls a function with the content and the extra bytes.
    @inline(__always) func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let start = Self.size(nodes: nodeCount, jumps: jumpCount, bytes: 0)
        return UnsafeRawBufferPointer(rebasing: base[start..<start + byteCount]).withMemoryRebound(to: UInt8.self, body)
    }

    /// Calls a function with what renderers read of the region.
    @inline(__always) func withNodes<Result>(_ body: (RegionNodes) -> Result) -> Result {
        let nodes = UnsafeRawBufferPointer(rebasing: base[..<Self.size(nodes: nodeCount, jumps: 0, bytes: 0)])
        return nodes.withMemoryRebound(to: NodeRecord.self) { nodes in
            // The extra bytes follow the content, so all offsets are within one buffer.
            withBytes { content in
                body(RegionNodes(nodes: nodes, content: content, extra: .init(start: nil, count: 0), strings: strings))
            }
        }
    }

    func kind(of id: Int) -> Document.Kind {
        let node = self[id]
        switch node.tag {
        case .document: return .document
        case .blockQuote: return .blockQuote
        case .list:
            return .list(
                .init(
                    start: node.value < 0 ? nil : Int(node.value),
                    marker: Character(Unicode.Scalar(node.detail)), isTight: node.flag))
        case .item: return .item(task: node.detail == 0 ? nil : node.detail == 1 ? .open : .done)
        case .footnoteDefinition: return .footnoteDefinition(label: string(node.value) ?? "")
        case .paragraph: return .paragraph
        case .heading: return .heading(level: Int(node.detail))
        case .codeBlock: return .codeBlock(info: string(node.value) ?? "", isFenced: node.detail == 1)
        case .thematicBreak: return .thematicBreak
        case .table:
            let first = Int(node.value)
            return .table(alignments: Array(alignments[first..<first + Int(node.extra)]))
        case .tableRow: return .tableRow(isHeader: node.detail == 1)
        case .tableCell: return .tableCell(Document.Alignment.allCases[Int(node.detail)])
        case .text: return .text(text(of: node))
        case .softBreak: return .softBreak
        case .lineBreak: return .lineBreak
        case .code: return .code(text(of: node))
        case .emphasis: return .emphasis
        case .strong: return .strong
        case .strikethrough: return .strikethrough
        case .link: return .link(destination: string(node.value) ?? "", title: string(node.extra))
        case .image: return .image(source: string(node.value) ?? "", title: string(node.extra))
        case .footnoteReference:
            return .footnoteReference(label: string(node.value) ?? "", number: Int(node.extra))
        }
    }

    /// The range of a node, from the beginning of the region. O(log n) in the number of lines.
    func sourceRange(of id: Int) -> Range<Int> {
        let node = self[id]
        let start = Int(node.start)
        let end = Int(node.end)
        guard node.tag.isInline else { return start..<max(start, end) }
        let first = nodeCount * MemoryLayout<NodeRecord>.stride
        return SourceMap.range(of: start..<max(start, end), count: jumpCount) {
            base.load(fromByteOffset: first + $0 * MemoryLayout<SourceMap.Jump>.stride, as: SourceMap.Jump.self)
        }
    }

    func appendPlainText(of id: Int, to result: inout [UInt8]) {
        var walk = TreeWalk(from: id)
        while let step = walk.next(in: self) {
            guard step.isEnter else { continue }
            let node = step.node
            switch node.tag {
            case .text, .code: withBytes { result += $0[Int(node.value)..<Int(node.value + node.extra)] }
            case .softBreak: result.append(0x20)
            case .lineBreak: result.append(0x0A)
            case let tag where !tag.isInline:
                if let last = result.last, last != 0x0A { result.append(0x0A) }
            default: break
            }
        }
    }

    func string(_ index: Int32) -> String? { index < 0 ? nil : strings[Int(index)] }

    private func text(of node: NodeRecord) -> String {
        withBytes {
            String(decoding: $0[Int(node.value)..<Int(node.value + node.extra)], as: UTF8.self)
        }
    }
}

// MARK: - Nodes

/// The kind of a node in one byte. ``NodeRecord/value`` and ``NodeRecord/extra`` hold the associated values.
enum NodeTag: UInt8, Sendable {
    // Blocks. Their positions are offsets in the source.
    case document, blockQuote, list, item, footnoteDefinition
    case paragraph, heading, codeBlock, thematicBreak
    case table, tableRow, tableCell
    // Inline nodes. Their positions are offsets in the content; see SourceMap.
    case text, softBreak, lineBreak, code
    case emphasis, strong, strikethrough, link, image, footnoteReference

    var isInline: Bool { rawValue >= Self.text.rawValue }

    var isLeaf: Bool {
        switch self {
        case .thematicBreak, .text, .softBreak, .lineBreak, .code, .footnoteReference: true
        default: false
        }
    }
}

/// One node: 40 bytes. Nodes refer to each other by index; -1 means none.
struct NodeRecord: Sendable {
    var tag: NodeTag
    /// | tag | |
    /// |---|---|
    /// | heading | the level |
    /// | list | the marker |
    /// | item | 0 without a checkbox, 1 for an open task, 2 for a done task |
    /// | codeBlock | 1 if fenced |
    /// | tableRow | 1 for the header |
    /// | tableCell | the alignment |
    var detail: UInt8 = 0
    /// For a list: whether it is tight.
    var flag = false
    var parent: Int32 = -1
    var firstChild: Int32 = -1
    var lastChild: Int32 = -1
    var next: Int32 = -1
    var previous: Int32 = -1
    /// The position: in the source for blocks, in the content for inline nodes.
    var start: Int32
    var end: Int32
    /// | tag | value | extra |
    /// |---|---|---|
    /// | text, code | offset in the bytes | length |
    /// | list | the first number, -1 for bullets | |
    /// | codeBlock | index of its info in the strings, -1 for none | |
    /// | link, image | index of its destination in the strings | index of its title, -1 for none |
    /// | table | index of its first alignment | number of columns |
    /// | footnoteDefinition, footnoteReference | index of its label in the strings | its number |
    var value: Int32
    var extra: Int32

    init(_ tag: NodeTag, start: Int, end: Int, value: Int = -1, extra: Int = 0) {
        self.tag = tag
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
        self.value = Int32(value)
        self.extra = Int32(extra)
    }
}

// MARK: - Views

/// The nodes and texts of one region, in a document or still in the parser. Valid only as long as their memory.
struct RegionNodes {
    let nodes: UnsafeBufferPointer<NodeRecord>
    let content: UnsafeBufferPointer<UInt8>
    /// Text that doesn't occur literally in the source. Its offsets continue those of the content.
    let extra: UnsafeBufferPointer<UInt8>
    let strings: [String]

    @inline(__always) subscript(id: Int32) -> NodeRecord {
        let id = Int(id)
        precondition(id >= 0 && id < nodes.count)
        return nodes[id]
    }

    func string(_ index: Int32) -> String? { index < 0 ? nil : strings[Int(index)] }

    /// Returns the bytes of a text or code node, and the number of bytes after them in the same buffer. The bytes are either in the content
    /// or in the extra bytes.
    @inline(__always) func bytes(of node: NodeRecord) -> (text: UnsafeBufferPointer<UInt8>, following: Int) {
        let (buffer, first) =
            Int(node.value) < content.count ? (content, Int(node.value)) : (extra, Int(node.value) - content.count)
        let last = first + Int(node.extra)
        precondition(first >= 0 && first <= last && last <= buffer.count)
        return (UnsafeBufferPointer(rebasing: buffer[first..<last]), buffer.count - last)
    }
}

// MARK: - Traversal

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

// MARK: - Memory

/// The memory of several regions that were parsed together: one allocation instead of one for each region.
///
/// A megabyte of text has thousands of regions. When many small allocations are freed, the C library returns their pages to the system, and
/// the next parse has to pay for new ones. The memory is freed with the last region in it. Only the parse that creates it takes parts of
/// it. After that it is immutable, so threads can share regions.
final class RegionMemory: @unchecked Sendable {
    static let maximumSize = 4 << 20

    private let memory: UnsafeMutableRawBufferPointer
    private var used = 0

    init(size: Int) {
        memory = .allocate(byteCount: size, alignment: MemoryLayout<NodeRecord>.alignment)
    }

    deinit { memory.deallocate() }

    func hasRoom(for size: Int) -> Bool { used + size <= memory.count }

    /// Returns the next part. The memory must have room for it.
    func take(_ size: Int) -> UnsafeMutableRawBufferPointer {
        precondition(hasRoom(for: size))
        let part = UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + size])
        let alignment = MemoryLayout<NodeRecord>.alignment
        used = min(memory.count, (used + size + alignment - 1) / alignment * alignment)
        return part
    }
}
