import TestSupport
import Testing

@testable import NativeMark

/// Letters of 5 points, lines of 10 points, and space only where the test's rules have it.
private func layout(
    _ markdown: String, width: Double = 100, block: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [:],
    inline: [StyleSheet.InlineSelector: [StyleSheet.InlineStyle]] = [:],
    lineLimit: Int? = nil, imageSize: (Int) -> LayoutSize? = { _ in nil }
) -> (text: StyledText, layout: TextLayout) {
    let sheet = StyleSheet().setting(block: [.document: [.fontSize(.points(10))]]).setting(block: block)
        .setting(inline: inline)
    let text = StyledText(Document(markdown), style: sheet)
    return (
        text, TextLayout(text, width: width, engine: MonospacedEngine(), lineLimit: lineLimit, imageSize: imageSize)
    )
}

/// The commands as text, such as `text 0,8 abc` and `fill 0,0 20x10 r4`. U+2060 is left out, and a placeholder is `□`.
private func shown(_ layout: TextLayout) -> [String] {
    func number(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }
    func point(_ point: LayoutPoint) -> String { "\(number(point.x)),\(number(point.y))" }
    func rectangle(_ rectangle: LayoutRectangle) -> String {
        "\(number(rectangle.x)),\(number(rectangle.y)) \(number(rectangle.width))x\(number(rectangle.height))"
    }
    func names(_ corners: LayoutCorners) -> String {
        corners == .all ? "" : corners == .leading ? " opens" : corners == .trailing ? " closes" : " continues"
    }
    return layout.commands.map { command in
        switch command {
        case .fill(let box, let radius, let corners, _):
            "fill \(rectangle(box))" + (radius > 0 ? " r\(number(radius))" : "") + names(corners)
        case .stroke(let box, let border, let corners):
            "stroke \(rectangle(box)) w\(number(border.width))"
                + (border.edges.count < 4 ? " \(border.edges.count)" : "")
                + names(corners)
        case .text(let line, let origin, _):
            "text \(point(origin)) "
                + ((line as? MonospacedEngine.Line)?.text ?? "").filter { $0 != "\u{2060}" }
                .map { $0 == "\u{FFFC}" ? "□" : String($0) }.joined()
        case .image(let index, let box, let radius):
            "image \(index) \(rectangle(box))" + (radius > 0 ? " r\(number(radius))" : "")
        case .checkbox(let box, let isChecked, _): "\(isChecked ? "checked" : "unchecked") \(rectangle(box))"
        }
    }
}

@Suite struct `TextLayout: blocks` {
    @Test func `lines break at spaces and follow each other`() {
        let (_, layout) = layout("aa bb cc", width: 28)
        #expect(shown(layout) == ["text 0,8 aa bb ", "text 0,18 cc"])
        #expect(layout.size == LayoutSize(width: 28, height: 20))
    }

    @Test func `the larger spacing separates two blocks, and none is above the first or below the last`() {
        let (_, layout) = layout(
            "a\n\n# b\n\nc",
            block: [
                .paragraph: [.spacingBefore(.points(4)), .spacingAfter(.points(6))],
                .headings: [.spacingBefore(.points(9))],
            ])
        #expect(shown(layout) == ["text 0,8 a", "text 0,27 b", "text 0,41 c"])
        #expect(layout.size.height == 43)
    }

    @Test func `spacing at the ends is that of the rules for the first and the last block`() {
        let (_, layout) = layout(
            "a\n\nb",
            block: [
                .paragraph: [.spacingBefore(.points(4)), .spacingAfter(.points(6))],
                .firstBlock: [.spacingBefore(.points(5))], .lastBlock: [.spacingAfter(.points(7))],
            ])
        #expect(shown(layout) == ["text 0,13 a", "text 0,29 b"])
        #expect(layout.size.height == 38)
    }

    @Test func `the line height is divided above and below the text, and line spacing comes between lines`() {
        let (_, layout) = layout("a\\\nb", block: [.paragraph: [.lineHeight(2), .lineSpacing(.points(3))]])
        #expect(shown(layout) == ["text 0,13 a\u{2028}", "text 0,36 b"])
        #expect(layout.size.height == 43)
    }

    @Test(arguments: [
        (StyleSheet.Alignment.leading, "text 0,8 ab"), (.center, "text 45,8 ab"), (.trailing, "text 90,8 ab"),
        (.justified, "text 0,8 ab"),
    ])
    func `lines are aligned`(_ alignment: StyleSheet.Alignment, _ expected: String) {
        #expect(shown(layout("ab", block: [.paragraph: [.alignment(alignment)]]).layout) == [expected])
    }

