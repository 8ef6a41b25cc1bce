/// The nodes of one region: the source from the beginning of one block of the document to the beginning of the next one.
///
/// All positions are relative to the region, so a region keeps its meaning when the text before it changes, and documents share regions.
/// The first node is the region's own root. Its children are children of the document's root.
final class DocumentRegion: Sendable {
    /// The nodes, followed by the jumps of the source map and the bytes of the content in the memory of further elements. A text of many
    /// short blocks has many regions, and this is one allocation instead of three.
    private let memory: [NodeRecord]
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
    /// doesn't occur literally in the source, such as resolved entities.
    init(
        nodes: [NodeRecord], jumps: some Collection<SourceMap.Jump>, content: UnsafeBufferPointer<UInt8>,
        extra: [UInt8], strings: [String], alignments: [Document.Alignment], source: UnsafeBufferPointer<UInt8>,
        shared: Shared?
    ) {
        nodeCount = nodes.count
        jumpCount = jumps.count
        byteCount = content.count + extra.count
        let stride = MemoryLayout<NodeRecord>.stride
        let (jumpStart, jumpStride) = (nodes.count * stride, MemoryLayout<SourceMap.Jump>.stride)
        let byteStart = jumpStart + jumps.count * jumpStride
        let size = (byteStart + byteCount + stride - 1) / stride
        memory = Array(unsafeUninitializedCapacity: size) { buffer, count in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            nodes.withUnsafeBytes { raw.copyMemory(from: $0) }
            var position = jumpStart
            for jump in jumps {
                raw.storeBytes(of: jump, toByteOffset: position, as: SourceMap.Jump.self)
                position += jumpStride
            }
            UnsafeMutableRawBufferPointer(rebasing: raw[byteStart...]).copyMemory(from: UnsafeRawBufferPointer(content))
            if !extra.isEmpty {
                extra.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: raw[(byteStart + content.count)...]).copyMemory(from: $0)
                }
            }
            for index in byteStart + content.count + extra.count..<size * stride { raw[index] = 0 }
            count = size
        }
        self.strings = strings
        self.alignments = alignments
        length = source.count
        utf16 = UTF16Index(source)
        self.shared = shared
    }

    @inline(__always) subscript(id: Int) -> NodeRecord { memory[id] }

    /// Calls a function with the content and the extra bytes.
    @inline(__always) func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        memory.withUnsafeBytes { raw in
            let start = nodeCount * MemoryLayout<NodeRecord>.stride + jumpCount * MemoryLayout<SourceMap.Jump>.stride
            return UnsafeRawBufferPointer(rebasing: raw[start..<start + byteCount]).withMemoryRebound(
                to: UInt8.self, body)
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
        return memory.withUnsafeBytes { raw in
            let first = nodeCount * MemoryLayout<NodeRecord>.stride
            return SourceMap.range(of: start..<max(start, end), count: jumpCount) {
                raw.load(
                    fromByteOffset: first + $0 * MemoryLayout<SourceMap.Jump>.stride, as: SourceMap.Jump.self)
            }
        }
    }

    func appendPlainText(of id: Int, to result: inout [UInt8]) {
        var walk = TreeWalk(from: id)
        while let step = walk.next(in: self) {
            guard step.isEnter else { continue }
            let node = self[step.index]
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
