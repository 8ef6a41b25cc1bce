@testable import NativeMark
import TestSupport
import Testing

@Suite struct `Source ranges` {
    /// A text, the beginning of a kind's name, and what the nodes of this kind cover.
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

/// Properties of the ranges of every document.
@Suite struct `Ranges of random documents` {
    typealias Generator = `Random documents`.Generator

    @Test(arguments: 0..<16)
    func `a range contains its children's ranges, which are in order and don't overlap`(seed: Int) {
        var generator = Generator(state: UInt64(seed + 1_000))
        for _ in 0..<120 {
            var options = Document.Options()
            options.smartPunctuation = generator.next(below: 2) == 0
            let source = `Random edits`.text(
                &generator, pieces: generator.next(below: 40), of: `Random edits`.fragments)
            let document = Document(source, options: options)
            for parent in document.nodes(where: { !$0.isFootnote }) {
                let outer = parent.sourceRange
                var end = outer.lowerBound
                for child in parent.children where !child.isFootnote {
                    let range = child.sourceRange
                    #expect(
                        range.lowerBound >= end && range.upperBound <= outer.upperBound,
                        "\(source.debugDescription): \(child.kind) \(range) after \(end) in \(parent.kind) \(outer)")
                    end = range.upperBound
                }
            }
            #expect(document.root.sourceRange == 0..<source.utf8.count)
        }
    }

    @Test(arguments: 0..<16) func `a range covers what the node was parsed from`(seed: Int) {
        var generator = Generator(state: UInt64(seed + 2_000))
        for _ in 0..<120 {
            let source = `Random edits`.text(
                &generator, pieces: generator.next(below: 40), of: `Random edits`.fragments)
            let document = Document(source)
            for node in document.nodes(where: { _ in true }) {
                let covered = document.source(of: node)
                #expect(node.isRight(covered), "\(source.debugDescription): \(node.kind) \(covered.debugDescription)")
            }
        }
    }

    @Test(arguments: 0..<16) func `ranges are the same in UTF-16`(seed: Int) {
        var generator = Generator(state: UInt64(seed + 3_000))
        for _ in 0..<60 {
            let pieces = `Random edits`.text(
                &generator, pieces: generator.next(below: 40), of: `Random edits`.fragments)
            let source = pieces.replacing("a", with: ["a", "é", "\u{1F600}", "漢"][generator.next(below: 4)])
            let document = Document(source)
            // For each byte, the code units before it.
            var units: [Int] = []
            var count = 0
            for scalar in source.unicodeScalars {
                units += Array(repeating: count, count: scalar.utf8.count)
                count += scalar.utf16.count
            }
            units.append(count)
            for node in document.nodes(where: { _ in true }) {
                let range = node.sourceRange
                #expect(
                    node.utf16SourceRange == units[range.lowerBound]..<units[range.upperBound],
                    "\(source.debugDescription): \(node.kind) \(range)")
            }
        }
    }
}

extension Document.Node {
    fileprivate var isFootnote: Bool {
        if case .footnoteDefinition = kind { true } else { false }
    }

    fileprivate func isRight(_ source: String) -> Bool {
        switch kind {
        case .document: return true
        case .emphasis: return source.hasDelimiters("*") || source.hasDelimiters("_")
        case .strong: return source.hasDelimiters("**") || source.hasDelimiters("__")
        case .strikethrough: return source.hasDelimiters("~~")
        case .code: return source.hasDelimiters("`")
        case .image: return source.hasPrefix("![")
        case .footnoteReference(let label, _):
            return source.lowercased() == "[^\(label)]".lowercased()
        case .footnoteDefinition(let label): return source.hasPrefix("[^\(label)]:")
        case .blockQuote: return source.hasPrefix(">")
        case .item: return "-+*0123456789".contains(source.first ?? "a")
        case .text(let text):
            if case .codeBlock? = parent?.kind { return true }
            guard !source.isEmpty, !source.contains(where: \.isNewline) else { return false }
            // The source of a text is longer if something in it is resolved.
            return source == text || source.contains { "&\\\0*_~[]!".contains($0) }
        case .softBreak, .lineBreak:
            // CR LF is one character.
            return source.last?.isNewline == true
        case .paragraph, .heading, .list, .codeBlock, .table, .tableRow, .thematicBreak, .link: return !source.isEmpty
        case .tableCell: return firstChild == nil || !source.isEmpty
        }
    }
}

extension String {
    fileprivate func hasDelimiters(_ delimiter: String) -> Bool {
        let (bytes, delimiter) = (Array(utf8), Array(delimiter.utf8))
        return bytes.count > 2 * delimiter.count && bytes.starts(with: delimiter)
            && bytes.suffix(delimiter.count).elementsEqual(delimiter)
    }
}

@Suite struct `Offsets in UTF-16` {
    @Test func `offsets match those of String at each scalar`() {
        var random = SeededRandom(seed: 23)
        let scalars: [Unicode.Scalar] = [
            "a", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "é", "語", "😀",
        ]
        for round in 0..<300 {
            var text = ""
            for _ in 0..<(round % 200) { text.unicodeScalars.append(scalars.randomElement(using: &random) ?? "a") }
            text.makeContiguousUTF8()
            text.withUTF8 { bytes in
                let index = UTF16Index(bytes)
                var (byte, units) = (0, 0)
                for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
                    #expect(index.utf16Offset(of: byte, in: bytes) == units)
                    #expect(index.position(ofUTF16: units, in: bytes) == byte)
                    if scalar.utf16.count == 2 { #expect(index.position(ofUTF16: units + 1, in: bytes) == nil) }
                    byte += scalar.utf8.count
                    units += scalar.utf16.count
                }
                #expect(index.count == units)
            }
        }
    }
}