    @Test func `indents narrow all lines, and the first line has its own`() {
        let (_, layout) = layout(
            "aaa bbb ccc", width: 60,
            block: [
                .paragraph: [.leadingIndent(.points(10)), .trailingIndent(.points(5)), .firstLineIndent(.points(20))]
            ])
        #expect(shown(layout) == ["text 30,8 aaa ", "text 10,18 bbb ccc"])
    }

    @Test func `the background and border of a box contain its padding and all its blocks`() {
        let (_, layout) = layout(
            "> a\n>\n> b\n\nc",
            block: [
                .blockQuote: [
                    .background(.rgb(1)), .border(.init(width: .points(2), cornerRadius: .points(4))),
                    .padding(.all(.points(3))),
                ],
                .paragraph: [.spacingBefore(.points(7)), .spacingAfter(.points(7))],
            ])
        #expect(
            shown(layout) == [
                "fill 0,0 100x37 r4", "stroke 0,0 100x37 w2", "text 5,13 a", "text 5,30 b", "text 0,52 c",
            ])
    }

    @Test func `nested boxes are inside each other, the outer one behind`() {
        let (_, layout) = layout(
            "> > a", block: [.blockQuote: [.background(.rgb(1)), .padding(.all(.points(5)))]])
        #expect(shown(layout) == ["fill 0,0 100x30", "fill 5,5 90x20", "text 10,18 a"])
    }

    @Test func `blocks that are nested too deeply aren't indented further`() {
        let (_, layout) = layout(
            String(repeating: "> ", count: 40) + "a", width: 100, block: [.blockQuote: [.leadingIndent(.points(10))]])
        #expect(shown(layout) == ["text 50,8 a"])
    }

    @Test func `markers are beside the first line of their item, numbers aligned at their ends`() {
        let (_, layout) = layout("9. a\n10. b\n\n    c")
        #expect(shown(layout) == ["text 5,8 9.", "text 20,8 a", "text 0,18 10.", "text 20,18 b", "text 20,28 c"])
    }

    @Test func `markers of items that begin on one line are next to each other, and an empty item has its marker`() {
        #expect(
            shown(layout("- - a\n-").layout) == [
                "text 0,8 •", "text 10,8 •", "text 20,8 a", "text 0,18 •", "text 10,18 ",
            ])
    }

    @Test func `a marker without room beside it has a line of its own`() {
        #expect(shown(layout("1. ab", width: 20).layout) == ["text 0,8 1.", "text 0,8 ", "text 0,18 ab"])
    }

    @Test func `a task item has a drawn checkbox`() {
        let (_, layout) = layout("- [x] a\n- [ ] b")
        #expect(
            shown(layout) == ["checked 0,0 8x8", "text 13,8 a", "unchecked 0,10 8x8", "text 13,18 b"])
    }

    @Test(arguments: [
        (StyleSheet.Bullet.disc, ["fill 0,3 4x4 r2", "text 9,8 a", "text 0,18 2.", "text 15,18 b"]),
        (.circle, ["stroke 0,3 4x4 w0.6666666666666666", "text 9,8 a", "text 0,18 2.", "text 15,18 b"]),
        (.square, ["fill 0,3 4x4", "text 9,8 a", "text 0,18 2.", "text 15,18 b"]),
        (.text("--"), ["text 0,8 --", "text 15,8 a", "text 0,18 2.", "text 15,18 b"]),
        (.text(""), ["text 0,8 a", "text 0,18 2.", "text 15,18 b"]),
    ])
    func `a bullet is a shape or a text`(_ bullet: StyleSheet.Bullet, _ expected: [String]) {
        let (_, layout) = layout("- a\n\n2. b", block: [.lists: [.marker(.bullets([bullet]))]])
        #expect(shown(layout) == expected)
    }

    @Test func `task items have colors for their state, or texts`() {
        let colored = layout(
            "- [x] a\n- [ ] b\n- c\n\n1. [x] d",
            block: [.lists: [.taskMarker(.checkbox(open: .rgb(1), done: .rgb(2)))]]
        ).layout
        var colors: [StyleSheet.Tone] = []
        for case .checkbox(_, _, let color) in colored.commands { colors.append(color) }
        #expect(
            colors == [
                .rgb(red: 0, green: 0, blue: 2), .rgb(red: 0, green: 0, blue: 1), .rgb(red: 0, green: 0, blue: 2),
            ])
        #expect(shown(colored).suffix(3) == ["text 0,38 1. ", "checked 12.5,30 8x8", "text 25.5,38 d"])
        let texts = layout("- [x] a\n- [ ] b", block: [.lists: [.taskMarker(.texts(open: "-", done: "OK"))]]).layout
        #expect(shown(texts) == ["text 0,8 OK", "text 15,8 a", "text 0,18 -", "text 15,18 b"])
    }

    @Test func `a thematic break is a line across the block`() {
        let (_, layout) = layout("a\n\n---", block: [.thematicBreak: [.leadingIndent(.points(20))]])
        #expect(shown(layout) == ["text 0,8 a", "fill 20,14.5 80x1"])
    }

    @Test(arguments: [
        (
            StyleSheet.Divider.rule(thickness: .points(4), width: .fraction(0.5)),
            ["text 0,8 a", "fill 25,13 50x4", "text 0,28 b"]
        ),
        (
            .rule(thickness: .em(2), width: .length(.em(3)), alignment: .leading),
            ["text 0,8 a", "fill 0,10 30x20", "text 0,38 b"]
        ),
        (
            .rule(thickness: .points(2), width: .length(.points(500)), pattern: .dotted),
            ["text 0,8 a", "stroke 0,14 100x2 w2 1", "text 0,28 b"]
        ),
        (
            .rule(width: .length(.points(10)), alignment: .trailing),
            ["text 0,8 a", "fill 90,14.5 10x1", "text 0,28 b"]
        ),
        (.rule(thickness: .points(.nan), width: .fraction(-1)), ["text 0,8 a", "text 0,28 b"]),
        (.ornament("* *"), ["text 0,8 a", "text 42.5,18 * *", "text 0,28 b"]),
        (.ornament("*", alignment: .trailing), ["text 0,8 a", "text 95,18 *", "text 0,28 b"]),
        (.ornament(""), ["text 0,8 a", "text 50,18 ", "text 0,28 b"]),
    ])
    func `a divider is a line or a text`(_ divider: StyleSheet.Divider, _ expected: [String]) {
        #expect(shown(layout("a\n\n---\n\nb", block: [.thematicBreak: [.divider(divider)]]).layout) == expected)
    }

    @Test func `each line of a code block begins where the block does`() {
        let (_, layout) = layout("```\na\n\n  b\n```", block: [.codeBlock: [.padding(.init(leading: .points(5)))]])
        #expect(shown(layout) == ["text 5,8 a", "text 5,18 ", "text 5,28   b"])
    }
}

