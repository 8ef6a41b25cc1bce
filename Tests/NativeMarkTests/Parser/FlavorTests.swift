import NativeMark
import Testing

@Suite struct `Flavors` {
    @Test(arguments: FlavorTable.rows)
    func `a text is shown as GitHub shows it, and without extensions as CommonMark says`(
        row: FlavorTable.Row
    ) {
        #expect(html(row.markdown) == row.html)
        #expect(html(row.markdown, .commonMark) == row.commonMark)
    }

    @Test func `a byte order mark is ignored only at the beginning of a text that arrives in pieces`() {
        var stream = DocumentStream()
        stream.append("\u{FEFF}# a\n\n")
        stream.append("\u{FEFF}# b\n")
        stream.finish()
        #expect(stream.blocks.map { HTMLRenderer().render($0.document) } == ["<h1>a</h1>\n", "<p>\u{FEFF}# b</p>\n"])
        #expect(stream.source == "\u{FEFF}# a\n\n\u{FEFF}# b\n")
    }

    @Test func `the range of a heading begins after the byte order mark`() {
        #expect(Document("\u{FEFF}# a").root.firstChild?.sourceRange == 3..<6)
    }
}
