import NativeMark
import Testing

/// The HTML of a text. It must be the same with and without a document.
func html(_ markdown: String, _ options: Document.Options = .init()) -> String {
    let html = HTMLRenderer().render(Document(markdown, options: options))
    let direct = HTMLRenderer().render(markdown: markdown, options: options)
    #expect(direct == html, "\(markdown.prefix(500).debugDescription)")
    return html
}

extension Document {
    /// The first node of a kind, in document order.
    func first(where condition: (Kind) -> Bool) -> Node? {
        nodes { condition($0.kind) }.first
    }

    /// The source text of a node.
    func source(of node: Node) -> String {
        String(decoding: Array(source.utf8)[node.sourceRange], as: UTF8.self)
    }
}

/// A highlighter that finds the same tokens in every code.
struct FixedHighlighter: CodeHighlighter {
    var tokens: [CodeToken]

    func tokens(in code: String, language: String) -> [CodeToken] { tokens }
}

extension String {
    /// Lines of Markdown in random order: every block and inline there is, with text that has width, marks and directions.
    static func markdown(using random: inout some RandomNumberGenerator) -> String {
        let starts = [
            "", "", "", "# ", "###### ", "> ", "> > ", "- ", "  - ", "      - ", "1. ", "   9. ", "99999999. ",
            "- [ ] ", "- [x] ",
            "    ", "\t", "```swift\n", "```\n", "---", "| ", "|a|b|c|\n|-|:-:|--:|\n|", "[^1]: ", ">     ",
        ]
        let pieces = [
            "word", "a", "I", "日本語の文章。", "「引用」", "한국어", "👨‍👩‍👧", "🇯🇵", "❤\u{FE0F}", "e\u{301}", "1\u{FE0F}\u{20E3}", "नमस्ते",
            "\u{A0}", "\u{200B}",
            "\u{2060}", "\u{FE0F}", "\u{301}", " ", " ", " ", "  ", "-", "*b*", "**", "*", "`code x`", "~~struck~~",
            "[link](http://example.com/a/long/path)", "[](x)", "![alt *t*](p.png)", "![](p.png)", "<http://a.b>",
            "[^1]", "|", "\\|",
            "averyverylongwordthatfitsinnoline", "&#27;", "&nbsp;", "\\", "<b>", "\u{1B}[31m", "\u{202E}", "שלום",
            "\u{1100}", "\u{1161}",
        ]
        var result = ""
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            for _ in 0..<Int.random(in: 0...2, using: &random) { result += starts.randomElement(using: &random) ?? "" }
            for _ in 0..<Int.random(in: 0...8, using: &random) { result += pieces.randomElement(using: &random) ?? "" }
            result += ["\n", "\n", "\n\n", "  \n"].randomElement(using: &random) ?? ""
        }
        return result
    }
}