@Suite struct `TextLayout: boxes, links and images` {
    private static let box = StyleSheet.InlineBackground(
        .rgb(1), padding: .init(top: .points(1), leading: .points(3), bottom: .points(2), trailing: .points(4)),
        cornerRadius: .points(2))

    @Test func `a box behind text has room for its padding`() {
        let (_, layout) = layout("a `b` c", inline: [.code: [.inlineBackground(Self.box)]])
        #expect(shown(layout) == ["fill 10,-1 12x13 r2", "text 0,8 a □b□ c"])
    }

    @Test func `a background without a box covers its text`() {
        let (_, layout) = layout("a **b** c", inline: [.strong: [.inlineBackground(.rgb(1))]])
        #expect(shown(layout) == ["fill 10,0 5x10", "text 0,8 a b c"])
    }

    @Test func `a box that continues on another line is open at the break`() {
        let (_, layout) = layout("`bb bb bb`", width: 20, inline: [.code: [.inlineBackground(Self.box)]])
        #expect(
            shown(layout) == [
                "fill 0,-1 18x13 r2 opens", "fill 0,9 15x13 r2 continues", "fill 0,19 14x13 r2 closes",
                "text 0,8 □bb ", "text 0,18 bb ", "text 0,28 bb□",
            ])
    }

    @Test func `a point leads to its link, and a link to its rectangles`() throws {
        let (text, layout) = layout("ab [cd](x) [ef](y)", width: 25)
        #expect(shown(layout) == ["text 0,8 ab cd ", "text 0,18 ef"])
        #expect(layout.link(at: .init(x: 17, y: 5)).map { text.links[$0].destination } == "x")
        #expect(layout.link(at: .init(x: 2, y: 15)).map { text.links[$0].destination } == "y")
        #expect(layout.link(at: .init(x: 2, y: 5)) == nil && layout.link(at: .init(x: 2, y: 50)) == nil)
        let run = try #require(text.runs.first { $0.link == 0 })
        #expect(layout.rectangles(of: run.range) == [.init(x: 15, y: 0, width: 10, height: 10)])
        #expect(layout.rectangles(of: 0..<8).map(\.y) == [0, 0, 0, 10])
    }

    @Test(arguments: [
        (0.0, 0.0, 0), (12, 5, 2), (17, 5, 3), (900, 5, 5), (-9, -9, 0), (2, 14, 7), (2, 900, 7), (99, 14, 9),
        (.nan, .nan, 0),
        (.infinity, -.infinity, 0), (1e300, 1e300, 9),
    ])
    func `a point leads to the nearest character`(_ x: Double, _ y: Double, _ expected: Int) {
        let (text, layout) = layout("ab 🎈 cde", width: 25)
        #expect(text.string == "ab 🎈 cde" && shown(layout) == ["text 0,8 ab 🎈 ", "text 0,18 cde"])
        // The balloon has four bytes, and the space after it is the last character of the line.
        let expected = expected == 5 ? 7 : expected >= 7 ? expected + 1 : expected
        #expect(layout.characterIndex(at: .init(x: x, y: y)) == expected)
    }

    @Test func `the room of a box, an image and a cell lead to their text`() {
        let (text, layout) = layout(
            "`a` ![alt](u)\n\n| b | c |\n|---|---|\n\n    \n", inline: [.code: [.inlineBackground(Self.box)]],
            imageSize: { _ in .init(width: 20, height: 10) })
        #expect(text.string == "a alt\nb\tc")
        #expect([0, 4, 9, 14, 20, 33].map { layout.characterIndex(at: .init(x: $0, y: 5)) } == [0, 0, 1, 1, 2, 2])
        #expect([5, 30].map { layout.characterIndex(at: .init(x: $0, y: 15)) } == [6, 8])
        #expect(NativeMarkTests.layout("").layout.characterIndex(at: .init(x: 0, y: 0)) == nil)
    }

    @Test func `an image stands on the baseline and makes its line higher; one that is too wide is scaled`() {
        let (text, layout) = layout("a ![b](c) ![wide](d)", width: 50) { index in
            index == 0 ? .init(width: 20, height: 30) : .init(width: 100, height: 40)
        }
        #expect(
            shown(layout) == [
                "text 0,30 a □ ", "image 0 10,0 20x30", "text 0,52 □", "image 1 0,32 50x20",
            ])
        #expect(layout.rectangles(of: text.runs[1].range) == [.init(x: 10, y: 0, width: 20, height: 32)])
    }
}

