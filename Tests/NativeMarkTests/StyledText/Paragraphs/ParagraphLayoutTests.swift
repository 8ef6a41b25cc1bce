import Testing

@testable import NativeMark

/// Letters of 10 points each, whatever the font.
private func tens(_ text: Substring, _ style: ResolvedTextStyle) -> Double { Double(text.count) * 10 }

/// Body text of 20 points, spaces and indents only where the test says so.
private func layout(
    _ markdown: String, _ rules: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [:]
) -> (text: StyledText, layout: ParagraphLayout) {
    var sheet = StyleSheet().setting(block: [.document: [.textStyle(.title3)]])
    sheet = sheet.setting(block: rules)
    let text = StyledText(Document(markdown), style: sheet)
    return (text, ParagraphLayout(text, width: tens))
}

@Suite struct `Paragraphs that Apple's views lay out` {
    @Test func `a marker stands in front, and all lines of its item behind the widest`() {
        let (_, layout) = layout("9. a\n10. b\n    \n    c")
        #expect(layout.paragraphs.map { $0.markers.map(\.text) } == [["9."], ["10."], []])
        // Three letters of 10 points, half an em of 20 behind them; the shorter number ends where the longer does.
        #expect(layout.paragraphs.map(\.start) == [10, 0, 40])
        #expect(layout.paragraphs.map(\.firstIndent) == [40, 40, 40])
        #expect(layout.paragraphs.map(\.indent) == [40, 40, 40])
    }

    @Test func `markers of items that begin in one line stand one behind the other`() {
        let (_, layout) = layout("- - a\n  - b")
        #expect(layout.paragraphs.map { $0.markers.map(\.start) } == [[0, 20], [20]])
        #expect(layout.paragraphs[0].end(ofMarker: 0) == 20 && layout.paragraphs[0].end(ofMarker: 1) == 40)
        #expect(layout.paragraphs.map(\.indent) == [40, 40])
    }

    @Test(arguments: [("-", 1), ("- - ", 2), ("-\n- a", 1), ("1.\n\na", 1)])
    func `an item without anything in it still has its marker`(_ markdown: String, _ markers: Int) {
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

    @Test func `indents, borders and padding add up from outside to inside`() {
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

    @Test func `a bar continues from paragraph to paragraph, and not from quote to quote`() {
        let quote: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [
            .blockQuote: [.border(.init(edges: [.leading])), .background(.rgb(0xFF0000))]
        ]
        let (_, layout) = layout("> a\n>\n> b\n\nc\n\n> d", quote)
        #expect(layout.paragraphs.map { $0.bars.map(\.joins) } == [[false], [true], [], [false]])
        #expect(layout.paragraphs.map { $0.background?.joins } == [false, true, nil, false])
    }

    @Test func `a hanging indent takes from the room in front, and no more than there is`() {
        let (_, layout) = layout(
            "a\n\n> b", [.paragraph: [.firstLineIndent(.points(-8))], .blockQuote: [.leadingIndent(.points(10))]])
        #expect(layout.paragraphs.map(\.firstIndent) == [0, 2])
    }

    @Test func `of two spacings the larger holds, and padding is added`() {
        let rules: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [
            .paragraph: [.spacingBefore(.points(3)), .spacingAfter(.points(5))],
            .headings: [.spacingBefore(.points(9)), .spacingAfter(.points(1))],
            .codeBlock: [.padding(.init(top: .points(2), bottom: .points(4)))],
        ]
        let (_, layout) = layout("a\n\nb\n\n# c\n\nd\n\n```\ne\nf\n```\n\ng", rules)
        #expect(layout.paragraphs.map(\.space) == [0, 5, 9, 3, 7, 0, 7])
    }

    @Test func `lines of a code block are paragraphs close together, also the empty ones`() {
        let (text, layout) = layout("```\na\n\n b\n\n```")
        let lines = layout.paragraphs.map { $0.cells[0].pieces.map { String(text.string(of: $0)) }.joined() }
        #expect(lines == ["a", "", " b", ""])
        #expect(layout.paragraphs.allSatisfy { $0.space == 0 })
    }

    @Test func `columns of a table are as wide as their widest cell, and stop where they are aligned`() {
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

    @Test func `two tables are two sections, and every other paragraph is one`() {
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

    @Test func `lengths that can't be calculated with are none`() {
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
