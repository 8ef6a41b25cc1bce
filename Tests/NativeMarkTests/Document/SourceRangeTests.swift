import NativeMark
import Testing

@Suite struct `Source ranges` {
    /// A text, which node to look at by its kind's name, and what it covers.
    static let table: [(String, String, [String])] = [
        ("a *b* c", "emphasis", ["*b*"]),
        ("a **b *c***", "emphasis", ["*c*"]),
        ("a **b *c***", "strong", ["**b *c***"]),
        ("  para\n  graph  \n\nx", "paragraph", ["para\n  graph", "x"]),
        ("# One #\n", "heading", ["# One #"]),
        ("One\n===\n", "heading", ["One\n==="]),
        ("> a\n> b\n\nc", "blockQuote", ["> a\n> b"]),
        ("> a\n> b", "text", ["a", "b"]),
        ("- a\n- b\n\n  c\n\nd", "item", ["- a", "- b\n\n  c"]),
        ("- a\n- b\n\nd", "list", ["- a\n- b"]),
        ("```x\ncode\n```\n", "codeBlock", ["```x\ncode\n```"]),
        ("```x\ncode\n", "codeBlock", ["```x\ncode"]),
        ("    code\n\n    more\n\nx", "codeBlock", ["code\n\n    more"]),
        ("[a](b) ![c](d \"e\")", "link", ["[a](b)"]),
        ("[a](b) ![c](d \"e\")", "image", ["![c](d \"e\")"]),
        ("x `` a`b `` y", "code", ["`` a`b ``"]),
        ("a &amp; b", "text", ["a &amp; b"]),
        ("é *ü*\r\nö", "text", ["é ", "ü", "ö"]),
        ("a\u{0}b *c*", "emphasis", ["*c*"]),
        ("a\u{0}b *c*", "text", ["a\u{0}b ", "c"]),
        ("|a|b|\n|-|-|\n| c\\|d | *e* |", "tableCell", ["a", "b", "c\\|d", "*e*"]),
        ("|a|b|\n|-|-|\n| c\\|d | *e* |", "emphasis", ["*e*"]),
        ("p\n|a|\n|-|\n|b|\n\nq", "table", ["|a|\n|-|\n|b|"]),
        ("p\n|a|\n|-|\n|b|\n\nq", "paragraph", ["p", "q"]),
        ("- [x] done", "paragraph", ["done"]),
        ("~~a~~", "strikethrough", ["~~a~~"]),
        ("see www.a.b.", "link", ["www.a.b"]),
        ("to a@b.c.", "link", ["a@b.c"]),
        ("<http://a.b>", "link", ["<http://a.b>"]),
        ("[a]: b\nc", "paragraph", ["c"]),
        ("a[^1]\n\n[^1]: note", "footnoteDefinition", ["[^1]: note"]),
        ("a[^1]\n\n[^1]: note", "footnoteReference", ["[^1]"]),
        ("***\n- - -", "thematicBreak", ["***", "- - -"]),
        ("a  \r\nb\\\r\nc\r\nd", "lineBreak", ["  \r\n", "\\\r\n"]),
        ("a  \r\nb\\\r\nc \r\nd", "softBreak", [" \r\n"]),
        ("a &amp; \\*b@c.d e&lt;f@g.h", "link", ["b@c.d", "f@g.h"]),
        ("a &amp; \\*b@c.d e&lt;f@g.h", "text", ["a &amp; \\*", "b@c.d", " e&lt;", "f@g.h"]),
        ("|a|b\u{0}c|d|\n|-|-|-|", "text", ["a", "b\u{0}c", "d"]),
        ("p\n|a|b\u{0}c|d|\n|-|-|-|", "text", ["p", "a", "b\u{0}c", "d"]),
        ("|e\u{0}|\n|-|\n\n|a|b\u{0}c|\n|-|-|", "text", ["e\u{0}", "a", "b\u{0}c"]),
        ("\u{0}\n|a|\n|-|", "paragraph", ["\u{0}"]),
        ("> p  \n> |a|\n> |-|", "paragraph", ["p"]),
        ("|a|b|\n|-|-|\n|c|", "tableCell", ["a", "b", "c", ""]),
    ]

    @Test(arguments: table) func `a node covers its source`(source: String, name: String, expected: [String]) {
        let document = Document(source)
        let nodes = document.nodes {
            "\($0.kind)".hasPrefix(name) && !"\($0.kind)".hasPrefix(name + "Row")
                && !"\($0.kind)".hasPrefix(name + "Cell")
        }
        #expect(nodes.map(document.source(of:)) == expected)
    }

    @Test(arguments: table.map(\.0)) func `a parent covers its children`(source: String) {
        let document = Document(source)
        for node in document.nodes(where: { $0.parent != nil && $0.parent?.parent != nil }) {
            let parent = node.parent!
            #expect(parent.sourceRange.lowerBound <= node.sourceRange.lowerBound, "\(parent.kind) \(node.kind)")
            #expect(parent.sourceRange.upperBound >= node.sourceRange.upperBound, "\(parent.kind) \(node.kind)")
        }
    }
}
