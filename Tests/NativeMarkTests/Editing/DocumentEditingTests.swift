@testable import NativeMark
import Testing

@Suite struct `Edits of a document` {
    private static func paragraphs(_ count: Int) -> String {
        (0..<count).map { "paragraph \($0) with *emphasis* and `code`\n\n" }.joined()
    }

    private func steps(_ document: Document, _ range: Range<Int>, _ text: String) -> Int {
        DocumentParser.replacing(range, of: document.storage, with: text).steps
    }

    @Test func `typing a key costs the same in a document ten times as long`() {
        let steps = [1_000, 10_000].map { count in
            let document = Document(Self.paragraphs(count))
            // The paragraph in the middle.
            let position = Array(document.root.children)[count / 2].sourceRange.upperBound
            return self.steps(document, position..<position, "x")
        }
        // The block, the one before and the beginning of the next one.
        #expect(steps[0] < 400)
        #expect(steps[1] < steps[0] + 20, "\(steps)")
    }

    @Test func `typing a key in the only block costs a parse of the document`() {
        let text = String(repeating: "word ", count: 2_000)
        let document = Document(text)
        #expect(steps(document, 500..<500, "x") <= 2 * DocumentParser.parse(text, options: .init()).steps)
    }

    @Test(arguments: ["[x]: /u", "[^1]: note", "see [^1]"])
    func `a new definition or reference costs about one parse`(text: String) {
        let source = Self.paragraphs(200) + "[x] and [^1]\n\n[^1]: a\n\n" + Self.paragraphs(200)
        let document = Document(source)
        let all = DocumentParser.parse(source, options: .init()).steps
        let position = Array(document.root.children)[40].sourceRange.upperBound
        #expect(
            document.replacing(position..<position, with: "\n\n" + text).difference(
                from: Document(
                    String(source.utf8.prefix(position))! + "\n\n" + text + String(source.utf8.dropFirst(position))!))
                == nil)
        #expect(steps(document, position..<position, "\n\n" + text) < all + all / 10)
    }

    @Test func `typing a key next to definitions and footnotes parses only its block`() {
        let source = Self.paragraphs(200) + "[x] and [^1]\n\n[^1]: a\n\n[x]: /u\n\n" + Self.paragraphs(200)
        let document = Document(source)
        for block in document.root.children {
            if case .footnoteDefinition = block.kind { continue }
            let position = block.sourceRange.upperBound
            #expect(steps(document, position..<position, "x") < 400, "\(block.plainText)")
        }
    }

    @Test func `an opening fence changes the blocks up to the end, and no others`() {
        let document = Document(Self.paragraphs(10))
        let position = Array(document.root.children)[5].sourceRange.lowerBound
        let fenced = document.replacing(position..<position, with: "```\n")
        let changes = fenced.changes(since: document)
        #expect(changes.blocks.map(\.kind) == [.codeBlock(info: "", isFenced: true)])
        #expect(changes.sourceRange == position..<fenced.source.utf8.count)
        let restored = fenced.replacing(position..<position + 4, with: "")
        #expect(restored.difference(from: document) == nil)
        #expect(restored.changes(since: fenced).blocks.count == 5)
    }

    @Test func `the changes are the blocks that a view must show again`() {
        let document = Document("# é\n\none\n\ntwo 😀\n\nthree\n")
        let typed = document.replacing(utf16: 8..<8, with: "x")
        #expect(typed.source == "# é\n\nonex\n\ntwo 😀\n\nthree\n")
        var changes = typed.changes(since: document)
        #expect(changes.blocks.map(\.plainText) == ["onex"])
        #expect(changes.utf16SourceRange == 5..<11)
        #expect(typed.source(of: changes.blocks[0]) == "onex")
        // After a surrogate pair.
        let deleted = typed.replacing(utf16: 17..<19, with: "")
        #expect(deleted.source == "# é\n\nonex\n\ntwo 😀three\n")
        changes = deleted.changes(since: typed)
        #expect(changes.blocks.map(\.plainText) == ["two 😀three"])
        #expect(deleted.changes(since: document).blocks.map(\.plainText) == ["onex", "two 😀three"])
        #expect(deleted.changes(since: deleted).blocks.isEmpty)
        #expect(deleted.changes(since: deleted).sourceRange.isEmpty)
        #expect(Document(deleted.source).changes(since: deleted).sourceRange == 0..<deleted.source.utf8.count)
    }

    @Test func `a deleted block leaves an empty range`() {
        let document = Document("one\n\ntwo\n\nthree\n")
        let changes = document.replacing(5..<10, with: "").changes(since: document)
        #expect(changes.blocks.isEmpty)
        #expect(changes.sourceRange == 5..<5)
    }

    @Test func `editing a document doesn't change the original`() {
        let first = Document("one\n\ntwo\n")
        let second = first.replacing(0..<3, with: "1")
        #expect(first.root.plainText == "one\ntwo")
        #expect(second.root.plainText == "1\ntwo")
        #expect(first != second)
        #expect(second.replacing(0..<1, with: "one") == first)
    }

    @Test func `the limits apply to the whole document`() {
        let definition = "[a]: " + String(repeating: "b", count: 3_000) + "\n\n"
        for count in [30, 34, 60] {
            var document = Document(definition + String(repeating: "[a] c\n\n", count: count))
            for _ in 0..<6 {
                let position = document.source.utf8.count - 3
                document = document.replacing(position..<position, with: "[a]\n\n")
                #expect(document.difference(from: Document(document.source)) == nil)
            }
        }
        let rows = "|a" + String(repeating: "|", count: 1_000) + "\n" + String(repeating: "|-", count: 1_000) + "|\n"
        var document = Document(rows + String(repeating: "|x\n", count: 60) + "\ntext\n")
        for _ in 0..<10 {
            let position = document.source.utf8.count - 6
            document = document.replacing(position..<position, with: "|x\n")
            #expect(document.difference(from: Document(document.source)) == nil)
        }
    }

    @Test func `a block of a stream is edited without the definitions of other blocks`() {
        var stream = DocumentStream()
        stream.append("[a]\n\n[a]: /u\n\n")
        stream.finish()
        let block = stream.block(at: 0).document
        #expect(block.replacing(0..<0, with: "x ").difference(from: Document("x [a]\n\n")) == nil)
    }

    @Test(arguments: ["\n", "x\n\n", "- a\n"])
    func `a byte order mark that moves to the beginning is ignored`(before: String) {
        let rest = "\u{FEFF}# Hi\n\ntext\n"
        let document = Document(before + rest).replacing(0..<before.utf8.count, with: "")
        #expect(document.difference(from: Document(rest)) == nil)
        #expect(Array(document.root.children)[0].kind == .heading(level: 1))
    }

    @Test func `CR and LF can be edited separately`() {
        let document = Document("a\r\nb\r\n\r\nc\r\n")
        for position in 0...document.source.utf8.count {
            for text in ["", "\r", "\n", "x"] {
                for length in 0...2 where position + length <= document.source.utf8.count {
                    let edited = document.replacing(position..<position + length, with: text)
                    #expect(edited.difference(from: Document(edited.source)) == nil)
                    var expected = Array(document.source.utf8)
                    expected.replaceSubrange(position..<position + length, with: Array(text.utf8))
                    #expect(Array(edited.source.utf8) == expected)
                }
            }
        }
    }

    @Test func `a range outside the text or within a scalar traps`() async {
        await #expect(processExitsWith: .failure) { _ = Document("ab").replacing(0..<3, with: "") }
        await #expect(processExitsWith: .failure) { _ = Document("aé").replacing(2..<3, with: "") }
        await #expect(processExitsWith: .failure) { _ = Document("a😀").replacing(utf16: 2..<3, with: "") }
        await #expect(processExitsWith: .failure) { _ = Document("ab").replacing(utf16: 0..<3, with: "") }
    }
}

