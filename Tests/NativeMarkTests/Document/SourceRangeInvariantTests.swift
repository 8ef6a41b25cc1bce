import Testing

@testable import NativeMark

/// What holds for the ranges of every document.
@Suite struct `Ranges of random documents` {
    typealias Generator = `Random documents`.Generator

    @Test(arguments: 0..<16) func `contain those of the children, which are in order and apart`(seed: Int) {
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

    @Test(arguments: 0..<16) func `cover what the node came from`(seed: Int) {
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

    @Test(arguments: 0..<16) func `are the same in UTF-16`(seed: Int) {
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
