import TestSupport
import Testing

@testable import NativeMark

private func written(_ markdown: String, hasImage: (Int) -> Bool = { _ in false }) -> (
    text: StyledText, shown: ParagraphText
) {
    let text = StyledText(Document(markdown))
    return (text, ParagraphText(text, ParagraphLayout(text), hasImage: hasImage))
}

@Suite struct `Paragraphs written out for an attributed string` {
    @Test(arguments: [
        ("a *b*\n\nc", "a b\nc"),
        ("- a\n- b", "•\ta\n•\tb"),
        ("- - a\n- [x] b", "•\t◦\ta\n☑\tb"),
        ("3. a\n\n   b\n4.", "3.\ta\nb\n4.\t"),
        ("```\na\n\nb\n```", "a\n\nb"),
        ("|a|b|\n|-|-:|\n|c||", "a\tb\nc\t"),
        ("|a|\n|-:|", "\ta"),
        ("a[^1]\n\n[^1]: b", "a1\n1.\tb"),
        ("---", "⸻"),
        ("a\\\nb", "a\u{2028}b"),
        ("", ""),
    ])
    func `have markers and tabs in the string`(_ markdown: String, _ string: String) {
        #expect(written(markdown).shown.string == string)
    }

    @Test func `count in UTF-16`() throws {
        let (text, shown) = written("👨‍👩‍👧 *é*\n\n- 🇯🇵")
        let units = Array(shown.string.utf16)
        let emphasis = try #require(shown.spans.first { $0.style.isItalic })
        #expect(String(decoding: units[emphasis.range], as: UTF16.self) == "é")
        #expect(emphasis.run.map { text.string(of: text.runs[$0]) } == "é")
        #expect(shown.paragraphs.map { String(decoding: units[$0.range], as: UTF16.self) } == ["👨‍👩‍👧 é\n", "•\t🇯🇵"])
    }

    @Test func `have as many stops as tabs, and the first line begins at its marker`() {
        let shown = written("- - a\n\n|a|b|\n|-:|:-:|").shown
        for paragraph in shown.paragraphs {
            let units = Array(shown.string.utf16)[paragraph.range]
            #expect(paragraph.tabs.count == units.count { $0 == 0x09 })
            #expect(paragraph.tabs.map(\.location) == paragraph.tabs.map(\.location).sorted())
        }
        #expect(shown.paragraphs[0].firstIndent == 0)
        #expect(shown.paragraphs[0].tabs.last?.location == shown.paragraphs[0].indent)
    }

    @Test func `an image is one character if it is available, and its alternative text otherwise`() {
        let (_, shown) = written("![one](1) ![two](2) ![](3)") { $0 == 1 }
        #expect(shown.string == "one \u{FFFC} \u{FFFC}")
        #expect(shown.spans.compactMap(\.image) == [1])
    }

    @Test func `a line is as high as the largest text in it, except with an image`() {
        let sheet = StyleSheet()
            .setting(block: [
                .document: [.fontSize(.points(10)), .lineHeight(1.5)], .headings: [.lineHeight(1), .hyphenation(true)],
            ])
            .setting(inline: [.strong: [.fontSize(.em(2))], .code: [.fontSize(.em(0.5))]])
        let text = StyledText(Document("a `b`\n\nc **d**\n\n# e\n\n![](f)\n\n-\n"), style: sheet)
        let shown = ParagraphText(text, ParagraphLayout(text)) { _ in true }
        #expect(shown.paragraphs.map(\.lineHeight) == [15, 30, 10, nil, 15])
        #expect(shown.paragraphs.map(\.isHyphenated) == [false, false, true, false, false])
        #expect(written("a").shown.paragraphs.map(\.lineHeight) == [nil])
    }

    @Test func `a marker has neither tabs nor line feeds`() {
        let sheet = StyleSheet.default.setting(block: [.list(.bullets): [.marker(.bullets(["a\tb\r\nc\u{2029}"]))]])
        let text = StyledText(Document("- x"), style: sheet)
        #expect(ParagraphText(text, ParagraphLayout(text)).string == "a b c \tx")
    }

    @Test func `cover the whole string, once, with every run in its place`() {
        var random = SeededRandom(seed: 12)
        for _ in 0..<400 {
            let markdown = String.markdown(using: &random)
            let (text, shown) = written(markdown)
            let units = Array(shown.string.utf16)
            #expect(
                shown.spans.reduce(0) { $1.range.lowerBound == $0 ? $1.range.upperBound : -1 } == units.count,
                "\(markdown)")
            #expect(
                shown.paragraphs.reduce(0) { $1.range.lowerBound == $0 ? $1.range.upperBound : -1 } == units.count,
                "\(markdown)")
            var pieces: [Int: String] = [:]
            for span in shown.spans {
                guard let run = span.run else { continue }
                pieces[run, default: ""] += String(decoding: units[span.range], as: UTF16.self)
            }
            for (index, run) in text.runs.enumerated() {
                // Line feeds of code end paragraphs, and are no part of a run any more.
                let string = text.string(of: run).unicodeScalars.filter { $0 != "\n" }
                #expect(Array((pieces[index] ?? "").unicodeScalars) == Array(string), "\(markdown)")
            }
        }
    }
}

@Suite struct `Styled text on a stack of 512 KiB, as paragraphs` {
    @Test(arguments: [
        String(repeating: ">", count: 1_000_000), String(repeating: "- ", count: 100_000) + "a",
        (0..<100).map { String(repeating: "  ", count: $0) + "- x" }.joined(separator: "\n"),
        String(repeating: "-\n", count: 20_000), "```\n" + String(repeating: "\n", count: 20_000) + "```",
    ])
    func `is laid out, written and destroyed`(_ markdown: String) async {
        let isDone = await onSmallStack {
            let text = StyledText(Document(markdown))
            let layout = ParagraphLayout(text)
            let shown = ParagraphText(text, layout)
            return layout == ParagraphLayout(text) && shown == ParagraphText(text, layout)
        }
        #expect(isDone)
    }
}
