@testable import NativeMark
import Testing

/// Texts whose blocks are rendered one after another, compared with the whole text.
@Suite struct `A text in pieces on a terminal` {
    typealias Generator = `Random documents`.Generator

    static let fragments =
        `A text in pieces`.fragments.filter { !$0.contains("]:") } + [
            "\n\n1. one\n", "\n\n> quote\n\n", "\n\n```swift\nlet a = 1\n```\n", "\n\n***\n\n", "<http://a.b/c>",
            "[l](http://a.b/c)",
            " words that are long enough to wrap, 日本語と한국어 ", "\n\n## Heading\n\n", "\n\n- [x] task\n",
        ]

    static let sheets: [String] = [
        "{}", #"{ "base": "github" }"#, #"{ "base": "dracula" }"#,
        #"{ "blocks": { "document": { "border": { "width": 1 }, "padding": "1em" } } }"#,
        #"""
        { "blocks": { "firstBlock": { "spacingBefore": "2em" }, "lastBlock": { "spacingAfter": "3em" },
                      "document": { "leadingIndent": "2em" } } }
        """#,
    ]

    /// Renders the blocks of a stream when they have ended, or some pieces later.
    static func output(
        of text: String, _ renderer: TerminalRenderer, _ sheet: StyleSheet, _ generator: inout Generator
    ) -> String {
        var stream = DocumentStream()
        var terminal = TerminalStream(renderer: renderer, style: sheet, highlighter: .languages)
        var (output, count) = ("", 0)
        for piece in `A text in pieces`.pieces(text, &generator) {
            stream.append(piece)
            while count < stream.count, generator.next(below: 3) > 0 {
                let block = stream.block(at: count)
                #expect(block.hasEnded || !block.isComplete)
                #expect(count < stream.count - 1 || stream.lastBlockHasEnded == block.hasEnded)
                guard block.hasEnded else {
                    _ = terminal.preview(block.document)
                    break
                }
                output += terminal.append(block.document)
                count += 1
            }
        }
        stream.finish()
        let rest = (count..<stream.count).map { stream.block(at: $0).document }
        let last = rest.lastIndex { $0.root.firstChild != nil }
        for (index, document) in rest.enumerated() { output += terminal.append(document, isLast: index == last) }
        return output + terminal.finish()
    }

    @Test(arguments: sheets.indices)
    func `the blocks look the same as in the whole text, as long as nothing is defined`(
        index: Int
    ) throws {
        let sheet = try StyleSheet(json: Self.sheets[index])
        var generator = Generator(state: UInt64(index))
        var compared = 0
        for _ in 0..<150 {
            let text = `A text in pieces`.document(&generator, of: Self.fragments)
            guard !text.contains("]:") else { continue }
            compared += 1
            var renderer = TerminalRenderer(
                width: 5 + generator.next(below: 60), color: .ansi256,
                hyperlinks: !text.contains("![") && generator.next(below: 2) == 0)
            if generator.next(below: 3) == 0 { renderer = PlainText.renderer(width: 40) }
            let whole = renderer.render(StyledText(Document(text), style: sheet, highlighter: .languages))
            let output = Self.output(of: text, renderer, sheet, &generator)
            #expect(visible(output) == visible(whole.isEmpty ? "" : whole + "\n"), "\(text.debugDescription)")
        }
        #expect(compared > 75)
    }

    @Test func `blocks that only define something leave no space, and footnotes come at the end`() {
        var stream = DocumentStream()
        var terminal = TerminalStream(renderer: TerminalRenderer(width: 40))
        stream.append("[^n]: Note\n\n[a]: /b\n\none[^n]\n\n[c]: /d\n\ntwo\n")
        stream.finish()
        var output = stream.blocks.map { terminal.append($0.document) }.joined()
        output += terminal.finish(footnotes: stream.footnotes)
        let rule = String(repeating: "─", count: 40)
        #expect(output == "one¹\n\ntwo\n\n\(rule)\n1. Note\n")
    }

    @Test func `repeated link targets of all blocks together have one limit`() {
        let link = "[\(String(repeating: "a ", count: 50))](http://a.b/\(String(repeating: "c", count: 2_000)))\n\n"
        var terminal = TerminalStream(renderer: TerminalRenderer(width: 10, hyperlinks: true))
        let output = (0..<100).map { _ in terminal.append(Document(link)) }.joined()
        #expect(output.utf8.count < 200 * link.utf8.count + 200_000)
    }

    @Test(arguments: [
        ("a\n", false), ("a\n\n", true), ("# a\n", true), ("# a", false), ("***\n", true), ("```\na\n", false),
        ("```\na\n```\n", true), ("```\na\n```\r", false), ("- a\n\n", false), ("> a\n", false), ("> a\n\n", true),
        ("    a\n\n", false), ("| a |\n|-|\n| b |\n", false), ("| a |\n|-|\n\n", true), ("a\n=\n", true),
        ("\n\n", false),
        ("", true), ("[a]: /b\n\n", true), ("[^a]: b\n\n", false), ("a\n\n ", false), ("a\n\n- b", false),
    ])
    func `a block has ended as soon as nothing can be added to it`(text: String, hasEnded: Bool) {
        var stream = DocumentStream()
        stream.append(text)
        #expect(stream.lastBlockHasEnded == hasEnded)
        if stream.count > 0 { #expect(stream.block(at: stream.count - 1).hasEnded == hasEnded) }
        stream.finish()
        #expect(stream.blocks.allSatisfy { $0.hasEnded && $0.isComplete })
    }
}
