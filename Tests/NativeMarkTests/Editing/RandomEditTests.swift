import Testing

@testable import NativeMark

/// Random edits of random documents, each compared with a parse of the whole text.
@Suite struct `Random edits` {
    typealias Generator = `Random documents`.Generator

    static let fragments =
        `A text in pieces`.fragments + [
            "\u{FEFF}", "\u{1F600}", "a\n===\n", "- a\n\n  b\n", "- a\n- b\n", "```\ncode\n```\n", "2. a|b\n", "-|-\n",
            "\n> a\nb\n", "[^2]", "[x][y]", "  \n", "para\n\n", "para\n\n", "# h\n", "***\n", "    x\n", "\t- y\n",
            "\r",
            "\r\n\r\n", "para\n2. a|b\n-|-\n", "&amp;a@b.c", "# | a\n", "\nName\n", "\n:-\n", "\n|-|\n", "\n*\n",
            "\n+\n", "\n    b\n", "b |\n---\n", "p\n*\n:-\n", "p\n    a|b\n-|-\n",
        ]
    /// Definitions and footnotes often need a parse of the whole text.
    static let fragmentsWithoutDefinitions = fragments.filter { !$0.contains("]:") }

    static func text(_ generator: inout Generator, pieces: Int, of fragments: [String]) -> String {
        (0..<pieces).map { _ in fragments[generator.next(below: fragments.count)] }.joined()
    }

    /// A range between two scalars, mostly a short one.
    static func range(in text: String, _ generator: inout Generator) -> Range<Int> {
        let bytes = Array(text.utf8)
        func boundary(_ offset: Int) -> Int {
            var offset = min(offset, bytes.count)
            while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
            return offset
        }
        let lower = boundary(generator.next(below: bytes.count + 1))
        let length = [0, 0, 0, 1, 1, 3, 20, bytes.count][generator.next(below: 8)]
        return lower..<boundary(lower + (length == 0 ? 0 : generator.next(below: length + 1)))
    }

    /// 40 × 10 × 50 edits.
    @Test(arguments: 0..<40) func `have the same result as a parse of the whole text`(seed: Int) {
        var generator = Generator(state: UInt64(seed))
        var options = Document.Options()
        options.smartPunctuation = seed % 4 == 3
        let fragments = seed % 3 == 0 ? Self.fragments : Self.fragmentsWithoutDefinitions
        var shared = 0
        for pieces in [0, 5, 10, 20, 40, 80, 160, 10, 20, 240] {
            var document = Document(Self.text(&generator, pieces: pieces, of: fragments), options: options)
            for _ in 0..<50 {
                let range = Self.range(in: document.source, &generator)
                let text = Self.text(&generator, pieces: generator.next(below: 3), of: fragments)
                let before = document
                document = before.replacing(range, with: text)
                let difference = document.difference(from: Document(document.source, options: options))
                #expect(difference == nil, "\(before.source.debugDescription) \(range) \(text.debugDescription)")
                guard difference == nil else { return }
                let regions = document.storage.regions.shared(with: before.storage.regions)
                shared += regions.prefix + regions.suffix > 0 ? 1 : 0
            }
        }
        // The others have few blocks, or the edit changes a definition.
        #expect(shared > (seed % 3 == 0 ? 25 : 250))
    }

    @Test(arguments: 0..<4) func `report every block that differs`(seed: Int) {
        var generator = Generator(state: UInt64(seed + 500))
        for _ in 0..<10 {
            var document = Document(Self.text(&generator, pieces: 100, of: Self.fragmentsWithoutDefinitions))
            for _ in 0..<20 {
                let before = document
                // Several edits between two looks at the changes.
                for _ in 0...generator.next(below: 3) {
                    document = document.replacing(
                        Self.range(in: document.source, &generator),
                        with: Self.text(&generator, pieces: 1, of: Self.fragmentsWithoutDefinitions))
                }
                let changes = document.changes(since: before)
                let blocks = Array(document.root.children)
                let old = Array(before.root.children)
                let count = changes.blocks.count
                let first = blocks.prefix { $0.sourceRange.lowerBound < changes.sourceRange.lowerBound }.count
                #expect(changes.blocks == Array(blocks[first..<min(blocks.count, first + count)]))
                let rest = blocks.count - first - count
                #expect(blocks[..<first].map(\.html) == old[..<first].map(\.html))
                #expect(blocks.suffix(rest).map(\.html) == old.suffix(rest).map(\.html))
            }
        }
    }
}

extension Document.Node {
    /// What a view shows of a block.
    fileprivate var html: String {
        events.map { event in
            switch event {
            case .enter(let node): "+\(node.kind)"
            case .leave: "-"
            }
        }.joined()
    }
}

extension Document {
    /// A description of the first node that differs, or `nil` if there is none.
    func difference(from other: Document) -> String? {
        guard self == other else { return "the source" }
        guard storage.nodeCount == other.storage.nodeCount else { return "the number of nodes" }
        var right = other.events.makeIterator()
        for event in events {
            guard let expected = right.next() else { return "\(event)" }
            switch (event, expected) {
            case (.enter(let node), .enter(let other)):
                guard node.id == other.id, node.kind == other.kind, node.sourceRange == other.sourceRange,
                    node.utf16SourceRange == other.utf16SourceRange
                else { return "\(node.id) \(node.kind) \(node.sourceRange): \(other.kind) \(other.sourceRange)" }
            case (.leave(let node), .leave(let other)):
                guard node.id == other.id else { return "the end of \(node.id)" }
            default: return "\(event)"
            }
        }
        return right.next().map { "the end, before \($0)" }
    }
}
