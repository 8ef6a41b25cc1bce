import NativeMark
import Testing

@Suite struct `Random documents` {
    static let fragments = [
        "a", "é", "*", "**", "_", "~~", "`", "[", "]", "![", "](/u)", "](/u \"t\")", "[x]", "[^1]", "<", "<http://x.y>",
        "&amp;", "&",
        "\\", "\\*", "|", " ", "  ", "\t", "\n", "\n", "\n\n", "\r\n", "\u{0}", "> ", "- ", "1. ", "    ", "# ", "---",
        "===", "```",
        "~~~", "|-|-|", "|a|b|\n|-|-|\n", "[x]: /u\n", "[^1]: ", "- [ ] ", "www.a.b", "http://c.d/(e)", "a@b.c",
        "_a@b.c", "\"", "'", "--",
    ]

    /// The generator of Knuth's MMIX: the same documents everywhere.
    struct Generator {
        var state: UInt64
        mutating func next(below limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
    }

    static func document(_ generator: inout Generator) -> String {
        (0..<generator.next(below: 24)).map { _ in fragments[generator.next(below: fragments.count)] }.joined()
    }

    @Test(arguments: 0..<8) func `the tree is whole, and every node stands where its parent does`(seed: Int) {
        var generator = Generator(state: UInt64(seed))
        for _ in 0..<250 {
            let source = Self.document(&generator)
            var options = Document.Options()
            options.smartPunctuation = generator.next(below: 2) == 0
            let document = Document(source, options: options)
            let bytes = source.utf8.count
            var open: [Document.Node] = []
            var lastText: Document.Node?
            for event in document.events {
                switch event {
                case .leave(let node):
                    #expect(open.popLast() == node, "\(source.debugDescription)")
                    lastText = nil
                case .enter(let node):
                    let range = node.sourceRange
                    #expect(node.parent == open.last, "\(source.debugDescription)")
                    #expect(range.upperBound <= bytes, "\(source.debugDescription)")
                    if let parent = open.last, node.kind.isContained {
                        let outer = parent.sourceRange
                        #expect(
                            outer.lowerBound <= range.lowerBound && range.upperBound <= outer.upperBound,
                            "\(source.debugDescription): \(node.kind) \(range) in \(parent.kind) \(outer)")
                    }
                    if case .text(let text) = node.kind {
                        #expect(!text.isEmpty && lastText == nil, "\(source.debugDescription)")
                        lastText = node
                    } else {
                        lastText = nil
                        if !node.kind.isLeaf { open.append(node) }
                    }
                }
            }
            #expect(open.isEmpty)
        }
    }
}

extension Document.Kind {
    fileprivate var isLeaf: Bool {
        switch self {
        case .text, .softBreak, .lineBreak, .code, .thematicBreak, .footnoteReference: true
        default: false
        }
    }

    /// A footnote stands where it was written.
    fileprivate var isContained: Bool {
        if case .footnoteDefinition = self { return false }
        return true
    }
}