@Suite struct `Edits of hostile documents` {
    private static let table = `Hostile streams`.table

    @Test(arguments: table.indices) func `an edit costs at most a parse and has the same result`(index: Int) {
        let (name, make) = Self.table[index]
        let source = make(1_000)
        let document = Document(source)
        let all = DocumentParser.parse(source, options: .init()).steps
        for part in [0, 1, 2, 3] {
            var position = source.utf8.count * part / 3
            while position < source.utf8.count, Array(source.utf8)[position] & 0xC0 == 0x80 { position += 1 }
            for text in ["x", "\n\n", "`"] {
                let edited = document.replacing(position..<position, with: text)
                #expect(edited.difference(from: Document(edited.source)) == nil, "\(name) \(part) \(text)")
                let steps = DocumentParser.replacing(position..<position, of: document.storage, with: text).steps
                #expect(steps <= 2 * all + 2_000, "\(name) \(part) \(text)")
            }
        }
    }
}

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
    @Test(arguments: 0..<40) func `a random edit has the same result as a parse of the whole text`(seed: Int) {
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

    @Test(arguments: 0..<4) func `every block that differs is reported`(seed: Int) {
        var generator = Generator(state: UInt64(seed + 500))
        for _ in 0..<10 {
            var document = Document(Self.text(&generator, pieces: 100, of: Self.fragmentsWithoutDefinitions))
            for _ in 0..<20 {
                let before = document
                // Several edits before the changes are compared.
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
