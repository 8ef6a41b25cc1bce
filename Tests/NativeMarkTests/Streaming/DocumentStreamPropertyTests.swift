import Testing

@testable import NativeMark

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

    @Test(arguments: 0..<8) func `is in the end the same as the text in one piece`(seed: Int) {
        var generator = Generator(state: UInt64(seed))
        for _ in 0..<250 {
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

    @Test(arguments: 0..<8) func `shows what has arrived, as long as nothing is defined`(seed: Int) {
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

    @Test(arguments: 0..<8) func `says which blocks have changed`(seed: Int) {
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
                // Sometimes nothing was asked for yet, when it changes.
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
    /// All blocks and footnotes, one after the other.
    fileprivate var html: String {
        mutating get {
            let all = blocks.map(\.document) + (footnotes.map { [$0] } ?? [])
            return all.map { HTMLRenderer().render($0) }.joined().withoutRepetitions
        }
    }
}

extension String {
    /// Without the number that tells references to the same footnote apart, which one block cannot know of another.
    fileprivate var withoutRepetitions: String { replacing(/id="fnref-([0-9]+)-[0-9]+"/) { "id=\"fnref-\($0.1)\"" } }
}
