import TestSupport
import Testing

@testable import NativeMark

@Suite struct `DocumentLayout: parts of a long document` {
    private static let snippets = [
        "# a b", "aa bbb cccc ddddd eeeeee ff ggg", "> q\n> r\n>\n> s", "- one\n- two\n  - three\n- four", "- [x] t",
        "```\na\nb\n```", "| a | b |\n|---|:-:|\n| c d e | f |", "---", "## h", "a\\\nb", "[r]: /x", "see [r] and[^1]",
    ]

    private func layout(_ document: Document, _ style: StyleSheet = .github) -> DocumentLayout {
        DocumentLayout(document, style: style, width: 200, engine: MonospacedEngine())
    }

    /// The lines of text and where they are.
    private func lines(_ commands: [DrawingCommand], from top: Double = 0) -> [String] {
        commands.compactMap {
            guard case .text(let line as MonospacedEngine.Line, let origin, _) = $0 else { return nil }
            return "\(line.text) \(origin.x) \((origin.y + top).rounded())"
        }
    }

    private func lines(_ sections: [DocumentLayout.Section]) -> [String] {
        sections.flatMap { lines($0.layout.commands, from: $0.top) }
    }

    @Test(arguments: [
        StyleSheet.default, .github,
        StyleSheet().setting(block: [
            .paragraph: [.spacingBefore(.points(9)), .spacingAfter(.points(5))],
            .firstBlock: [.spacingBefore(.points(3))],
        ]),
    ])
    func `all sections together are the layout of the whole`(_ style: StyleSheet) {
        var random = SeededRandom(seed: 7)
        for _ in 0..<60 {
            let markdown =
                (0..<Int.random(in: 1...12, using: &random))
                .map { _ in Self.snippets.randomElement(using: &random)! }.joined(separator: "\n\n") + "\n\n[^1]: n"
            let document = Document(markdown)
            let whole = TextLayout(
                StyledText(document, style: style), width: 200, engine: MonospacedEngine())
            var layout = layout(document, style)
            #expect(lines(layout.sections(from: 0, height: .infinity)) == lines(whole.commands), "\(markdown)")
        }
    }

    @Test func `only the visible part is laid out`() {
        let document = Document(String(repeating: "some words\n\n", count: 20_000))
        var layout = layout(document)
        let sections = layout.sections(from: 0, height: 300)
        #expect(sections.count > 5 && sections.count < 30)
        let end = sections.last.map { $0.top + $0.layout.size.height } ?? 0
        #expect(end >= 300)
        let middle = layout.section(at: document.source.utf8.count / 2)
        #expect(abs(middle - layout.count / 2) < 10)
        #expect(layout.sections(from: middle, height: 300).first?.index == middle)
        // Estimated from what was laid out: all paragraphs have the same height.
        let whole = TextLayout(StyledText(document, style: .github), width: 200, engine: MonospacedEngine())
        #expect(abs(layout.height / whole.size.height - 1) < 0.05)
    }

    @Test(arguments: 0..<4) func `after edits, the sections are those of the edited document`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var document = Document(
            (0..<30).map { _ in Self.snippets.randomElement(using: &random)! }.joined(separator: "\n\n") + "\n\n[^1]: n"
        )
        var layout = layout(document)
        _ = layout.sections(from: 0, height: .infinity)
        for _ in 0..<20 {
            let start = Int.random(in: 0...document.source.utf8.count, using: &random)
            let end = min(start + Int.random(in: 0...5, using: &random), document.source.utf8.count)
            document = document.replacing(
                start..<end, with: ["x", "\n\n", "# ", "> ", ""].randomElement(using: &random)!)
            layout.update(to: document)
            var fresh = self.layout(document)
            #expect(
                lines(layout.sections(from: 0, height: .infinity)) == lines(fresh.sections(from: 0, height: .infinity)),
                "\(document.source)")
        }
    }

    @Test func `an edit lays out only what it changes`() {
        let engine = CountingEngine()
        let document = Document((0..<200).map { "paragraph \($0)" }.joined(separator: "\n\n"))
        var layout = DocumentLayout(document, width: 200, engine: engine)
        _ = layout.sections(from: 0, height: .infinity)
        let before = engine.count.withLock { $0 }
        #expect(before >= 200)
        layout.update(to: document.replacing(1_000..<1_000, with: "x"))
        _ = layout.sections(from: 0, height: .infinity)
        #expect(engine.count.withLock { $0 } - before < 10)
    }

    @Test func `an empty document has no sections, and indices outside are ignored`() {
        var layout = layout(Document(""))
        #expect(layout.sections(from: 0, height: 100).isEmpty && layout.height == 0)
        #expect(layout.section(at: -5) == 0 && layout.section(at: 99) == 0)
        var other = self.layout(Document("a\n\nb"))
        #expect(other.sections(from: 50, height: 100).isEmpty)
        #expect(!other.sections(from: -50, height: 100).isEmpty)
    }
}

/// Counts the paragraphs that it lays out.
private final class CountingEngine: TextEngine {
    let count = Guarded(0)

    func lines(of paragraph: TextParagraph, width: Double, firstIndent: Double) -> [any TextEngineLine] {
        count.withLock { $0 += 1 }
        return MonospacedEngine().lines(of: paragraph, width: width, firstIndent: firstIndent)
    }

    func width(of paragraph: TextParagraph) -> Double { MonospacedEngine().width(of: paragraph) }

    func minimumWidth(of paragraph: TextParagraph) -> Double { MonospacedEngine().minimumWidth(of: paragraph) }

    func metrics(of style: ResolvedTextStyle) -> (ascent: Double, descent: Double) {
        MonospacedEngine().metrics(of: style)
    }
}
