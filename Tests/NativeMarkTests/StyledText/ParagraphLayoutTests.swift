@testable import NativeMark
import TestSupport
import Testing

/// Letters of 10 points each, whatever the font.
private func tens(_ text: Substring, _ style: ResolvedTextStyle) -> Double { Double(text.count) * 10 }

/// Body text of 20 points, with spaces and indents only where the test sets them.
private func layout(
    _ markdown: String, _ rules: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [:]
) -> (text: StyledText, layout: ParagraphLayout) {
    var sheet = StyleSheet().setting(block: [.document: [.textStyle(.title3)]])
    sheet = sheet.setting(block: rules)
    let text = StyledText(Document(markdown), style: sheet)
    return (text, ParagraphLayout(text, width: tens))
}

@Suite struct `Paragraphs that Apple's views lay out` {
    @Test func `all lines of an item start after the widest marker of its list`() {
        let (_, layout) = layout("9. a\n10. b\n    \n    c")
        #expect(layout.paragraphs.map { $0.markers.map(\.text) } == [["9."], ["10."], []])
        // Three letters of 10 points, and half an em of 20 after them. The shorter number ends where the longer one does.
        #expect(layout.paragraphs.map(\.start) == [10, 0, 40])
        #expect(layout.paragraphs.map(\.firstIndent) == [40, 40, 40])
        #expect(layout.paragraphs.map(\.indent) == [40, 40, 40])
    }

    @Test func `markers of items that start on one line are next to each other`() {
        let (_, layout) = layout("- - a\n  - b")
        #expect(layout.paragraphs.map { $0.markers.map(\.start) } == [[0, 20], [20]])
        #expect(layout.paragraphs[0].end(ofMarker: 0) == 20 && layout.paragraphs[0].end(ofMarker: 1) == 40)
        #expect(layout.paragraphs.map(\.indent) == [40, 40])
    }

    @Test(arguments: [("-", 1), ("- - ", 2), ("-\n- a", 1), ("1.\n\na", 1)])
    func `an empty item still has its marker`(_ markdown: String, _ markers: Int) {
        let (_, layout) = layout(markdown)
        #expect(layout.paragraphs[0].markers.count == markers)
        #expect(layout.paragraphs[0].cells.map(\.pieces) == [[]])
    }

    @Test func `an item shows its marker once, before its first block`() {
        for markdown in ["- a\n\n  b", "- > a\n\n  b", "- # a\n\n  b", "- ```\n  a\n  b\n  ```", "- |a|\n  |-|\n  |b|"]
        {
            let (_, layout) = layout(markdown)
            #expect(layout.paragraphs.map(\.markers.count) == [1, 0], "\(markdown)")
        }
    }

    @Test func `indents, borders and padding add up from the outside in`() {
        let (_, layout) = layout(
            "> > a\n>\n> b",
            [
                .blockQuote: [
                    .leadingIndent(.points(5)), .trailingIndent(.points(7)),
                    .border(.init(edges: [.leading], width: .points(3))),
                    .padding(.init(leading: .points(2), trailing: .points(1))),
                ], .paragraph: [.firstLineIndent(.points(4)), .trailingIndent(.points(1))],
            ])
        #expect(layout.paragraphs.map(\.indent) == [20, 10])
        #expect(layout.paragraphs.map(\.firstIndent) == [24, 14])
        #expect(layout.paragraphs.map(\.trailingIndent) == [17, 9])
        #expect(layout.paragraphs.map { $0.bars.map(\.start) } == [[5, 15], [5]])
        #expect(layout.paragraphs.map { $0.bars.map(\.width) } == [[3, 3], [3]])
    }

    @Test func `a bar continues between paragraphs, but not between quotes`() {
        let quote: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [
            .blockQuote: [.border(.init(edges: [.leading])), .background(.rgb(0xFF0000))]
        ]
        let (_, layout) = layout("> a\n>\n> b\n\nc\n\n> d", quote)
        #expect(layout.paragraphs.map { $0.bars.map(\.joins) } == [[false], [true], [], [false]])
        #expect(layout.paragraphs.map { $0.background?.joins } == [false, true, nil, false])
    }

    @Test func `a hanging indent takes at most the available space`() {
        let (_, layout) = layout(
            "a\n\n> b", [.paragraph: [.firstLineIndent(.points(-8))], .blockQuote: [.leadingIndent(.points(10))]])
        #expect(layout.paragraphs.map(\.firstIndent) == [0, 2])
    }

    @Test func `the larger of two spacings applies, and padding is added`() {
        let rules: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [
            .paragraph: [.spacingBefore(.points(3)), .spacingAfter(.points(5))],
            .headings: [.spacingBefore(.points(9)), .spacingAfter(.points(1))],
            .codeBlock: [.padding(.init(top: .points(2), bottom: .points(4)))],
        ]
        let (_, layout) = layout("a\n\nb\n\n# c\n\nd\n\n```\ne\nf\n```\n\ng", rules)
        #expect(layout.paragraphs.map(\.space) == [0, 5, 9, 3, 7, 0, 7])
    }