@Suite struct `TextLayout: sizes of images` {
    @Test(arguments: [
        (StyleSheet.ImageLayout(), "a", 30.0, 20.0, "image 0 0,0 30x20"),
        (.init(), "> a", 200, 100, "image 0 10,0 90x45"),
        (.init(.fitWidth), "a", 50, 20, "image 0 0,0 100x40"), (.init(.fitWidth), "> a", 30, 10, "image 0 10,0 90x30"),
        (.init(.fitWidth), "a", 200, 20, "image 0 0,0 100x10"),
        (.init(.maximum(width: .points(20))), "a", 40, 30, "image 0 0,0 20x15"),
        (.init(.maximum(width: .points(20), height: .em(1))), "a", 40, 30, "image 0 0,0 13.333333333333332x10"),
        (.init(.maximum(width: .points(500))), "a", 200, 30, "image 0 0,0 100x15"),
        (.init(.maximum(width: .points(.nan), height: .points(.infinity))), "a", 40, 30, "image 0 0,0 40x30"),
        (.init(.maximum(width: .points(-1))), "a", 40, 30, "text 0,0 □"),
        (.init(alignment: .center), "a", 30, 20, "image 0 35,0 30x20"),
        (.init(alignment: .trailing, cornerRadius: .points(3)), "> a", 30, 20, "image 0 70,0 30x20 r3"),
        (.init(.fitWidth), "a", 0, 20, "text 0,20 □"), (.init(.fitWidth), "a", .nan, .infinity, "text 0,0 □"),
    ])
    func `an image has the size and position of its style`(
        _ images: StyleSheet.ImageLayout, _ markdown: String, _ width: Double, _ height: Double, _ expected: String
    ) {
        let (_, layout) = layout(
            markdown.replacing("a", with: "![i](u)"), block: [.blockQuote: [.leadingIndent(.points(10))]],
            inline: [.image: [.imageLayout(images)]], imageSize: { _ in .init(width: width, height: height) })
        #expect(shown(layout).last == expected)
    }

