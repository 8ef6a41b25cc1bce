import TestSupport
import Testing

@testable import NativeMark

/// Lines of 10 points, and space only where the test's rules have it.
private func pages(
    _ markdown: String, lines: Int, width: Double = 100,
    block: [StyleSheet.BlockSelector: [StyleSheet.BlockStyle]] = [:],
    imageSize: @escaping (Int) -> LayoutSize? = { _ in nil }
) -> [LayoutPage] {
    let sheet = StyleSheet().setting(block: [.document: [.fontSize(.points(10))]]).setting(block: block)
    let text = StyledText(Document(markdown), style: sheet)
    return Array(
        LayoutPages(
            text, size: .init(width: width, height: Double(lines) * 10), engine: MonospacedEngine(),
            imageSize: imageSize))
}

/// The lines of each page.
private func texts(_ pages: [LayoutPage]) -> [[String]] {
    pages.map { page in
        page.commands.compactMap { command in
            guard case .text(let line as MonospacedEngine.Line, _, _) = command else { return nil }
            return line.text.filter { $0 != "\u{2028}" }
        }
    }
}

@Suite struct `LayoutPages: page breaks` {
    @Test func `a page ends above the line that doesn't fit`() {
        let pages = pages("a\n\nb\n\nc\n\nd\n\ne", lines: 2)
        #expect(texts(pages) == [["a", "b"], ["c", "d"], ["e"]])
        #expect(pages.map(\.number) == [1, 2, 3])
        #expect(pages.map(\.top) == [0, 20, 40])
    }

    @Test func `spacing above the first block of a page is dropped`() {
        let pages = pages("a\n\nb\n\nc", lines: 3, block: [.paragraph: [.spacingBefore(.points(10))]])
        #expect(texts(pages) == [["a", "b"], ["c"]])
        #expect(pages.map(\.top) == [0, 40])
        #expect(pages.map(\.bottom) == [30, 50])
    }

    @Test(arguments: [
        // A paragraph of three lines isn't divided, one of four has two lines on each page.
        ("x\n\na\\\nb\\\nc", 3, [["x"], ["a", "b", "c"]]),
        ("x\n\na\\\nb\\\nc\\\nd", 3, [["x", "a", "b"], ["c", "d"]]),
        ("x\n\na\\\nb\\\nc\\\nd", 4, [["x", "a", "b"], ["c", "d"]]),
        // Headings stay with what follows, also two of them.
        ("x\n\ny\n\n# h\n\na", 3, [["x", "y"], ["h", "a"]]),
        ("x\n\n# g\n\n# h\n\na", 3, [["x"], ["g", "h", "a"]]),
        // A page of headings only has no better place than the last one.
        ("# a\n\n# b\n\n# c\n\n# d", 3, [["a", "b", "c"], ["d"]]),
        ("```\n1\n2\n3\n4\n5\n```", 3, [["1", "2", "3"], ["4", "5"]]),
    ])
    func `lines stay together`(_ markdown: String, _ lines: Int, _ expected: [[String]]) {
        #expect(texts(pages(markdown, lines: lines)) == expected)
    }

