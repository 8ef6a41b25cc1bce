import Testing

@testable import NativeMark

@Suite struct `Hostile streams` {
    /// The hostile documents, and what is hostile only in pieces.
    static let table = `Hostile documents`.table + own

    private static let own: [(String, @Sendable (Int) -> String)] = [
        ("references that wait", { size in lines(size / 10) { "[\($0)]" } + lines(size / 10) { "[\($0)]: a" } }),
        ("footnotes that wait", { size in lines(size / 10) { "[^\($0)]" } + lines(size / 10) { "[^\($0)]: a" } }),
        ("footnotes in reverse", { size in lines(size) { "[^\($0)]" } + lines(size) { "[^\(size - $0)]: a" } }),
        ("escaped brackets", { String(repeating: "[\\[", count: $0) + String(repeating: "\\[\\]", count: $0) }),
        ("escaped brackets of a label", { String(repeating: "\\[", count: $0) + "]" }),
        ("a long blank line", { "a\n" + String(repeating: " ", count: 2 * $0) }),
        ("a long line", { String(repeating: "a ", count: $0) }),
        ("a long list", { String(repeating: "- a\n", count: $0) }),
        ("a long quote", { String(repeating: "> a\n", count: $0) }),
        ("short paragraphs", { String(repeating: "a\n\n", count: $0) }),
        ("halves of line breaks", { String(repeating: "a\r", count: $0) }),
    ]

    private static func lines(_ count: Int, _ line: (Int) -> String) -> String {
        (0..<count).map { line($0) + "\n\n" }.joined()
    }

    private func stream(_ text: String) -> DocumentStream {
        var stream = DocumentStream()
        var rest = text.utf8[...]
        while !rest.isEmpty {
            stream.append(String(Substring(rest.prefix(16))))
            rest = rest.dropFirst(16)
        }
        stream.finish()
        return stream
    }

    @Test(arguments: table.indices) func `doubling the text doubles the work`(index: Int) {
        let (name, make) = Self.table[index]
        let steps = [2_000, 4_000].map {
            var stream = stream(make($0))
            _ = stream.blocks
            _ = stream.footnotes
            return stream.parser.builder.steps + stream.steps
        }
        #expect(Double(steps[1]) <= 2.2 * Double(steps[0]), "\(name): \(steps)")
    }

    @Test(arguments: table.indices) func `blocks together are not much larger than the text`(index: Int) {
        let (name, make) = Self.table[index]
        let source = make(2_000)
        var stream = stream(source)
        let nodes = stream.blocks.reduce(0) { $0 + $1.document.storage.nodeCount }
        #expect(nodes <= 0x10000 + 4 * source.utf8.count, "\(name)")
        let size = stream.blocks.reduce(0) { $0 + HTMLRenderer().render($1.document).utf8.count }
        #expect(size <= 40 * source.utf8.count + 2_000_000, "\(name)")
        // What is kept of labels that wait.
        #expect(stream.waiting.keys.reduce(0) { $0 + $1.count } <= source.utf8.count, "\(name)")
    }

    @Test func `many blocks with one reference add no more than one document with as many`() {
        let source =
            "[a]: " + String(repeating: "b", count: 2_000) + "\n\n" + String(repeating: "[a]\n\n", count: 20_000)
        var stream = stream(source)
        let size = stream.blocks.reduce(0) { $0 + HTMLRenderer().render($1.document).utf8.count }
        #expect(size < 4 * source.utf8.count)
    }

    @Test func `a million quotes need no deep stack`() async {
        let isRight = await onSmallStack {
            var stream = DocumentStream()
            for _ in 0..<1_000 { stream.append(String(repeating: ">", count: 1_000)) }
            var copy = stream
            copy.finish()
            return stream.block(at: 0).document.root.plainText.utf8.count > 900_000
                && copy.block(at: 0).document == stream.block(at: 0).document
        }
        #expect(isRight)
    }
}