    @Test func `an image among text isn't aligned, and one in a cell keeps its size`() {
        let (_, layout) = layout(
            "a ![i](u)\n\n![i](u) ![i](u)\n\n| ![i](u) |\n|---|", block: [.tableCell: [.padding(.all(.points(1)))]],
            inline: [.image: [.imageLayout(.init(.fitWidth, alignment: .trailing))]],
            imageSize: { _ in .init(width: 5, height: 5) })
        #expect(
            shown(layout).filter { $0.hasPrefix("image") } == [
                "image 0 0,10 100x100", "image 1 0,110 100x100", "image 2 0,212 100x100", "image 3 1,313 5x5",
            ])
    }
}

@Suite struct `TextLayout: tables` {
    private static let border = StyleSheet.BlockStyle.border(.init(width: .points(1)))
    private static let padding = StyleSheet.BlockStyle.padding(.all(.points(2)))

    @Test func `columns are as wide as their cells, with lines between them and below the header`() {
        let (_, layout) = layout(
            "| a | bb |\n|---|--:|\n| ccc | d |", block: [.table: [Self.border], .tableCell: [Self.padding]])
        #expect(
            shown(layout) == [
                "stroke 0,0 36x31 w1", "text 3,11 a", "text 23,11 bb", "fill 0,15 36x1", "text 3,26 ccc",
                "text 28,26 d", "fill 20,0 1x31",
            ])
        #expect(layout.size.height == 31)
    }

    @Test func `cells wrap in a narrow table, and a row is as high as its highest cell`() {
        let (_, layout) = layout(
            "| a | b |\n|---|---|\n| cc cc cc | d |", width: 40, block: [.tableCell: [Self.padding]])
        #expect(
            shown(layout) == [
                "text 2,10 a", "text 33,10 b", "text 2,24 cc cc ", "text 2,34 cc", "text 33,24 d",
            ])
    }

    @Test func `the text of a table gets smaller if its words don't fit, but not too small`() {
        func widths(_ width: Double) -> [(size: Double, width: Double)] {
            layout("| aaaa | bbbb |\n|---|---|\n| c | d |", width: width, block: [.tableCell: [Self.padding]]).layout
                .commands.compactMap { command in
                    guard case .text(let line, _, _) = command else { return nil }
                    return ((line.ascent + line.descent).rounded(), line.width)
                }
        }
        #expect(widths(50).map(\.size) == [10, 10, 10, 10])
        // Both words are in one piece.
        #expect(widths(35).map(\.size) == [7, 7, 7, 7])
        #expect(widths(35).first.map { $0.width > 14 && $0.width < 17 } == true)
        // Half of the size doesn't fit either, so the words are cut.
        #expect(widths(12).count > 4 && widths(12).allSatisfy { $0.size == 5 })
    }

    @Test(arguments: [StyleSheet.BlockStyle.lineHeight(2), .lineSpacing(.points(10))])
    func `the lines of smaller text in a table are closer together`(style: StyleSheet.BlockStyle) {
        let layout = layout(
            "| aaaa bbbb | cccc |\n|---|---|", width: 12, block: [.tableCell: [Self.padding, style]]
        ).layout
        let baselines = layout.commands.compactMap { command in
            if case .text(_, let origin, _) = command { origin.y } else { nil as Double? }
        }
        // The text has half of its size.
        #expect(baselines[1] - baselines[0] == 10)
    }

    private static let sample = "| a | b |\n|---|---|\n| c | d |\n| e | f |"

    @Test(
        arguments: [
            (
                [StyleSheet.TableLines.Part.outer],
                [
                    "stroke 0,0 24x48 w3", "text 5,13 a", "text 14,13 b", "text 5,27 c", "text 14,27 d", "text 5,41 e",
                    "text 14,41 f",
                ]
            ),
            (
                [.header],
                [
                    "text 2,10 a", "text 11,10 b", "fill 0,14 18x3", "text 2,27 c", "text 11,27 d",
                    "text 2,41 e", "text 11,41 f",
                ]
            ),
            (
                [.rows],
                [
                    "text 2,10 a", "text 11,10 b", "fill 0,14 18x3", "text 2,27 c", "text 11,27 d",
                    "fill 0,31 18x3", "text 2,44 e", "text 11,44 f",
                ]
            ),
            (
                [.columns],
                [
                    "text 2,10 a", "text 14,10 b", "text 2,24 c", "text 14,24 d", "text 2,38 e", "text 14,38 f",
                    "fill 9,0 3x42",
                ]
            ),
            ([], ["text 2,10 a", "text 11,10 b", "text 2,24 c", "text 11,24 d", "text 2,38 e", "text 11,38 f"]),
        ] as [(Set<StyleSheet.TableLines.Part>, [String])])
    func `a table has the lines of its style`(_ parts: Set<StyleSheet.TableLines.Part>, _ expected: [String]) {
        let (_, layout) = layout(
            Self.sample,
            block: [.table: [.tableLines(.init(parts, width: .points(3)))], .tableCell: [Self.padding]])
        #expect(shown(layout) == expected)
    }

    @Test func `a border replaces the outer lines, and lines with a pattern are edges`() {
        let (_, layout) = layout(
            "| a | b |\n|---|---|\n| c | d |",
            block: [
                .table: [.tableLines(.init(width: .points(3), pattern: .dashed)), .border(.init(edges: [.top]))],
                .tableCell: [Self.padding],
            ])
        #expect(
            shown(layout) == [
                "stroke 0,0 21x32 w1 1", "text 2,11 a", "text 14,11 b", "stroke 0,15 21x3 w3 1", "text 2,28 c",
                "text 14,28 d", "stroke 9,0 3x32 w3 1",
            ])
    }

    @Test func `every other row below the header has a background`() {
        let (_, layout) = layout(
            Self.sample,
            block: [
                .table: [.alternateRowBackground(.rgb(1))], .tableRow: [.background(.rgb(2))],
                .tableCell: [Self.padding],
            ])
        let fills = layout.commands.compactMap { command in
            if case .fill(let box, _, _, let tone) = command { (box.y, tone) } else { nil }
        }
        #expect(
            fills.map(\.0) == [14, 28]
                && fills.map(\.1) == [.rgb(red: 0, green: 0, blue: 2), .rgb(red: 0, green: 0, blue: 1)])
    }

    @Test func `rows have backgrounds behind the text`() {
        let (_, layout) = layout(
            "| a |\n|---|\n| b |",
            block: [
                .tableHeader: [.background(.rgb(1))], .tableRow: [.background(.rgb(2))], .tableCell: [Self.padding],
            ])
        #expect(shown(layout) == ["fill 0,0 9x14", "fill 0,14 9x14", "text 2,10 a", "text 2,24 b"])
    }
}

