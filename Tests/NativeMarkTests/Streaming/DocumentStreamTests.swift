import Testing

@testable import NativeMark

@Suite struct `A stream of a document` {
    @Test func `shows what has arrived, up to the last character`() {
        var stream = DocumentStream()
        var shown: [String] = []
        for piece in ["Hello **wor", "ld**, this", " is\n\n# A head", "ing\n", "\n- one\n- tw", "o"] {
            let change = stream.append(piece)
            shown.append(
                change.blocks.map { "\($0): \(stream.block(at: $0).html)" }.joined().replacing("\n", with: ""))
        }

        #expect(
            shown == [
                "0: <p>Hello **wor</p>",
                "0: <p>Hello <strong>world</strong>, this</p>",
                "0: <p>Hello <strong>world</strong>, this is</p>1: <h1>A head</h1>",
                "1: <h1>A heading</h1>",
                "1: <h1>A heading</h1>2: <ul><li>one</li><li>tw</li></ul>",
                "2: <ul><li>one</li><li>two</li></ul>",
            ])
    }

    @Test func `names the last block only while it grows`() {
        var stream = DocumentStream()
        stream.append("one\n\ntwo\n\nthree")
        #expect(stream.append(" more") == .init(blocks: 2..<3, earlier: [], footnotes: false))
        #expect(stream.append("\n\nfour\n") == .init(blocks: 2..<4, earlier: [], footnotes: false))
        #expect(stream.append("") == .init(blocks: 4..<4, earlier: [], footnotes: false))
    }

    @Test func `keeps the documents of blocks that did not change`() {
        var stream = DocumentStream()
        stream.append("one\n\ntwo\n\nthree")
        let before = stream.block(at: 0)
        stream.append(" more\n\n")

        #expect(stream.block(at: 0).document.storage === before.document.storage)
        #expect(stream.block(at: 2).document.storage === stream.block(at: 2).document.storage)
        #expect(before.isComplete && !stream.block(at: 2).isComplete)
    }

    @Test func `makes a link of an earlier reference when it is defined`() {
        var stream = DocumentStream()
        stream.append("a [b]\n\nc\n\nd [b][B] [e]\n\nf\n")
        #expect(stream.blocks.map(\.html) == ["<p>a [b]</p>\n", "<p>c</p>\n", "<p>d [b][B] [e]</p>\n", "<p>f</p>\n"])

        // Half an address isn't a link yet.
        #expect(stream.append("\n[b]: http://x.y/z").earlier == [])
        #expect(stream.append("zz\n").earlier == [])
        let change = stream.append("\ng\n")

        #expect(change == .init(blocks: 4..<6, earlier: [0, 2], footnotes: false))
        #expect(stream.block(at: 0).html == "<p>a <a href=\"http://x.y/zzz\">b</a></p>\n")
        #expect(stream.block(at: 2).html == "<p>d <a href=\"http://x.y/zzz\">b</a> [e]</p>\n")
        #expect(stream.block(at: 4).document.root.firstChild == nil)
        // The first definition wins.
        #expect(stream.append("\n[b]: /other\n\nh").earlier == [])
        #expect(stream.finish().earlier == [])
    }

    @Test func `counts what the last block defines when the text ends`() {
        var stream = DocumentStream()
        stream.append("a [b]\n\n[b]: c")
        #expect(stream.blocks.map(\.html).joined() == "<p>a [b]</p>\n")
        #expect(stream.finish() == .init(blocks: 1..<2, earlier: [0], footnotes: false))
        #expect(stream.blocks.map(\.html).joined() == "<p>a <a href=\"c\">b</a></p>\n")
        #expect(stream.finish() == .init(blocks: 2..<2, earlier: [], footnotes: false))
    }

    @Test func `numbers footnotes in the order of the references, also those that are defined late`() {
        var stream = DocumentStream()
        stream.append("a[^x]\n\nb[^y]\n\nc[^x][^z]\n\n[^y]: Y [^z]\n")
        #expect(stream.footnotes == nil)
        #expect(stream.blocks.map(\.document.footnoteNumbers) == [[], [], [], []])

        #expect(stream.append("\n[^x]: X\n") == .init(blocks: 3..<5, earlier: [1, 2], footnotes: true))
        #expect(stream.block(at: 1).document.footnoteNumbers == [1])
        #expect(stream.footnotes?.root.children.map(\.plainText) == ["Y [^z]"])
        _ = stream.blocks
        #expect(stream.append("\n[^z]: Z\n") == .init(blocks: 4..<6, earlier: [0, 1, 2, 3], footnotes: true))
        #expect(stream.blocks.map(\.document.footnoteNumbers) == [[1], [2], [1], [], [], []])
        #expect(stream.footnotes?.root.children.map(\.plainText) == ["X", "Y [^z]"])

        #expect(stream.finish() == .init(blocks: 5..<6, earlier: [2, 3], footnotes: true))
        #expect(stream.blocks.map(\.document.footnoteNumbers) == [[1], [2], [1, 3], [], [], []])
        #expect(stream.footnotes?.root.children.map(\.plainText) == ["X", "Y ", "Z"])
    }

    @Test func `tells blocks apart if their references differ`() {
        func first(_ definition: String) -> Document {
            var stream = DocumentStream()
            stream.append("a [b]\n\n[b]: \(definition)")
            stream.finish()
            return stream.block(at: 0).document
        }
        #expect(first("c") == first("c"))
        #expect(first("c") != first("d"))
        #expect(first("c") != Document("a [b]\n\n"))
    }

    @Test(arguments: ["\n", "\r\n", "\r"]) func `takes any end of a line, also in two pieces`(end: String) {
        let text = ["a", "b", "", "# c", "", "```", "d", "", "```", ""].joined(separator: end)
        var stream = DocumentStream()
        for scalar in text.unicodeScalars { stream.append(String(scalar)) }
        #expect(stream.count == 3)
        stream.finish()
        #expect(stream.blocks.map(\.html).joined() == html(text))
        #expect(
            stream.blocks.map(\.start)
                == stream.blocks.map { Array(text.utf8).firstRange(of: Array($0.document.source.utf8))?.lowerBound })
    }

    @Test(arguments: [
        "a\n:-\n| c | d |\n", "a | b\n-|-\nc | d\n", "x\na | b\n-|-\n\ne", "x\n*\n|-|\n", "x\n    a\n|-|\n",
    ])
    func `makes a table of what looked like a paragraph`(text: String) {
        var stream = DocumentStream()
        for scalar in text.unicodeScalars {
            stream.append(String(scalar))
            #expect(stream.blocks.map(\.html).joined() == html(stream.source))
        }
        #expect(html(text).contains("<table>"))
    }

    @Test func `is a value`() {
        var one = DocumentStream()
        one.append("a [x]\n\nb")
        var other = one
        one.append(" c\n\n[x]: d")
        other.append("e")
        one.finish()
        #expect(one.blocks.map(\.html).joined() == "<p>a <a href=\"d\">x</a></p>\n<p>b c</p>\n")
        #expect(other.blocks.map(\.html).joined() == "<p>a [x]</p>\n<p>be</p>\n")
    }

    @Test func `has no blocks without text`() {
        var stream = DocumentStream()
        #expect(stream.finish() == .init(blocks: 0..<0, earlier: [], footnotes: false))
        #expect(stream.blocks.isEmpty && stream.footnotes == nil && stream.source.isEmpty)
    }

    @Test func `reads with the options that it was made with`() {
        var stream = DocumentStream(options: .commonMark)
        stream.append("~~a~~[^b]\n\n[^b]: c\n\n")
        stream.finish()
        #expect(stream.blocks.map(\.html).joined() == html("~~a~~[^b]\n\n[^b]: c\n\n", .commonMark))
        #expect(stream.block(at: 0).document.options == .commonMark)
    }

    @Test func `shares the limit of references between blocks`() {
        // Each block alone could add 100 kB.
        let address = String(repeating: "x", count: 20_000)
        var stream = DocumentStream()
        stream.append("[a]: /\(address)\n\n" + String(repeating: "[a]\n\nb\n\n", count: 50))
        stream.finish()
        let links = stream.blocks.flatMap { $0.document.nodes { if case .link = $0.kind { true } else { false } } }
        #expect(links.count == 5)
    }

    @Test(arguments: ["", "> "]) func `shares the limit of added cells between blocks`(quote: String) {
        let header = quote + "|" + String(repeating: "a|", count: 2_000) + "\n"
        let dashes = quote + "|" + String(repeating: "-|", count: 2_000) + "\n"
        let text = String(
            repeating: header + dashes + String(repeating: quote + "|a|\n", count: 20) + "\n", count: 4)
        var stream = DocumentStream()
        stream.append(text)
        stream.finish()
        #expect(stream.blocks.map(\.html).joined() == html(text))
    }
}

extension DocumentStream.Block {
    fileprivate var html: String { HTMLRenderer().render(document) }
}

extension Document {
    fileprivate var footnoteNumbers: [Int] {
        nodes { _ in true }.compactMap { if case .footnoteReference(_, let number) = $0.kind { number } else { nil } }
    }
}
