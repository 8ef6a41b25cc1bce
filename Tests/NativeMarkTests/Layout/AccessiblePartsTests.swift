import Testing

@testable import NativeMark

@Suite struct `Accessible parts of a layout` {
    private func parts(_ markdown: String, width: Double = 100) -> [String] {
        let text = StyledText(Document(markdown))
        let layout = TextLayout(text, width: width, engine: MonospacedEngine())
        return layout.accessibleParts(of: text).map { part in
            "\(part.link.map { "link \($0)" } ?? "\(part.block)") '\(part.label)' "
                + "\(Int(part.rectangle.y))-\(Int(part.rectangle.maxY))"
        }
    }

    @Test func `each block with text is one part, in the order of the document`() {
        let found = parts("# a\n\nb\n\n> c", width: 400)
        #expect(found.map { $0.split(separator: " ")[1] } == ["'a'", "'b'", "'c'"])
    }

    @Test func `the lines of a paragraph are one part`() {
        let one = parts("aaaa", width: 60)
        let three = parts("aaaa bbbb cccc", width: 60)
        #expect(one.count == 1 && three.count == 1 && three != one)
        #expect(three[0].contains("'aaaa bbbb cccc'"))
    }

    @Test func `links follow their block, and a link that wraps is one part`() {
        let found = parts("x [aaaa *bbbb* cccc](u) [y](v)\n\nz", width: 60)
        #expect(found.map { $0.split(separator: "'")[0] } == ["1 ", "link 0 ", "link 1 ", "2 "])
        #expect(found[1].contains("'aaaa bbbb cccc'") && found[2].contains("'y'"))
        let heights = found.prefix(2).map { $0.split(separator: " ").last! }
        #expect(heights[0].hasPrefix("0-") && heights[1].hasPrefix("0-"))
    }

    @Test func `an item's label begins with its marker, but only its first block's`() {
        #expect(parts("3. a\n\n   b", width: 400).map { $0.split(separator: "'")[1] } == ["3. a", "b"])
    }

    @Test func `the cells of a table are parts`() {
        #expect(parts("|a|b|\n|-|-|\n|c|d|", width: 400).map { $0.split(separator: "'")[1] } == ["a", "b", "c", "d"])
    }

    @Test(arguments: [
        (0, 0, "a"), (0, 1, "aé"), (1, 0, "aé"), (1, 1, "é"), (4, 9, "b"), (-5, .max, "aé b"), (5, 5, ""),
    ])
    func `a selection contains the characters at both ends`(_ one: Int, _ other: Int, _ selected: String) {
        // The é has two bytes.
        let text = StyledText(Document("aé b"))
        let layout = TextLayout(text, width: 400, engine: MonospacedEngine())
        let range = layout.characters(from: one, to: other)
        #expect(text.substring(range) == selected)
    }
}