@Suite struct `TextLayout: line limit` {
    @Test(arguments: [
        (1, "aa bb cc", 28.0, ["text 0,8 aa b…"]), (2, "aa bb cc", 28, ["text 0,8 aa bb ", "text 0,18 cc"]),
        (1, "aa bb\n\ncc", 28, ["text 0,8 aa b…"]), (1, "aa bb\n\ncc", 60, ["text 0,8 aa bb…"]),
        (1, "a\\\nb", 28, ["text 0,8 a…"]),
        (3, "a\n\n---\n\nb\n\nc", 40, ["text 0,8 a", "fill 0,14.5 40x1", "text 0,28 b…"]),
        (2, "a\n\n---\n\nb", 40, ["text 0,8 a", "fill 0,14.5 40x1"]), (0, "a", 40, []), (-5, "a", 40, []),
        (.max, "a", 40, ["text 0,8 a"]), (1, "- a\n- b", 60, ["text 0,8 •", "text 10,8 a…"]),
        (1, "    a\n    b", 60, ["text 0,8 a…"]), (1, "a", 60, ["text 0,8 a"]), (1, "aaaaaaaa", 1, ["text 0,8 …"]),
        (1, "אב גד", 15, ["text 0,8 אב…"]), (1, "👨‍👩‍👧b cc", 20, ["text 0,8 …"]),
    ])
    func `more lines than the limit end with an ellipsis`(
        _ limit: Int, _ markdown: String, _ width: Double, _ expected: [String]
    ) {
        let (_, layout) = layout(markdown, width: width, lineLimit: limit)
        #expect(shown(layout) == expected)
        let isWhole = limit == .max || limit == 2 && markdown == "aa bb cc" || markdown == "a" && limit > 0
        #expect(layout.isTruncated == !isWhole)
    }

