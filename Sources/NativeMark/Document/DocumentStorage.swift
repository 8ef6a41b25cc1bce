/// The immutable storage that all copies of a document share.
final class DocumentStorage: Sendable {
    /// Contiguous UTF-8.
    let source: String
    let options: Document.Options
    /// The root is the first.
    let nodes: [NodeRecord]
    /// The content of all leaf blocks, line by line without the markers of their containers, followed by text that doesn't occur
    /// literally in the source, such as resolved entities.
    let bytes: [UInt8]
    let map: SourceMap
    let strings: [String]
    let alignments: [Document.Alignment]
    /// For a part of a stream: the definitions from other parts that affect this part.
    let uses: [DocumentContext.Use]

    init(
        source: String, options: Document.Options, nodes: [NodeRecord], bytes: [UInt8], map: SourceMap,
        strings: [String], alignments: [Document.Alignment], uses: [DocumentContext.Use] = []
    ) {
        self.source = source
        self.options = options
        self.nodes = nodes
        self.bytes = bytes
        self.map = map
        self.strings = strings
        self.alignments = alignments
        self.uses = uses
    }

    func kind(of id: Int) -> Document.Kind {
        let node = nodes[id]
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

    func sourceRange(of id: Int) -> Range<Int> {
        let node = nodes[id]
        let start = Int(node.start)
        let end = Int(node.end)
        guard node.tag.isInline else { return start..<max(start, end) }
        return map.range(of: start..<max(start, end))
    }

    func plainText(of id: Int) -> String {
        var result: [UInt8] = []
        var walk = TreeWalk(from: id)
        while let step = walk.next(in: nodes) {
            guard step.isEnter else { continue }
            let node = nodes[step.index]
            switch node.tag {
            case .text, .code: result += bytes[Int(node.value)..<Int(node.value + node.extra)]
            case .softBreak: result.append(0x20)
            case .lineBreak: result.append(0x0A)
            case let tag where !tag.isInline:
                if let last = result.last, last != 0x0A { result.append(0x0A) }
            default: break
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    func string(_ index: Int32) -> String? { index < 0 ? nil : strings[Int(index)] }

    private func text(of node: NodeRecord) -> String {
        bytes.withUnsafeBufferPointer {
            String(decoding: $0[Int(node.value)..<Int(node.value + node.extra)], as: UTF8.self)
        }
    }
}

/// A map from offsets in the content to offsets in the source. Both increase together, with a jump at the beginning of each line and
/// wherever the content differs in length from the source.
struct SourceMap: Sendable {
    struct Jump: Sendable {
        var content: Int32
        var source: Int32
    }

    private(set) var jumps: [Jump] = []

    /// From here on, the content and the source run in parallel.
    mutating func append(content: Int, source: Int) {
        jumps.append(Jump(content: Int32(truncatingIfNeeded: content), source: Int32(truncatingIfNeeded: source)))
    }

    /// O(log n). The range ends after the last byte's own position, not at the position of the next byte, which may be on another line.
    func range(of content: Range<Int>) -> Range<Int> {
        let start = offset(of: content.lowerBound).0
        guard !content.isEmpty else { return start..<start }
        let (last, limit) = offset(of: content.upperBound - 1)
        return start..<max(start, min(last + 1, limit))
    }

    private func offset(of content: Int) -> (Int, limit: Int) {
        var low = 0
        var high = jumps.count
        while low < high {
            let middle = (low + high) / 2
            if Int(jumps[middle].content) <= content { low = middle + 1 } else { high = middle }
        }
        let limit = low < jumps.count ? Int(jumps[low].source) : Int.max
        guard low > 0 else { return (0, limit) }
        let jump = jumps[low - 1]
        return (Int(jump.source) + content - Int(jump.content), limit)
    }
}
