@testable import NativeMark
import Testing

/// Paragraphs of which each piece is shown, compared with a parse of everything that has arrived.
@Suite struct `A paragraph that grows` {
    typealias Generator = `Random documents`.Generator

    private static let fragments = [
        "a", "é", "日本語", "word ", "two words ", " ", " ", "  ", "\n", "\nb ", "\n*c* ", "\n* ", "\n**", "\n`", "\n_d_",
        "\n===\n", "\r\n", "*", "**", "***", "_", "__", "~",
        "~~", "`", "``",
        "[", "]", "![", "](", "](/u)", "](<a b>)", "](/u 't u')", "[x]", "[^1]", "(", ")", "<", ">", "<http://x.y>",
        "&amp;", "&", ";",
        "\\", "\\*", "\\\n", "|", "\t", "www.a.b", "http://c.d/(e)", "a@b.c", "_a@b.c", "\u{A0}", ".", "\"", "'",
    ]

    private static let beginnings = [
        "a", "a", "*a* ", "**b ", "*", "**", "***", "* ", "_c_ ", "`d` ", "`", "``", "\"e\" ", "(f", "é", "\u{FEFF}g",
        "1", "[x", "<", " h",
    ]

    private static func nodes(of document: Document) -> [String] {
        document.nodes { _ in true }.map { "\($0.kind) \($0.sourceRange) \($0.plainText.debugDescription)" }
    }

    @Test(arguments: 0..<12) func `looks at each moment like the whole text so far`(seed: Int) {
        var generator = Generator(state: UInt64(seed))
        var compared = 0
        for _ in 0..<60 {
            // Plain words in between, because they are what settles.
            let text =
                Self.beginnings[generator.next(below: Self.beginnings.count)]
                + (0..<(5 + generator.next(below: 60))).map { _ in
                    generator.next(below: 3) == 0
                        ? "word and word " : Self.fragments[generator.next(below: Self.fragments.count)]
                }.joined()
            var options = Document.Options()
            if seed % 4 == 1 { options = .commonMark }
            if seed % 4 == 2 { options.smartPunctuation = true }
            var stream = DocumentStream(options: options)
            var prefix = ""
            for piece in `A text in pieces`.pieces(text, &generator) {
                prefix.unicodeScalars += piece.unicodeScalars
                stream.append(piece)
                guard generator.next(below: 4) > 0, stream.count == 1, !prefix.contains("]:") else { continue }
                compared += 1
                let whole = Document(prefix, options: options)
                let shown = stream.block(at: 0).document
                #expect(Self.nodes(of: shown) == Self.nodes(of: whole), "\(prefix.debugDescription)")
                #expect(shown.source == prefix)
            }
            stream.finish()
            guard stream.count == 1, !prefix.contains("]:") else { continue }
            #expect(Self.nodes(of: stream.block(at: 0).document) == Self.nodes(of: Document(text, options: options)))
        }
        #expect(compared > 200)
    }

    @Test func `a copy continues in another way`() {
        var stream = DocumentStream()
        stream.append("one two *three four five ")
        _ = stream.block(at: 0)
        var copy = stream
        copy.append("six* seven")
        #expect(copy.block(at: 0).document.root.plainText == "one two three four five six seven")
        stream.append("6 [7](/8)")
        #expect(stream.block(at: 0).document.root.plainText == "one two *three four five 6 7")
        copy.append(" eight")
        #expect(copy.block(at: 0).document.root.plainText == "one two three four five six seven eight")
    }

    @Test func `a definition ends the shortcut`() {
        var stream = DocumentStream()
        stream.append("[x]: /u\n\nsee the [x")
        _ = stream.block(at: 1)
        stream.append("] and more")
        #expect(stream.block(at: 1).document.root.firstChild?.plainText == "see the x and more")
    }

    @Test(arguments: ["plain words, ", "some *words* and [a](/b) ", "a `b` c ", "a * b [c] ", "line\nline "])
    func `showing each piece costs a few steps a byte, however long the paragraph is`(words: String) {
        var steps: [Double] = []
        for size in [4_000, 16_000] {
            var stream = DocumentStream()
            var rest = String(repeating: words, count: size / words.utf8.count).utf8[...]
            while !rest.isEmpty {
                stream.append(String(Substring(rest.prefix(64))))
                rest = rest.dropFirst(64)
                _ = stream.block(at: 0)
            }
            steps.append(Double(stream.steps) / Double(size))
        }
        #expect(steps[1] < 20 && steps[1] < 1.2 * steps[0], "\(steps)")
    }
}