    @Test func `rows of a table aren't cut, and the header stays with the first row`() {
        let noPadding = StyleSheet.Padding(
            top: .points(0), leading: .points(1), bottom: .points(0), trailing: .points(1))
        let pages = pages(
            "x\n\n| a | b |\n|---|---|\n| c d e f | g |\n| h | i |", lines: 3, width: 24,
            block: [.tableCell: [.padding(noPadding)]])
        #expect(
            texts(pages).map { $0.map { String($0.prefix(1)) } } == [["x"], ["a", "b", "c", "e", "g"], ["h", "i"]])
    }

    @Test func `a box begins with its first line and ends with its last one`() {
        let pages = pages(
            "a\n\n> b\n>\n> c", lines: 3,
            block: [.blockQuote: [.background(.rgb(1)), .padding(.all(.points(6)))]])
        // The padding above b and c doesn't fit on the first page with both.
        #expect(texts(pages) == [["a", "b"], ["c"]])
        #expect(pages.map(\.top) == [0, 26])
        // The background is on both pages, which cut it.
        #expect(pages.map { $0.commands.count { if case .fill = $0 { true } else { false } } } == [1, 1])
    }

    @Test func `what is higher than a page is cut, and an image is shown smaller`() {
        let tall = pages("a", lines: 2, block: [.paragraph: [.lineHeight(5)]])
        #expect(tall.map(\.top) == [0, 20, 40])
        #expect(tall.map(\.bottom) == [20, 40, 50])
        #expect(texts(tall).flatMap(\.self) == ["a"])
        let image = pages("![i](u)", lines: 5) { _ in .init(width: 40, height: 200) }
        #expect(image.count == 1)
        guard case .image(0, let box, _)? = image[0].commands.last else {
            Issue.record("\(image[0].commands)")
            return
        }
        #expect(box == LayoutRectangle(x: 0, y: 0, width: 10, height: 50))
    }

    @Test func `an empty text has one empty page`() {
        #expect(pages("", lines: 3).map(\.commands.count) == [0])
    }

    private static let snippets = [
        "# a b", "aa bbb cccc ddddd eeeeee ff ggg", "> q\n> r\n>\n> s", "- one\n- two\n  - three\n- four", "- [x] t",
        "```\na\nb\nc\nd\n```", "| a | b |\n|---|:-:|\n| c d e | f |\n| g | h |", "---", "## h", "a\\\nb\\\nc\\\nd",
    ]

    @Test(arguments: 0..<6)
    func `each command of a random document is on a page, and each line on one`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        for _ in 0..<40 {
            let markdown = (0..<Int.random(in: 1...12, using: &random))
                .map { _ in Self.snippets.randomElement(using: &random)! }.joined(separator: "\n\n")
            let text = StyledText(Document(markdown), style: [.default, .github].randomElement(using: &random)!)
            let size = LayoutSize(
                width: Double(Int.random(in: 80...300, using: &random)),
                height: Double(Int.random(in: 120...500, using: &random)))
            let whole = TextLayout(text, width: size.width, engine: MonospacedEngine())
            let pages = Array(LayoutPages(text, size: size, engine: MonospacedEngine()))
            func lines(_ commands: [DrawingCommand]) -> [String] {
                commands.compactMap {
                    guard case .text(let line as MonospacedEngine.Line, let origin, _) = $0 else { return nil }
                    return "\(line.text) \(origin)"
                }
            }
            #expect(pages.flatMap { lines($0.commands) }.sorted() == lines(whole.commands).sorted(), "\(markdown)")
            #expect(pages.flatMap(\.lines).count == whole.lines.count, "\(markdown)")
            var end = 0.0
            for page in pages {
                #expect(page.top >= end - 1e-6 && page.bottom >= page.top)
                #expect(page.bottom - page.top <= size.height + 1e-3, "\(markdown)")
                end = page.bottom
                for command in page.commands {
                    let (top, bottom) = command.extent
                    #expect(bottom >= page.top - 1e-6 && top <= page.bottom + 1e-6, "\(markdown)")
                }
            }
        }
    }
}

@Suite struct `LayoutSections: parts of a layout` {
    @Test func `sections together are the whole layout, without the box of the document`() {
        let text = StyledText(
            Document("# a\n\n> b\n\n- c\n- d\n\n| e |\n|---|\n| f |"),
            style: StyleSheet.github.setting(block: [.document: [.padding(.all(.points(7))), .background(.rgb(1))]]))
        let whole = TextLayout(text, width: 200, engine: MonospacedEngine())
        let sections = Array(LayoutSections(text, width: 200, engine: MonospacedEngine()))
        #expect(sections.count == 4)
        #expect(sections.map(\.commands.count).reduce(0, +) == whole.commands.count - 1)
        #expect(sections.map(\.lines.count).reduce(0, +) == whole.lines.count)
        #expect(sections.last?.bottom == whole.size.height)
        #expect(sections.map(\.bottom) == sections.map(\.bottom).sorted())
    }
}
