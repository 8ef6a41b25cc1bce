import Foundation
import Testing

@testable import NativeMark

@Suite struct `Hostile documents` {
    /// Documents of any size that are difficult for slow or recursive parsers.
    static let table: [(String, @Sendable (Int) -> String)] = [
        ("nested brackets", { String(repeating: "[", count: $0) + "a" + String(repeating: "]", count: $0) }),
        ("openers of links", { String(repeating: "[a](", count: $0) }),
        ("openers with a destination", { String(repeating: "[a](<b", count: $0) }),
        ("openers with a title", { String(repeating: "[a](b \"", count: $0) }),
        ("openers of images", { String(repeating: "![", count: $0) }),
        ("links in images", { String(repeating: "![", count: $0) + String(repeating: "[a](b)", count: $0) }),
        ("brackets with an address", { String(repeating: "![[a](b) http://c.d ", count: $0) }),
        ("links", { String(repeating: "[a](b)", count: $0) }),
        ("closers", { String(repeating: "a](b)", count: $0) }),
        ("quotes", { String(repeating: ">", count: $0) + "a" }),
        ("quotes on each line", { String(repeating: String(repeating: "> ", count: 90) + "a\n", count: $0 / 100) }),
        ("lists", { String(repeating: "- ", count: $0) + "a" }),
        ("lists of two kinds", { String(repeating: "* + ", count: $0) + "a" }),
        (
            "lists on lines",
            { size in
                (0..<min(size, 40)).map { String(repeating: "  ", count: $0) + "- a\n" }.joined()
                    + String(repeating: "\n", count: size)
            }
        ),
        (
            "backticks",
            { size in
                (1...Int(Double(size).squareRoot() * 1.4)).map { String(repeating: "`", count: $0) + "a" }.joined()
            }
        ),
        ("one run of backticks", { String(repeating: "`a``", count: $0) }),
        ("emphasis that opens", { String(repeating: "*a ", count: $0) }),
        ("emphasis that closes", { String(repeating: "a* ", count: $0) }),
        ("emphasis of two kinds", { String(repeating: "*a_ ", count: $0) }),
        (
            "emphasis that opens and closes",
            { String(repeating: "a**b", count: $0) + String(repeating: "c* ", count: $0) }
        ),
        ("nested emphasis", { String(repeating: "*a **a ", count: $0) + String(repeating: "b** b* ", count: $0) }),
        ("runs of stars", { String(repeating: "*", count: $0) + "a" + String(repeating: "*", count: $0) }),
        (
            "emphasis that is too deep, with an address",
            {
                String(repeating: "**a *b ", count: 60) + String(repeating: "*x* ", count: $0) + "a@b.c "
                    + String(repeating: "c* d** ", count: 60)
            }
        ),
        ("struck", { String(repeating: "~~a *b ", count: $0) }),
        ("angles", { String(repeating: "<a:", count: $0) }),
        ("angles with an address", { String(repeating: "<a@", count: $0) }),
        ("entities", { String(repeating: "&amp", count: $0) + String(repeating: "&amp;", count: $0) }),
        ("backslashes", { String(repeating: "\\*", count: $0) }),
        ("hard breaks", { String(repeating: "a  \n", count: $0) }),
        (
            "spaces",
            {
                String(repeating: " ", count: $0) + "a\n"
                    + String(repeating: "a" + String(repeating: " ", count: 50), count: $0 / 50)
            }
        ),
        ("definitions", { size in (0..<size / 10).map { "[a\($0)]: b\n" }.joined() }),
        ("openers of definitions", { String(repeating: "[a]: b 'c\n", count: $0 / 10) }),
        ("unclosed labels", { String(repeating: "[a", count: $0) + "\n\n" + String(repeating: "[a\n", count: $0) }),
        (
            "references",
            { "[a]: " + String(repeating: "b", count: 2_000) + "\n\n" + String(repeating: "[a]", count: $0) }
        ),
        ("setext lines", { String(repeating: "a\n=\n", count: $0 / 4) }),
        (
            "wide tables",
            { size in
                let columns = size / 8
                return String(repeating: "|a", count: columns) + "|\n" + String(repeating: "|-", count: columns) + "|\n"
                    + String(repeating: "|b\n", count: columns)
            }
        ),
        ("many tables", { String(repeating: "|a|b|c|d|\n|-|-|-|-|\n|b|\n|c|\n\n", count: $0 / 20) }),
        ("lines of dashes", { "a|b\n" + String(repeating: "-|-\n", count: $0 / 4) }),
        ("pipes", { String(repeating: "a | ", count: $0) + "\n" + String(repeating: "- | ", count: $0) }),
        ("fences", { String(repeating: "```\n", count: $0 / 4) + "~~~ a" }),
        ("addresses", { String(repeating: "a@", count: $0) + String(repeating: "a@b.c ", count: $0) }),
        ("bare links", { String(repeating: "http://a.b(", count: $0) + String(repeating: "www.a.", count: $0) }),
        (
            "closing parentheses",
            { String(repeating: "http://a.b" + String(repeating: ")", count: 40) + " ", count: $0 / 50) }
        ),
        (
            "footnotes",
            { size in
                (0..<size / 10).map { "[^\($0)] " }.joined() + "\n\n"
                    + (0..<size / 10).map { "[^\($0)]: [^\($0 + 1)]\n" }.joined()
            }
        ),
        ("thematic breaks that are none", { String(repeating: "* ", count: $0) + "a" }),
        ("runs of quotation marks", { String(repeating: "\"", count: $0) + String(repeating: "'", count: $0) }),
        ("runs of periods", { String(repeating: ".", count: $0) }),
        ("quotation marks", { String(repeating: "\"a 'b ", count: $0) }),
    ]

