import Testing

@testable import NativeMark

@Suite struct `The tree of a document` {
    private let document = Document("# One\n\n- *two*\n- three `four`\n\n> ![five](six.png \"seven\")  \n> eight\n")

    @Test func `events enter and leave each node in document order, and only enter leaves`() {
        var names: [String] = []
        for event in Document("*a* `b`").events {
            switch event {
            case .enter(let node): names.append("+\(node.kind)")
            case .leave(let node): names.append("-\(node.kind)")
            }
        }
        #expect(
            names == [
                "+document", "+paragraph", "+emphasis", "+text(\"a\")", "-emphasis", "+text(\" \")", "+code(\"b\")",
                "-paragraph", "-document",
            ])
    }

    @Test func `an empty document has only a root`() {
        let empty = Document("")
        #expect(empty.root.kind == .document)
        #expect(empty.root.firstChild == nil)
        #expect(Array(empty.root.children).isEmpty)
        #expect(empty.events.map { _ in 1 }.count == 2)
    }

    @Test func `parents, children and siblings agree with each other`() {
        for node in document.nodes(where: { _ in true }) {
            let children = Array(node.children)
            #expect(children.first == node.firstChild)
            #expect(children.last == node.lastChild)
            for (child, next) in zip(children, children.dropFirst()) {
                #expect(child.nextSibling == next)
                #expect(next.previousSibling == child)
            }
            #expect(children.allSatisfy { $0.parent == node })
        }
    }

    @Test func `the events of a node stay below it`() {
        let list = document.first { if case .list = $0 { true } else { false } }!
        #expect(list.events.map { _ in 1 }.count == 15)
        #expect(list.plainText == "two\nthree four")
    }

    @Test func `plain text has line feeds between blocks`() {
        #expect(document.root.plainText == "One\ntwo\nthree four\nfive\neight")
    }

    @Test func `images and nodes are found in document order`() {
        #expect(document.images.map(\.kind) == [.image(source: "six.png", title: "seven")])
        let headings = document.nodes { if case .heading = $0.kind { true } else { false } }
        #expect(headings.map(\.plainText) == ["One"])
    }

    @Test func `documents are equal if their source and options are`() {
        #expect(Document("a") == Document("a"))
        #expect(Document("a").hashValue == Document("a").hashValue)
        #expect(Document("a") != Document("b"))
        #expect(Document("a") != Document("a", options: .commonMark))
        #expect(Document("e\u{301}") != Document("\u{E9}"))
        #expect(Document("a").root == Document("a").root)
        #expect(Document("a").root != Document("b").root)
        #expect(Document("a").root != Document("a").root.firstChild)
    }

    @Test func `two texts are never adjacent`() {
        for source in ["a&amp;b\\*c", "*a _b c", "[a [b] c", "a&lt;&gt;&#65;b\\\\", "![a", "x ]( y", "~~a ~b", "**a*"] {
            let document = Document(source)
            for node in document.nodes(where: { if case .text = $0.kind { true } else { false } }) {
                if case .text? = node.nextSibling?.kind { Issue.record("\(source)") }
                if case .text("") = node.kind { Issue.record("\(source)") }
            }
        }
        #expect(Document("a&amp;b\\*c").root.firstChild?.firstChild?.kind == .text("a&b*c"))
    }
}

@Suite struct `Random documents` {
    static let fragments = [
        "a", "é", "*", "**", "_", "~~", "`", "[", "]", "![", "](/u)", "](/u \"t\")", "[x]", "[^1]", "<", "<http://x.y>",
        "&amp;", "&",
        "\\", "\\*", "|", " ", "  ", "\t", "\n", "\n", "\n\n", "\r\n", "\u{0}", "> ", "- ", "1. ", "    ", "# ", "---",
        "===", "```",
        "~~~", "|-|-|", "|a|b|\n|-|-|\n", "[x]: /u\n", "[^1]: ", "- [ ] ", "www.a.b", "http://c.d/(e)", "a@b.c",
        "_a@b.c", "\"", "'", "--",
    ]

