import NativeMark
import TestSupport
import Testing

@Suite struct `Shortening text to a width` {
    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var width: Int
        var result: String

        init(_ text: String, _ width: Int, _ result: String) {
            self.text = text
            self.width = width
            self.result = result
        }

        var testDescription: String { "\(text) to \(width)" }
    }

    @Test(arguments: [
        Row("", 0, ""),
        Row("", 2, ""),
        Row("a", 0, ""),
        Row("a", 1, "a"),
        Row("ab", 1, "…"),
        Row("ab", 2, "ab"),
        Row("abc", 2, "a…"),
        Row("a long name", 7, "a long…"),
        Row("日", 0, ""),
        Row("日", 1, "…"),
        Row("日", 2, "日"),
        Row("日本", 2, "…"),
        Row("日本", 3, "日…"),
        Row("日本語", 4, "日…"),
        Row("日本語", 5, "日本…"),
        Row("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
        Row("👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"),
        Row("🇯🇵🇩🇪", 3, "🇯🇵…"),
        Row("negative", -3, ""),
        Row("\u{200B}", 0, "\u{200B}"),
    ])
    func `at the end, the beginning stays`(_ row: Row) {
        #expect(TerminalText.truncated(row.text, toWidth: row.width) == row.result)
    }

    @Test(arguments: [
        Row("", 0, ""),
        Row("abc", 0, ""),
        Row("abc", 1, "…"),
        Row("abc", 2, "a…"),
        Row("abcd", 3, "a…d"),
        Row("abcdefghij", 6, "abc…ij"),
        Row("abcdefghij", 7, "abc…hij"),
        Row("abcdefghij", 10, "abcdefghij"),
        Row("a very long song.flac", 12, "a very….flac"),
        Row("a very long song.flac", 6, "….flac"),
        Row("a very long song.flac", 5, "a …ac"),
        Row("a very long song (live at home).mp3", 21, "a very lon… home).mp3"),
        Row(".hidden-file", 7, ".hi…ile"),
        Row("Vol. 3 of the great work", 9, "Vol.…work"),
        Row("ends with a dot.", 7, "end…ot."),
        Row("日本語日本語.txt", 9, "日本….txt"),
        Row("日本語日本語.txt", 8, "日….txt"),
        Row("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5, "👨‍👩‍👧…👨‍👩‍👧"),
        Row("negative", -1, ""),
    ])
    func `in the middle, both ends and the extension stay`(_ row: Row) {
        #expect(TerminalText.truncated(row.text, toWidth: row.width, at: .middle) == row.result)
    }

    @Test(arguments: TerminalText.TruncationPosition.allCases)
    func `no text becomes wider than asked, or loses a part of a character`(_ position: TerminalText.TruncationPosition)
    {
        var random = SeededRandom(seed: 2)
        for _ in 0..<3_000 {
            let text = String.hostile(using: &random)
            let width = Int.random(in: 0...20, using: &random)

            let result = TerminalText.truncated(text, toWidth: width, at: position)

            #expect(TerminalText.width(of: result) <= width, "\(text.unicodeScalars.map(\.value)) to \(width)")
            if TerminalText.width(of: text) <= width {
                #expect(result == text)
            } else if width > 0 {
                #expect(isTwoEnds(of: text, joinedInto: result), "\(text.unicodeScalars.map(\.value)) to \(width)")
            }
        }
    }

    @Test func `text that is cut fills the width but for one column`() {
        var random = SeededRandom(seed: 3)
        var cut = 0
        for _ in 0..<3_000 {
            let text = String.hostile(using: &random)
            let width = Int.random(in: 1...20, using: &random)
            guard TerminalText.width(of: text) > width, !text.contains(where: { TerminalText.width(of: $0) > 2 }) else {
                continue
            }
            cut += 1
            for position in TerminalText.TruncationPosition.allCases {
                let result = TerminalText.truncated(text, toWidth: width, at: position)
                #expect(TerminalText.width(of: result) >= width - 1)
            }
        }
        #expect(cut > 500)
    }

    /// Whether the result is a beginning and an end of the text, both cut between characters, around an ellipsis.
    private func isTwoEnds(of text: String, joinedInto result: String) -> Bool {
        let (whole, left) = (Array(text.unicodeScalars), Array(result.unicodeScalars))
        let cuts = Set(text.indices.map { text.unicodeScalars.distance(from: text.startIndex, to: $0) } + [whole.count])
        return left.indices.contains { mark in
            let behind = left.count - mark - 1
            return left[mark] == "…" && cuts.contains(mark) && cuts.contains(whole.count - behind)
                && whole.starts(with: left[..<mark]) && whole.suffix(behind) == left[(mark + 1)...]
        }
    }
}

@Suite struct `Padding text to a width` {
    @Test(arguments: [
        (TerminalText.Alignment.leading, "日本  "), (.trailing, "  日本"), (.center, " 日本 "),
    ])
    func `spaces go where the alignment says`(_ alignment: TerminalText.Alignment, _ result: String) {
        #expect(TerminalText.padded("日本", toWidth: 6, alignment: alignment) == result)
    }

    @Test func `the odd space goes behind centred text`() {
        #expect(TerminalText.padded("ab", toWidth: 5, alignment: .center) == " ab  ")
    }

    @Test(arguments: [Int.min, -1, 0, 1, 2])
    func `text that is as wide or wider stays as it is`(_ width: Int) {
        #expect(TerminalText.padded("日", toWidth: width) == "日")
    }

    @Test func `nothing is padded to spaces`() {
        #expect(TerminalText.padded("", toWidth: 2) == "  ")
        #expect(TerminalText.padded("", toWidth: 0) == "")
    }

    @Test func `cut and padded text has exactly the width, whatever it was`() {
        var random = SeededRandom(seed: 4)
        for _ in 0..<3_000 {
            let text = TerminalText.sanitized(.hostile(using: &random))
            let width = Int.random(in: 0...20, using: &random)
            let cell = TerminalText.padded(TerminalText.truncated(text, toWidth: width, at: .middle), toWidth: width)
            #expect(TerminalText.width(of: cell) == width, "\(text.unicodeScalars.map(\.value)) to \(width)")
        }
    }
}