    @Test func `the lines of a code block, even empty ones, are paragraphs without space between them`() {
        let (text, layout) = layout("```\na\n\n b\n\n```")
        let lines = layout.paragraphs.map { $0.cells[0].pieces.map { String(text.string(of: $0)) }.joined() }
        #expect(lines == ["a", "", " b", ""])
        #expect(layout.paragraphs.allSatisfy { $0.space == 0 })
    }

    @Test func `table columns are as wide as their widest cell, with tab stops for their alignment`() {
        let (_, layout) = layout("|a|bb|c|\n|-|:-:|-:|\n|aaa|b|cccc|")
        let tabs = layout.paragraphs.map { $0.cells.map(\.tab) }
        // 30, 20 and 40 points, with 20 in between.
        let row: [ParagraphLayout.Tab?] = [
            nil, .init(location: 60, alignment: .center), .init(location: 130, alignment: .trailing),
        ]
        #expect(tabs == [row, row])
        #expect(layout.paragraphs.map(\.cells.count) == [3, 3])
        #expect(layout.sections == [0..<2])
    }

    @Test func `each table is a section, and so is every other paragraph`() {
        let (_, layout) = layout("a\n\nb\n\n|c|\n|-|\n|d|\n\n<!-- -->\n\n|e|\n|-|\n|f|\n\n> |g|\n> |-|\n\n> |h|\n> |-|")
        #expect(layout.sections == [0..<1, 1..<2, 2..<4, 4..<5, 5..<7, 7..<8, 8..<9])
    }

    @Test func `footnotes have numbers`() {
        let (_, layout) = layout("a[^x]\n\n[^x]: b\n\n    c")
        #expect(layout.paragraphs.map { $0.markers.map(\.text) } == [[], ["1."], []])
        #expect(layout.paragraphs.map(\.indent) == [0, 30, 30])
    }

    @Test func `deep nesting leaves room for text`() {
        let rules: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [.blockQuote: [.leadingIndent(.points(50))]]
        let (_, quotes) = layout(String(repeating: ">", count: 90) + " a", rules)
        #expect(quotes.paragraphs.map(\.indent) == [200])
        let (_, lists) = layout(String(repeating: "- ", count: 40) + "a")
        #expect(lists.paragraphs[0].markers.count == 40)
        #expect(lists.paragraphs[0].indent == ParagraphBuilder.deepest)
    }

    @Test func `impossible lengths are ignored or limited`() {
        let (_, layout) = layout(
            "- a",
            [
                .paragraph: [
                    .leadingIndent(.points(.infinity)), .trailingIndent(.em(.nan)), .lineSpacing(.points(-4)),
                    .firstLineIndent(.points(1e300)),
                ], .item: [.spacingBefore(.points(-.infinity))],
            ])
        let paragraph = layout.paragraphs[0]
        #expect(paragraph.indent == 20 && paragraph.trailingIndent == 0 && paragraph.lineSpacing == 0)
        #expect(paragraph.firstIndent == 10_020)
    }

    @Test func `an empty document has no paragraphs`() {
        #expect(layout("").layout.paragraphs.isEmpty)
        #expect(layout("").layout.sections.isEmpty)
    }
}

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
    func `the string has markers and tabs`(_ markdown: String, _ string: String) {
        #expect(written(markdown).shown.string == string)
    }

    @Test func `ranges count in UTF-16`() throws {
        let (text, shown) = written("👨‍👩‍👧 *é*\n\n- 🇯🇵")
        let units = Array(shown.string.utf16)
        let emphasis = try #require(shown.spans.first { $0.style.isItalic })
        #expect(String(decoding: units[emphasis.range], as: UTF16.self) == "é")
        #expect(emphasis.run.map { text.string(of: text.runs[$0]) } == "é")
        #expect(shown.paragraphs.map { String(decoding: units[$0.range], as: UTF16.self) } == ["👨‍👩‍👧 é\n", "•\t🇯🇵"])
    }

    @Test func `a paragraph has as many tab stops as tabs, and its first line starts at its marker`() {
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

    @Test func `a line is as high as its largest text, unless it has an image`() {
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

    @Test func `a marker has no tabs or line feeds`() {
        let sheet = StyleSheet.default.setting(block: [.list(.bullets): [.marker(.bullets(["a\tb\r\nc\u{2029}"]))]])
        let text = StyledText(Document("- x"), style: sheet)
        #expect(ParagraphText(text, ParagraphLayout(text)).string == "a b c \tx")
    }

    @Test func `the spans cover the whole string once, with every run in its place`() {
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
                // Line feeds of code end paragraphs, and no longer belong to a run.
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
    func `a hostile document is laid out, written and destroyed`(_ markdown: String) async {
        let isDone = await onSmallStack {
            let text = StyledText(Document(markdown))
            let layout = ParagraphLayout(text)
            let shown = ParagraphText(text, layout)
            return layout == ParagraphLayout(text) && shown == ParagraphText(text, layout)
        }
        #expect(isDone)
    }
}
