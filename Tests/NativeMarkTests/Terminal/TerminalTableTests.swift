import NativeMark
import Testing

@Suite struct `Tables in a terminal` {
    private func lines(_ markdown: String, _ width: Int, border: StyleSheet.Border? = .init(edges: [])) -> [String] {
        let style = StyleSheet().setting(block: [.table: border.map { [.border($0)] } ?? []])
        return TerminalRenderer(width: width).render(Document(markdown), style: style)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test func `have the columns that they want where there is room`() {
        #expect(
            lines("| a | long name | 3 |\n|---|:-:|--:|\n| bb | x | 100 |", 80)
                == ["a  │ long name │   3", "───┼───────────┼────", "bb │     x     │ 100"])
    }

    @Test func `have no lines without a border`() {
        #expect(lines("| a | b |\n|-|-|\n| c | d |", 80, border: nil) == ["a  b", "c  d"])
    }

    @Test func `have the edges of their border`() {
        #expect(
            lines("| a |\n|-|\n| c |", 80, border: .init(edges: [.leading, .trailing]))
                == ["│ a │", "├───┤", "│ c │"])
        #expect(
            lines("| a |\n|-|\n| c |", 80, border: .init()) == ["┌───┐", "│ a │", "├───┤", "│ c │", "└───┘"])
    }

    @Test func `wrap the cells of the columns that want most`() {
        #expect(
            lines("| id | text |\n|--|--|\n| 1 | one two three four five |\n| 2 | six |", 20)
                == [
                    "id │ text", "───┼────────────────", "1  │ one two three", "   │ four five", "2  │ six",
                ])
    }

    @Test func `share the room between columns that both want more`() {
        let found = lines("| a b c d e f g h i | 1 2 3 4 5 6 7 8 9 |\n|--|--|\n| x | y |", 23)
        #expect(found[0] == "a b c d e  │ 1 2 3 4 5")
        #expect(found[1] == "f g h i    │ 6 7 8 9")
    }

    @Test func `give more to columns with more text`() {
        let text = Array(repeating: "word", count: 16).joined(separator: " ")
        let found = lines("| option | default | |\n|--|--|--|\n| --one two | the third word | \(text) |", 50)
        // With even shares, the text would have 14 columns and 6 lines.
        #expect(found.count == 2 + 4 && found[2] == "--one two │ the      │ word word word word word", "\(found)")
    }

    @Test func `give a long word its width at the cost of short ones`() {
        let found = lines("| a b c d e f g h i | incomprehensible |\n|--|--|\n| x | y |", 33)
        #expect(found.contains { $0.contains("incomprehensible") || $0.contains("incomprehensibl") })
        #expect(found.allSatisfy { TerminalText.width(of: $0) <= 33 })
    }

    @Test func `become one record per row where columns would be too narrow`() {
        #expect(
            lines("| one | two | three |\n|--|--|--|\n| aaaaaa | bbbbbb | cccccc |\n| d | e | f |", 14)
                == [
                    "one: aaaaaa", "two: bbbbbb", "three: cccccc", "──────────", "one: d", "two: e", "three: f",
                ])
    }

    @Test func `become records where columns of less than ten characters would break words`() {
        let table = "| name | environment |\n|--|--|\n| one two three | x |"
        #expect(
            lines(table, 20) == [
                "name   │ environment", "───────┼────────────", "one    │ x", "two    │", "three  │",
            ])
        #expect(lines(table, 17) == ["name: one two", "three", "environment: x"])
        #expect(lines("| a | b |\n|--|--|\n| \(String(repeating: "x", count: 40)) | y |", 14)[0] == "a          │ b")
        #expect(lines("| a | b |\n|--|--|\n| \(String(repeating: "日", count: 9)) | y |", 12)[0] == "a        │ b")
    }

    @Test func `that become records repeat long names as often as the text is long, or 100 kB`() {
        let name = String(repeating: "long ", count: 200) + "name"
        let header = "| \(name) |" + String(repeating: "incomprehensible |", count: 9)
        func count(_ rows: Int) -> Int {
            let table =
                header + "\n" + String(repeating: "|-", count: 10) + "|\n" + String(repeating: "| x |\n", count: rows)
            let found = lines(table, 80)
            #expect(found.count { $0 == "incomprehensible:" } == 9 * rows)
            #expect(found.count { $0.hasSuffix("name: x") } + found.count { $0 == "…: x" } == rows)
            return found.count { $0.hasSuffix("name: x") }
        }
        #expect(count(100) == 100)
        #expect(count(300) == 110)
    }

    @Test func `with a header alone show it`() {
        #expect(lines("| one | two |\n|--|--|", 40) == ["one │ two", "────┼────"])
        #expect(lines("| oneoneone | twotwotwo |\n|--|--|", 9) == ["oneoneone", "twotwotwo"])
    }

    @Test func `measure wide characters, and align by columns`() {
        #expect(
            lines("| 日本 | b |\n|--:|--|\n| x | 👍🏽 |", 40) == ["日本 │ b", "─────┼───", "   x │ 👍🏽"])
    }

    @Test func `in a quote have its bar`() {
        let output = TerminalRenderer(width: 40).render(
            Document("> | a |\n> |-|\n> | b |"), style: .default.setting(block: [.table: [.border(.init(edges: []))]]))
        #expect(output == "│ a\n│ ─\n│ b")
    }
}

@Suite struct `Plain text of a document` {
    private func text(_ markdown: String, width: Int? = nil) -> String {
        PlainText(Document(markdown), width: width).string
    }

    @Test(arguments: [
        ("# a *b*\n\n`c` ~~d~~", "a b\n═══\n\nc ~~d~~"),
        ("- a\n- b\n  1. c", "• a\n• b\n  1. c"),
        ("- [x] a", "☑ a"),
        ("> a\n> b\n>\n> c", "> a b\n>\n> c"),
        ("[a](http://b) <http://c>", "a <http://b> http://c"),
        ("| a | bb |\n|--|--:|\n| ccc | d |", "┌─────┬────┐\n│ a   │ bb │\n├─────┼────┤\n│ ccc │  d │\n└─────┴────┘"),
        ("```\ncode  x\n```", "code  x"),
        ("![a](b)", "a <b>"),
        ("a[^1]\n\n[^1]: b", "a¹\n\n────────────────────────────────────────\n1. b"),
        ("", ""),
    ])
    func `reads without any style`(_ markdown: String, _ expected: String) {
        #expect(text(markdown) == expected)
    }

    @Test func `ends lines only where the document does, unless it has a width`() {
        let long = String(repeating: "word ", count: 200) + "end"
        #expect(text(long) == long)
        #expect(text(long, width: 30).split(separator: "\n").allSatisfy { $0.count <= 30 })
    }

    @Test func `with many short cells below a long one isn't mostly spaces`() {
        func size(_ count: Int) -> Int {
            text("|\(String(repeating: "a", count: count))|b|\n|-|-|\n" + String(repeating: "|c|d|\n", count: count))
                .utf8.count
        }
        #expect(size(300) > 300 * 300)
        #expect(size(4_000) < 500_000)
        #expect(size(8_000) < 500_000)
    }

    @Test func `in the middle of an endless line is at its beginning`() {
        let style = StyleSheet.default.setting(block: [.paragraph: [.alignment(.center), .leadingIndent(.em(1))]])
        #expect(PlainText(StyledText(Document("a"), style: style)).string == "  a")
    }
}
