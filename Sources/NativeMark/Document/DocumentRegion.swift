/// The nodes of one region: the source from the beginning of one block of the document to the beginning of the next one.
///
/// All positions are relative to the region, so a region keeps its meaning when the text before it changes, and documents share regions.
/// The first node is the region's own root. Its children are children of the document's root.
final class DocumentRegion: @unchecked Sendable {
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
    /// What the region shares with the rest of the document. Most regions share nothing.
    let shared: Shared?

    /// What an edit of the region could change in other regions.
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

    /// The content is that of all leaf blocks, line by line without the markers of their containers. The extra bytes follow it: text that
    /// doesn't occur literally in the source, such as resolved entities. `memory` must have room for all of it.
    init(
        nodes: [NodeRecord], jumps: some Collection<SourceMap.Jump>, content: UnsafeBufferPointer<UInt8>,
        extra: [UInt8], strings: [String], alignments: [Document.Alignment], source: UnsafeBufferPointer<UInt8>,
        shared: Shared?, memory: RegionMemory
    ) {
        nodeCount = nodes.count
        jumpCount = jumps.count
        byteCount = content.count + extra.count
        let size = Self.size(nodes: nodes.count, jumps: jumps.count, bytes: byteCount)
        let raw = memory.take(size)
        nodes.withUnsafeBytes { raw.copyMemory(from: $0) }
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

    /// The bytes of memory that a region takes.
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