    @Test func `a row is shown whole, and counts as many lines as its highest cell`() {
        let table = "| a | b |\n|---|---|\n| cc cc cc | d |\n| e | f |\n\ng"
        let cell: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [.tableCell: [.padding(.all(.points(2)))]]
        let all = [
            "text 2,10 a", "text 33,10 b", "text 2,24 cc cc ", "text 2,34 cc", "text 33,24 d", "text 2,48 e",
            "text 33,48 f", "text 0,60 g",
        ]
        for (limit, count) in [(0, 0), (1, 2), (2, 5), (3, 5), (4, 7), (5, 8)] {
            let layout = layout(table, width: 40, block: cell, lineLimit: limit).layout
            #expect(shown(layout) == Array(all.prefix(count)) && layout.isTruncated == (limit < 5), "\(limit)")
        }
    }

    @Test func `a shortened line keeps its box, its link and its padding, and nothing is below it`() {
        let box = StyleSheet.InlineBackground(.rgb(1), padding: .init(leading: .points(3), trailing: .points(3)))
        let (text, layout) = layout(
            "> [ab](x) `cd ef`\n>\n> gh\n\ni", width: 36,
            block: [.blockQuote: [.background(.rgb(2)), .padding(.all(.points(1)))]],
            inline: [.code: [.inlineBackground(box)]], lineLimit: 1)
        #expect(shown(layout) == ["fill 0,0 36x12", "fill 16,1 13x10", "text 1,9 ab □cd…"])
        #expect(layout.size.height == 12)
        #expect(layout.link(at: .init(x: 8, y: 5)).map { text.links[$0].destination } == "x")
        #expect(layout.characterIndex(at: .init(x: 20, y: 5)) == 3)
    }
}

@Suite struct `TextLayout: from right to left` {
    @Test(
        arguments: [
            ("", nil), ("12 !?", nil), ("a", false), ("א", true), ("12 (א", true), ("— é א", false), ("عربي", true),
            ("\u{200F}a", true), ("\u{200E}א", false), ("\u{2067}א\u{2069}a", false), ("\u{2069}א", true),
            ("\u{0660}\u{064B}a", false),
            ("日本", false), ("\u{10900}", true), ("\u{1E900}", true), ("ﬡ", true), ("⸻", nil),
        ] as [(String, Bool?)])
    func `the first strong character determines the direction`(_ text: String, _ expected: Bool?) {
        #expect(text.isRightToLeft == expected)
    }

    @Test(arguments: [
        (StyleSheet.Alignment.leading, "text 90,8 אב"), (.center, "text 45,8 אב"), (.trailing, "text 0,8 אב"),
        (.justified, "text 90,8 אב"),
    ])
    func `lines are aligned from the right`(_ alignment: StyleSheet.Alignment, _ expected: String) {
        #expect(shown(layout("אב", block: [.paragraph: [.alignment(alignment)]]).layout) == [expected])
    }

    @Test func `indents, bars, boxes and markers are mirrored`() {
        let quote: [StyleSheet.BlockStyle] = [
            .border(.init(edges: [.leading], width: .points(2))), .padding(.init(leading: .points(3))),
            .leadingIndent(.points(10)),
        ]
        let (_, layout) = layout(
            "> א\n>\n> b\n\n12. ג\n\n- [x] ד\n\n* ה\n\n      code",
            block: [
                .blockQuote: quote, .paragraph: [.firstLineIndent(.points(1))],
                .list(.bullets): [.marker(.bullets([.disc]))],
            ])
        #expect(
            shown(layout) == [
                "stroke 0,0 90x20 w2 1", "text 79,8 א", "text 1,18 b", "text 85,28 12.", "text 74,28 ג",
                "checked 92,30 8x8",
                "text 81,38 ד", "fill 96,43 4x4 r2", "text 85,48 ה", "text 0,58 code",
            ])
        for case .stroke(_, let border, _) in layout.commands { #expect(border.edges == [.trailing]) }
    }