    @Test(arguments: table.indices) func `doubling the text doubles the work`(index: Int) {
        let (name, make) = Self.table[index]
        var options = Document.Options()
        options.smartPunctuation = true
        let steps = [2_000, 4_000].map { DocumentParser.parse(make($0), options: options).steps }
        #expect(Double(steps[1]) <= 2.2 * Double(steps[0]), "\(name): \(steps)")
    }

    @Test func `a line is checked for a thematic break only once, not for each item in it`() {
        func steps(_ marker: String) -> Int {
            DocumentParser.parse(String(repeating: marker + " ", count: 1_000) + "a", options: .init()).steps
        }
        // Plus signs make no thematic break.
        #expect(steps("*") <= 2 * steps("+"))
    }

    @Test(arguments: table.indices) func `the document is not much larger than the text`(index: Int) {
        let (name, make) = Self.table[index]
        let source = make(2_000)
        let storage = Document(source).storage
        #expect(storage.nodeCount <= 0x10000 + 4 * source.utf8.count, "\(name)")
        #expect(storage.regions.reduce(0) { $0 + $1.withBytes(\.count) } <= 4 * source.utf8.count + 1_000, "\(name)")
        #expect(html(source).utf8.count <= 40 * source.utf8.count + 2_000_000, "\(name)")
    }

    @Test func `a million quotes need no deep stack`() async {
        let isRight = await onSmallStack {
            let source = String(repeating: ">", count: 1_000_000)
            var documents = [Document(source), Document(source)]
            let isSame = documents[0] == documents[1] && documents[0].hashValue == documents[1].hashValue
            let isShown =
                HTMLRenderer().render(documents[0]).utf8.count > 1_000_000
                && documents[0].root.plainText.utf8.count > 900_000
            let isShallow = documents[0].events.reduce(0) { count, _ in count + 1 } < 1_000
            documents.removeAll()
            let deep = Document(
                String(repeating: "*a **b ", count: 100_000) + String(repeating: "c** d* ", count: 100_000))
            return isSame && isShown && isShallow && HTMLRenderer().render(deep).utf8.count > 700_000
        }
        #expect(isRight)
    }