    /// Knuth's MMIX generator, which makes the same documents everywhere.
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

    @Test(arguments: 0..<8) func `every node has the right parent and lies within its range`(seed: Int) {
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

    /// A footnote's range is where it was written, and not within its parent.
    fileprivate var isContained: Bool {
        if case .footnoteDefinition = self { return false }
        return true
    }
}

@Suite struct `Lists of regions` {
    private func region(_ length: Int) -> DocumentRegion {
        let nodes = Array(repeating: NodeRecord(.document, start: 0, end: 0), count: 1 + length % 3)
        return nodes.withUnsafeBufferPointer { nodes in
            Array(repeating: UInt8(ascii: "a"), count: length).withUnsafeBufferPointer {
                DocumentRegion(
                    nodes: nodes, jumps: [], content: .init(start: nil, count: 0), extra: [], strings: [],
                    alignments: [], source: $0, shared: nil, memory: RegionMemory(size: 200))
            }
        }
    }

    @Test(arguments: 0..<4) func `replacing regions gives the same list as replacing them in an array`(seed: Int) {
        var generator = `Random documents`.Generator(state: UInt64(seed))
        var expected = (0..<generator.next(below: 2_000)).map { 1 + region($0 % 7 + 1).length % 7 }.map(region)
        var list = RegionList(expected)
        for _ in 0..<15 {
            let first = generator.next(below: expected.count + 1)
            let last = min(expected.count, first + [0, 1, 3, 700][generator.next(below: 4)])
            let new = (0..<[0, 1, 2, 900][generator.next(below: 4)]).map { region($0 % 5 + 1) }
            let previous = (list, expected)
            list = list.replacing(from: list.index(atOffset: first), to: list.index(atOffset: last), with: new)
            expected.replaceSubrange(first..<last, with: new)

            #expect(list.count == expected.count)
            #expect(zip(list, expected).allSatisfy { $0 === $1 })
            #expect(list.extent.bytes == expected.reduce(0) { $0 + $1.length })
            var (bytes, nodes) = (0, 0)
            for (offset, region) in expected.enumerated() {
                let index = list.index(atOffset: offset)
                let extent = list.extent(before: index)
                guard extent.bytes == bytes, extent.nodes == nodes, list.offset(of: index) == offset,
                    list.index(ofByte: bytes) == index, list.index(ofByte: bytes + region.length - 1) == index,
                    list.index(ofUTF16: bytes) == index, list.index(after: index) == list.index(atOffset: offset + 1),
                    offset == 0 || list.index(before: index) == list.index(atOffset: offset - 1)
                else {
                    Issue.record("region \(offset)")
                    return
                }
                bytes += region.length
                nodes += region.nodeCount - 1
            }
            let shared = list.shared(with: previous.0)
            let isSame = new.isEmpty && first == last
            #expect(shared.prefix == (isSame ? expected.count : first))
            #expect(shared.suffix == (isSame ? 0 : previous.1.count - last))
        }
    }
}

@Suite struct `Memory of regions` {
    @Test func `region memory has aligned parts that don't overlap, until it is full`() {
        let memory = RegionMemory(size: 10)
        let first = memory.take(3)
        #expect(memory.hasRoom(for: 6) && !memory.hasRoom(for: 7))
        let second = memory.take(6)
        #expect(first.count == 3 && second.count == 6)
        #expect(second.baseAddress == first.baseAddress.map { $0 + 4 })
        #expect(!memory.hasRoom(for: 1) && memory.hasRoom(for: 0))
    }

    @Test func `region memory lives as long as any document that has one of its regions`() {
        var document = Document((0..<300).map { "# \($0)\n\ntext *\($0)*\n\n" }.joined())
        let last = document.root.children.map(\.plainText).last
        document = document.replacing(0..<document.source.utf8.count - 14, with: "new\n\n")
        #expect(document.root.firstChild?.plainText == "new")
        #expect(document.root.children.map(\.plainText).last == last)
    }
}