    @Test func `the first column of a table is at the right, and a number follows the text around it`() {
        let (_, layout) = layout(
            "| א | 1 |\n|---|---|\n| bbb | ג |",
            block: [
                .table: [.tableLines(.init([.columns], width: .points(2)))],
                .tableCell: [.padding(.init(leading: .points(3)))],
            ])
        #expect(
            shown(layout) == [
                "text 92,8 א", "text 72,8 1", "text 82,18 bbb", "text 72,18 ג", "fill 80,0 2x20",
            ])
    }

    @Test func `a box that begins at the right is open at the left where it goes on`() {
        let (_, layout) = layout(
            "`אא אא`", width: 15,
            inline: [.code: [.inlineBackground(.init(.rgb(1), cornerRadius: .points(2)))]])
        #expect(shown(layout).prefix(2) == ["fill 5,0 15x10 r2 closes", "fill 5,10 10x10 r2 opens"])
    }
}

@Suite struct `TextLayout: random documents` {
    private static let snippets = [
        "# a b", "aa bbb cccc ddddd eeeeee", "> q\n> r", "> > deep\n>\n> less", "- one\n- two\n  - three", "1. x\n2. y",
        "- [x] t",
        "    code\n    more", "| a | b |\n|---|:-:|\n| c d e | f |", "---", "a `b c` *d* **e f** ~~g~~",
        "[^n] n\n\n[^n]: foot",
        "![i](u) text", "a\\\nb", "- ", "> - > 1. x", "אבג `דה` ו", "> שלום **עולם**\n>\n> left", "1. א\n   - [x] ב",
        "| א | b |\n|---|--:|\n| ג ד ה | 1 |",
    ]

    /// Commands are inside the width and in reading order from top to bottom, and no two lines of different rows overlap.
    @Test(arguments: 0..<8)
    func `nothing is outside the page, and lines don't overlap`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        for _ in 0..<60 {
            let markdown = (0..<Int.random(in: 1...6, using: &random))
                .map { _ in Self.snippets.randomElement(using: &random)! }.joined(separator: "\n\n")
            let width = Double(Int.random(in: 60...400, using: &random))
            let text = StyledText(
                Document(markdown), style: [.default, .github, .nord].randomElement(using: &random)!)
            let layout = TextLayout(text, width: width, engine: MonospacedEngine())
            var placed: [(top: Double, bottom: Double, left: Double, right: Double)] = []
            for case .text(let line, let origin, _) in layout.commands {
                placed.append((origin.y - line.ascent, origin.y + line.descent, origin.x, origin.x + line.width))
            }
            let limit = Int.random(in: 0...6, using: &random)
            let limited = TextLayout(text, width: width, engine: MonospacedEngine(), lineLimit: limit)
            #expect(limited.size.height <= layout.size.height + 0.01, "\(markdown)")
            #expect(limited.commands.count <= layout.commands.count, "\(markdown)")
            for line in placed {
                #expect(line.left >= -0.01 && line.right <= width + 17, "\(markdown)")
                #expect(line.top >= -0.01 && line.bottom <= layout.size.height + 0.01, "\(markdown)")
            }
            for (index, line) in placed.enumerated() {
                for other in placed[..<index] where other.top < line.bottom - 0.01 && line.top < other.bottom - 0.01 {
                    #expect(other.right <= line.left + 0.01 || line.right <= other.left + 0.01, "\(markdown)")
                }
            }
        }
    }

    @Test func `extreme lengths and widths trap nowhere`() {
        let lengths: [StyleSheet.Length] = [.points(.nan), .points(.infinity), .points(-1e300), .em(1e300), .em(-3)]
        for length in lengths {
            for width in [0, -1, .nan, .infinity, 1e-9, 1e300] as [Double] {
                let (_, layout) = layout(
                    "> a `b` c\n\n- x\n\n| a | b |\n|---|---|\n| c | d |\n\n---", width: width,
                    block: [
                        .blockQuote: [
                            .padding(.all(length)), .border(.init(width: length, cornerRadius: length)),
                            .background(.rgb(1)), .leadingIndent(length), .firstLineIndent(length),
                        ],
                        .paragraph: [.spacingAfter(length), .lineSpacing(length), .firstLineIndent(length)],
                        .thematicBreak: [.divider(.rule(thickness: length, width: .length(length)))],
                        .tableCell: [.padding(.all(length))],
                        .table: [.border(.init(width: length)), .tableLines(.init(width: length))],
                    ],
                    inline: [.code: [.inlineBackground(.init(.rgb(1), padding: .all(length), cornerRadius: length))]])
                #expect(layout.size.height.isFinite && layout.size.width.isFinite)
            }
        }
    }
}
