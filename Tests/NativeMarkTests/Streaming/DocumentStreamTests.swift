import Foundation
@testable import NativeMark
import Testing

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

    @Test func `reports only the last block while it grows`() {
        var stream = DocumentStream()
        stream.append("one\n\ntwo\n\nthree")
        #expect(stream.append(" more") == .init(blocks: 2..<3, earlier: [], footnotes: false))
        #expect(stream.append("\n\nfour\n") == .init(blocks: 2..<4, earlier: [], footnotes: false))
        #expect(stream.append("") == .init(blocks: 4..<4, earlier: [], footnotes: false))
    }

    @Test func `keeps the documents of unchanged blocks`() {
        var stream = DocumentStream()
        stream.append("one\n\ntwo\n\nthree")
        let before = stream.block(at: 0)
        stream.append(" more\n\n")

        #expect(stream.block(at: 0).document.storage === before.document.storage)
        #expect(stream.block(at: 2).document.storage === stream.block(at: 2).document.storage)
        #expect(before.isComplete && !stream.block(at: 2).isComplete)
    }

    @Test func `turns an earlier reference into a link when it is defined`() {
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

    @Test func `applies the definitions of the last block when the text ends`() {
        var stream = DocumentStream()
        stream.append("a [b]\n\n[b]: c")
        #expect(stream.blocks.map(\.html).joined() == "<p>a [b]</p>\n")
        #expect(stream.finish() == .init(blocks: 1..<2, earlier: [0], footnotes: false))
        #expect(stream.blocks.map(\.html).joined() == "<p>a <a href=\"c\">b</a></p>\n")
        #expect(stream.finish() == .init(blocks: 2..<2, earlier: [], footnotes: false))
    }

    @Test func `numbers footnotes in the order of their references, even if they are defined late`() {
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

    @Test func `distinguishes blocks whose references differ`() {
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

    @Test(arguments: ["\n", "\r\n", "\r"]) func `accepts any line end, even in two pieces`(end: String) {
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
    func `turns what looked like a paragraph into a table`(text: String) {
        var stream = DocumentStream()
        for scalar in text.unicodeScalars {
            stream.append(String(scalar))
            #expect(stream.blocks.map(\.html).joined() == html(stream.source))
        }
        #expect(html(text).contains("<table>"))
    }

    @Test func `a copy of a stream is independent`() {
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

    @Test func `uses the options that it was created with`() {
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

/// Random texts in random pieces, compared with the same text in one piece.
@Suite struct `A text in pieces` {
    typealias Generator = `Random documents`.Generator

    static let fragments =
        `Random documents`.fragments + [
            "[y]", "[z][x]", "[x]: <v> 't'\n\n", "[y]:\n/u\n", "[z]: /z", "[^2]", "[^1]: a[^2]\n", "[^2]: b [x]\n",
            "\n\n[^1]: ", "\r",
            "\n\n", "\n\n", "\n\n# ", "\n- a", "- [^2]: b\n", "> [^1]: a\n", "| a | [x] |\n|-|-|\n", "# | a\n|-|-|\n",
            "a\n| b |\n|-|\n", "\nName\n", "\n:-\n", "\n|-|\n", "\n*\n", "\n    b\n", "b |\n---\n",
        ]

    static func document(_ generator: inout Generator, of fragments: [String]) -> String {
        (0..<generator.next(below: 40)).map { _ in fragments[generator.next(below: fragments.count)] }.joined()
    }

    /// The text in pieces of a few characters, or whole lines.
    static func pieces(_ text: String, _ generator: inout Generator) -> [String] {
        let largest = [1, 4, 20, 200][generator.next(below: 4)]
        var result: [String] = []
        var rest = text.unicodeScalars[...]
        while !rest.isEmpty {
            let count = 1 + generator.next(below: largest)
            result.append(String(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return result
    }

    /// `SLUICE_RANDOM_STREAMS=10000` compares that many texts instead of 2,000.
    static let streamCount = ProcessInfo.processInfo.environment["SLUICE_RANDOM_STREAMS"].flatMap { Int($0) } ?? 2_000

    @Test(arguments: 0..<8) func `the result is the same as for the text in one piece`(seed: Int) {
        var generator = Generator(state: UInt64(seed))
        for _ in 0..<(Self.streamCount + 7) / 8 {
            let text = Self.document(&generator, of: Self.fragments)
            var stream = DocumentStream()
            for piece in Self.pieces(text, &generator) {
                stream.append(piece)
                if generator.next(below: 4) == 0 { _ = stream.block(at: generator.next(below: stream.count)) }
                if generator.next(below: 4) == 0 { _ = stream.footnotes }
            }
            stream.finish()
            #expect(stream.html == html(text).withoutRepetitions, "\(text.debugDescription)")
            #expect(stream.source.utf8.elementsEqual(text.utf8))
        }
    }

    @Test(arguments: 0..<8) func `the blocks show what has arrived, as long as nothing is defined`(seed: Int) {
        var generator = Generator(state: UInt64(seed + 100))
        let fragments = `Random documents`.fragments.filter { !$0.contains("]:") }
        var compared = 0
        for _ in 0..<50 {
            let text = Self.document(&generator, of: fragments)
            guard !text.contains("]:") else { continue }
            compared += 1
            var stream = DocumentStream()
            var prefix = ""
            for piece in Self.pieces(text, &generator) {
                prefix.unicodeScalars += piece.unicodeScalars
                stream.append(piece)
                #expect(stream.html == html(prefix).withoutRepetitions, "\(prefix.debugDescription)")
            }
        }
        #expect(compared > 25)
    }

    @Test(arguments: 0..<8) func `every block that changed is reported`(seed: Int) {
        var generator = Generator(state: UInt64(seed + 200))
        for _ in 0..<100 {
            let text = Self.document(&generator, of: Self.fragments)
            var stream = DocumentStream()
            var shown: [DocumentStream.Block] = []
            var footnotes: Document?
            func follow(_ change: DocumentStream.Change) {
                #expect(change.blocks.upperBound == stream.count && change.blocks.lowerBound <= shown.count)
                #expect(
                    change.earlier.allSatisfy { $0 < change.blocks.lowerBound }
                        && change.earlier == change.earlier.sorted())
                shown.removeSubrange(min(shown.count, change.blocks.lowerBound)...)
                // Sometimes nothing has been requested yet when it changes.
                for index in change.blocks { shown.append(stream.block(at: index)) }
                for index in change.earlier { shown[index] = stream.block(at: index) }
                if change.footnotes { footnotes = stream.footnotes }
                // A stream that got the same text in one piece, without reads in between.
                var other = DocumentStream()
                other.append(stream.source)
                if stream.isFinished { other.finish() }
                #expect(shown.map(\.document) == other.blocks.map(\.document), "\(stream.source.debugDescription)")
                #expect(shown.map(\.id) == Array(0..<stream.count))
                #expect(shown.map(\.start) == other.blocks.map(\.start))
                #expect(footnotes == other.footnotes, "\(stream.source.debugDescription)")
            }
            for piece in Self.pieces(text, &generator) { follow(stream.append(piece)) }
            follow(stream.finish())
        }
    }
}

extension DocumentStream {
    /// All blocks and footnotes, one after another.
    fileprivate var html: String {
        mutating get {
            let all = blocks.map(\.document) + (footnotes.map { [$0] } ?? [])
            return all.map { HTMLRenderer().render($0) }.joined().withoutRepetitions
        }
    }
}

extension String {
    /// Without the number that distinguishes references to the same footnote, which one block can't know of another.
    fileprivate var withoutRepetitions: String { replacing(/id="fnref-([0-9]+)-[0-9]+"/) { "id=\"fnref-\($0.1)\"" } }
}

@Suite struct `Hostile streams` {
    /// The hostile documents, and texts that are hostile only in pieces.
    static let table = `Hostile documents`.table + own

    private static let own: [(String, @Sendable (Int) -> String)] = [
        ("references that wait", { size in lines(size / 10) { "[\($0)]" } + lines(size / 10) { "[\($0)]: a" } }),
        ("footnotes that wait", { size in lines(size / 10) { "[^\($0)]" } + lines(size / 10) { "[^\($0)]: a" } }),
        ("footnotes in reverse", { size in lines(size) { "[^\($0)]" } + lines(size) { "[^\(size - $0)]: a" } }),
        ("escaped brackets", { String(repeating: "[\\[", count: $0) + String(repeating: "\\[\\]", count: $0) }),
        ("escaped brackets of a label", { String(repeating: "\\[", count: $0) + "]" }),
        ("a long blank line", { "a\n" + String(repeating: " ", count: 2 * $0) }),
        ("a long line", { String(repeating: "a ", count: $0) }),
        ("a long list", { String(repeating: "- a\n", count: $0) }),
        ("a long quote", { String(repeating: "> a\n", count: $0) }),
        ("short paragraphs", { String(repeating: "a\n\n", count: $0) }),
        ("halves of line breaks", { String(repeating: "a\r", count: $0) }),
    ]

    private static func lines(_ count: Int, _ line: (Int) -> String) -> String {
        (0..<count).map { line($0) + "\n\n" }.joined()
    }

    private func stream(_ text: String) -> DocumentStream {
        var stream = DocumentStream()
        var rest = text.utf8[...]
        while !rest.isEmpty {
            stream.append(String(Substring(rest.prefix(16))))
            rest = rest.dropFirst(16)
        }
        stream.finish()
        return stream
    }

    @Test(arguments: table.indices) func `doubling the text doubles the work`(index: Int) {
        let (name, make) = Self.table[index]
        let steps = [2_000, 4_000].map {
            var stream = stream(make($0))
            _ = stream.blocks
            _ = stream.footnotes
            return stream.parser.builder.steps + stream.steps
        }
        #expect(Double(steps[1]) <= 2.2 * Double(steps[0]), "\(name): \(steps)")
    }

    @Test(arguments: table.indices) func `the blocks together are not much larger than the text`(index: Int) {
        let (name, make) = Self.table[index]
        let source = make(2_000)
        var stream = stream(source)
        let nodes = stream.blocks.reduce(0) { $0 + $1.document.storage.nodeCount }
        #expect(nodes <= 0x10000 + 4 * source.utf8.count, "\(name)")
        let size = stream.blocks.reduce(0) { $0 + HTMLRenderer().render($1.document).utf8.count }
        #expect(size <= 40 * source.utf8.count + 2_000_000, "\(name)")
        // The labels that are kept until they are defined.
        #expect(stream.waiting.keys.reduce(0) { $0 + $1.count } <= source.utf8.count, "\(name)")
    }

    @Test func `many blocks with one reference each add no more than one document with as many references`() {
        let source =
            "[a]: " + String(repeating: "b", count: 2_000) + "\n\n" + String(repeating: "[a]\n\n", count: 20_000)
        var stream = stream(source)
        let size = stream.blocks.reduce(0) { $0 + HTMLRenderer().render($1.document).utf8.count }
        #expect(size < 4 * source.utf8.count)
    }

    @Test func `a million quotes need no deep stack`() async {
        let isRight = await onSmallStack {
            var stream = DocumentStream()
            for _ in 0..<1_000 { stream.append(String(repeating: ">", count: 1_000)) }
            var copy = stream
            copy.finish()
            return stream.block(at: 0).document.root.plainText.utf8.count > 900_000
                && copy.block(at: 0).document == stream.block(at: 0).document
        }
        #expect(isRight)
    }
}