    // MARK: Caps

    @Test func `containers nest up to a limit`() {
        func depth(_ source: String) -> Int {
            var depth = 0
            var most = 0
            for event in Document(source).events {
                switch event {
                case .enter(let node): if !"\(node.kind)".hasPrefix("text") { depth += 1 }
                case .leave: depth -= 1
                }
                most = max(most, depth)
            }
            return most
        }
        #expect(depth(String(repeating: ">", count: 99) + "a") == 101)
        #expect(depth(String(repeating: ">", count: 500) + "a") == 101)
        #expect(depth(String(repeating: "- ", count: 500) + "a") <= 103)
        #expect(
            Document(String(repeating: ">", count: 200) + "a").root.plainText == String(repeating: ">", count: 101)
                + "a")
    }

    @Test(arguments: ["*a **b ", "![a ", "~~a *b "]) func `emphasis and images nest up to a limit`(opener: String) {
        let closer = ["*a **b ": " b** a*", "![a ": "](c)", "~~a *b ": " b* a~~"][opener]!
        let source = String(repeating: opener, count: 500) + "x" + String(repeating: closer, count: 500)
        let document = Document(source)
        var depth = 0
        var most = 0
        for event in document.events {
            switch event {
            case .enter(let node):
                if case .text = node.kind { continue }
                depth += 1
            case .leave: depth -= 1
            }
            most = max(most, depth)
        }
        #expect(most == 102)
        #expect(document.root.plainText.filter { $0 == "a" }.count == source.filter { $0 == "a" }.count)
        #expect(!document.root.plainText.contains("*"))
    }

    @Test func `labels have up to 999 characters`() {
        for (length, isLink) in [(999, true), (1_000, false)] {
            let label = String(repeating: "é", count: length)
            #expect(html("[\(label)]\n\n[\(label)]: /u").contains("<a") == isLink)
        }
    }

    @Test func `references add at most as many bytes as the text has, or 100 kB`() {
        let target = String(repeating: "b", count: 1_000)
        let document = Document("[a]: \(target)\n\n" + String(repeating: "[a] ", count: 500))
        let links = document.nodes { if case .link = $0.kind { true } else { false } }
        #expect(links.count == 100)
    }

    @Test func `table rows end when too many cells have been added`() {
        let columns = 300
        let source =
            String(repeating: "|a", count: columns) + "|\n" + String(repeating: "|-", count: columns) + "|\n"
            + String(repeating: "|b\n", count: 1_000)
        let cells = Document(source).nodes { if case .tableCell = $0.kind { true } else { false } }
        #expect(cells.count < 70_000)
        #expect(cells.count > 60_000)
        #expect(Document(source).root.plainText.filter { $0 == "b" }.count == 1_000)
    }

    /// Text that replaces other text, and its copy in a merged text, follow the content of a block. A block that is too long for the worst
    /// case has no markup.
    @Test func `the texts of a block take at most seven bytes per byte of its content`() {
        var options = Document.Options()
        options.smartPunctuation = true
        let entities = EntityTable.text.split(separator: " ").map { "&\($0.prefix { $0 != "=" });" }
        for piece in ["'", "\"", "'a", "--", "---", "...", "\u{0}", "\\*", "`a\nb`", "a@b.c'"] + entities {
            let source = "a" + String(repeating: piece, count: 100) + "\\*"
            // A NUL is U+FFFD in the content, which ends in a line feed.
            let content = source.unicodeScalars.reduce(1) { $0 + ($1 == "\u{0}" ? 3 : $1.utf8.count) }
            let document = Document(source, options: options)
            let bytes = document.storage.regions.reduce(0) { sum, region in sum + region.withBytes { $0.count } }
            #expect(bytes <= 7 * content, "\(piece)")
        }
        #expect(7 * InlineParser.largestContent <= Int(Int32.max))
    }
}
