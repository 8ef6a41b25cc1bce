import NativeMark
import TestSupport
import Testing

@Suite struct `Width of text in a terminal` {
    static let widths: [(String, String, Int)] = [
        // Ordinary letters take one column each.
        ("nothing", "", 0),
        ("a letter", "a", 1),
        ("words", "hello, world", 12),
        ("all printable ASCII", String(String.UnicodeScalarView((0x20..<0x7F).compactMap(Unicode.Scalar.init))), 95),
        ("Latin with marks, composed", "Größe", 5),
        ("Greek and Cyrillic", "Ωμέγα Юность", 12),
        ("Hebrew", "שלום", 4),
        ("private use and unassigned", "\u{E000}\u{378}", 2),
        ("ambiguous", "…§±×①", 5),
        ("soft hyphen", "a\u{AD}b", 3),
        // East Asian wide characters take two columns each.
        ("Han", "日本語", 6),
        ("Han outside the basic plane", "\u{20000}\u{2FA1D}", 4),
        ("kana", "ひらカタ", 8),
        ("half-width katakana", "ｶﾀｶﾅ", 4),
        ("half-width katakana with a sound mark", "ﾊﾞ", 2),
        ("full-width Latin", "ＡＢ！", 6),
        ("ideographic space", "\u{3000}", 2),
        ("bopomofo", "ㄅㄆ", 4),
        ("mixed with ASCII", "日本.txt", 8),
        // Hangul jamo take the columns of their syllable.
        ("syllables", "한글", 4),
        ("leading and vowel", "\u{1112}\u{1161}", 2),
        ("leading, vowel and final", "\u{1112}\u{1161}\u{11AB}", 2),
        ("syllable and final", "\u{D558}\u{11AB}", 2),
        ("two leading consonants, which no terminal joins", "\u{1100}\u{1100}\u{1161}", 4),
        ("a vowel alone", "\u{1161}", 0),
        ("compatibility jamo", "ㅎㅏㄴ", 6),
        // Combining and zero-width characters take no additional column.
        ("decomposed letter", "e\u{301}", 1),
        ("many marks on one letter", "e\u{301}\u{323}\u{20DD}\u{489}", 1),
        ("mark on a wide character", "か\u{3099}", 2),
        ("a mark alone", "\u{301}", 0),
        ("zero-width space, joiners, word joiner, byte order mark", "a\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}b", 2),
        ("Arabic with vowel marks", "مُحَمَّد", 4),
        ("Thai with marks above", "ที่นี่", 2),
        ("Devanagari with a spacing mark", "का", 2),
        ("Devanagari conjunct", "क्ष", 2),
        ("Devanagari conjunct with a spacing mark", "क्षि", 2),
        ("Devanagari with two spacing marks", "ताः", 2),
        ("Myanmar with medials and a vowel in front", "ကြွေ", 2),
        ("more spacing marks than writing has", "क" + String(repeating: "\u{903}", count: 20), 21),
        ("a longer conjunct than writing has", String(repeating: "क\u{94D}", count: 20), 20),
        ("joiner between letters", "a\u{200D}b", 2),
        // One emoji takes two columns, however many scalars it has.
        ("emoji", "😀", 2),
        ("emoji with a skin tone", "👍🏽", 2),
        ("text-style base with a skin tone", "☝🏽", 2),
        ("image-style base with a skin tone", "☝\u{FE0F}🏽", 2),
        ("skin tone alone", "🏽", 2),
        ("skin tone on a letter, which no terminal joins", "a🏽", 3),
        ("family joined of three", "👨‍👩‍👧", 2),
        ("joined with skin tones", "👩🏽‍🤝‍👨🏿", 2),
        ("joined with a selector in the middle", "👩‍❤\u{FE0F}‍👨", 2),
        ("heart on fire", "❤\u{FE0F}‍🔥", 2),
        ("heart on fire without its selector", "❤‍🔥", 2),
        ("rainbow flag", "🏳\u{FE0F}‍🌈", 2),
        ("flag of two letters", "🇯🇵", 2),
        ("two flags", "🇯🇵🇩🇪", 4),
        ("half a flag", "🇯", 2),
        ("flag with tags", "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}", 2),
        ("keycap", "1\u{FE0F}\u{20E3}", 2),
        ("keycap without its selector", "1\u{20E3}", 1),
        ("heart as text", "❤", 1),
        ("heart as text, spelled out", "❤\u{FE0E}", 1),
        ("heart as an image", "❤\u{FE0F}", 2),
        ("two selectors", "❤\u{FE0F}\u{FE0F}", 2),
        ("selector on a wide emoji", "😀\u{FE0F}", 2),
        ("text selector on a wide emoji: the wider reading", "⌚\u{FE0E}", 2),
        ("selector on a letter", "a\u{FE0F}", 1),
        ("selector alone", "\u{FE0F}", 0),
        ("in a sentence", "go 👨‍👩‍👧!", 6),
        // Controls count as no columns.
        ("tab", "\t", 0),
        ("CR LF, one character of two controls", "\r\n", 0),
        ("escape sequence: the letters only", "\u{1B}[31m", 4),
        ("C1", "a\u{9B}b", 2),
        ("separators", "\u{2028}\u{2029}", 0),
        ("bidirectional controls", "\u{202E}\u{2066}\u{200F}", 0),
    ]

    @Test(arguments: widths)
    func `letters take one column, East Asian wide characters and emoji two, marks and controls none`(
        what: String, text: String, columns: Int
    ) {
        #expect(TerminalText.width(of: text) == columns, "\(what)")
    }

    @Test func `the widths of the parts add up to the width of the whole`() {
        let text = "aé日👨‍👩‍👧1\u{FE0F}\u{20E3}b"
        for index in text.indices {
            let parts = TerminalText.width(of: text[..<index]) + TerminalText.width(of: text[index...])
            #expect(parts == TerminalText.width(of: text))
        }
    }

    @Test func `the table is in order, starts at the first scalar and has no equal neighbors`() throws {
        let runs = TerminalWidthTable.runs
        #expect(try #require(runs.first) >> 2 == 0)
        #expect(try #require(runs.last) >> 2 <= 0x10FFFF)
        for (run, next) in zip(runs, runs.dropFirst()) {
            #expect(run >> 2 < next >> 2)
            #expect(run & 3 != next & 3)
        }
    }

    @Test func `a search of the table finds the same as a linear scan`() {
        var runs = TerminalWidthTable.runs[...]
        var mismatches = 0
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            while let next = runs.dropFirst().first, next >> 2 <= value { runs.removeFirst() }
            let expected = runs.first.map { $0 & 3 }
            if TerminalWidthTable.widthClass(of: scalar).rawValue != expected { mismatches += 1 }
        }
        #expect(mismatches == 0)
    }
}

@Suite struct `Shortening text to a width` {
    @Test(arguments: [
        ("", 0, ""),
        ("", 2, ""),
        ("a", 0, ""),
        ("a", 1, "a"),
        ("ab", 1, "…"),
        ("ab", 2, "ab"),
        ("abc", 2, "a…"),
        ("a long name", 7, "a long…"),
        ("日", 0, ""),
        ("日", 1, "…"),
        ("日", 2, "日"),
        ("日本", 2, "…"),
        ("日本", 3, "日…"),
        ("日本語", 4, "日…"),
        ("日本語", 5, "日本…"),
        ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
        ("👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"),
        ("🇯🇵🇩🇪", 3, "🇯🇵…"),
        ("negative", -3, ""),
        ("\u{200B}", 0, "\u{200B}"),
    ])
    func `shortening at the end keeps the beginning`(text: String, width: Int, result: String) {
        #expect(TerminalText.truncated(text, toWidth: width) == result)
    }

    @Test(arguments: [
        ("", 0, ""),
        ("abc", 0, ""),
        ("abc", 1, "…"),
        ("abc", 2, "a…"),
        ("abcd", 3, "a…d"),
        ("abcdefghij", 6, "abc…ij"),
        ("abcdefghij", 7, "abc…hij"),
        ("abcdefghij", 10, "abcdefghij"),
        ("a very long song.flac", 12, "a very….flac"),
        ("a very long song.flac", 6, "….flac"),
        ("a very long song.flac", 5, "a …ac"),
        ("a very long song (live at home).mp3", 21, "a very lon… home).mp3"),
        (".hidden-file", 7, ".hi…ile"),
        ("Vol. 3 of the great work", 9, "Vol.…work"),
        ("ends with a dot.", 7, "end…ot."),
        ("日本語日本語.txt", 9, "日本….txt"),
        ("日本語日本語.txt", 8, "日….txt"),
        ("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5, "👨‍👩‍👧…👨‍👩‍👧"),
        ("negative", -1, ""),
    ])
    func `shortening in the middle keeps both ends and the extension`(text: String, width: Int, result: String) {
        #expect(TerminalText.truncated(text, toWidth: width, at: .middle) == result)
    }

    @Test(arguments: TerminalText.TruncationPosition.allCases)
    func `no text gets wider than requested or loses part of a character`(_ position: TerminalText.TruncationPosition) {
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

    @Test func `shortened text fills the width except for at most one column`() {
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
    func `spaces go where the alignment puts them`(_ alignment: TerminalText.Alignment, _ result: String) {
        #expect(TerminalText.padded("日本", toWidth: 6, alignment: alignment) == result)
    }

    @Test func `the odd space goes after centered text`() {
        #expect(TerminalText.padded("ab", toWidth: 5, alignment: .center) == " ab  ")
    }

    @Test(arguments: [Int.min, -1, 0, 1, 2])
    func `text that is at least as wide stays unchanged`(_ width: Int) {
        #expect(TerminalText.padded("日", toWidth: width) == "日")
    }

    @Test func `empty text is padded with spaces`() {
        #expect(TerminalText.padded("", toWidth: 2) == "  ")
        #expect(TerminalText.padded("", toWidth: 0) == "")
    }

    @Test func `shortened and padded text has exactly the requested width`() {
        var random = SeededRandom(seed: 4)
        for _ in 0..<3_000 {
            let text = TerminalText.sanitized(.hostile(using: &random))
            let width = Int.random(in: 0...20, using: &random)
            let cell = TerminalText.padded(TerminalText.truncated(text, toWidth: width, at: .middle), toWidth: width)
            #expect(TerminalText.width(of: cell) == width, "\(text.unicodeScalars.map(\.value)) to \(width)")
        }
    }
}

@Suite struct `Cleaning text for a terminal` {
    static let cleaned: [(String, String, String)] = [
        // Controls become visible and powerless.
        ("color", "\u{1B}[31mred\u{1B}[0m", "\u{FFFD}[31mred\u{FFFD}[0m"),
        ("clear the screen", "\u{1B}[2J\u{1B}[H", "\u{FFFD}[2J\u{FFFD}[H"),
        ("set the title", "\u{1B}]0;owned\u{7}", "\u{FFFD}]0;owned\u{FFFD}"),
        ("hyperlink ended by ST", "\u{1B}]8;;http://x\u{1B}\\", "\u{FFFD}]8;;http://x\u{FFFD}\\"),
        ("CSI as one C1 control", "\u{9B}2J", "\u{FFFD}2J"),
        ("OSC, ST as C1 controls", "\u{9D}0;t\u{9C}", "\u{FFFD}0;t\u{FFFD}"),
        ("backspaces over a name", "safe.txt\u{8}\u{8}", "safe.txt\u{FFFD}\u{FFFD}"),
        ("NUL, bell, DEL", "a\0b\u{7}c\u{7F}d", "a\u{FFFD}b\u{FFFD}c\u{FFFD}d"),
        ("control between a letter and its mark", "e\u{1B}\u{301}", "e\u{FFFD}\u{301}"),
        // Whatever ends a line or moves along it becomes a space.
        ("tab", "a\tb", "a b"),
        ("line feed", "a\nb", "a b"),
        ("carriage return, to write over the line", "100 %\rfake", "100 % fake"),
        ("CR LF", "a\r\nb", "a b"),
        ("LF CR", "a\n\rb", "a  b"),
        ("vertical tab, form feed", "a\u{B}b\u{C}c", "a b c"),
        ("NEL", "a\u{85}b", "a b"),
        ("separators of lines and paragraphs", "a\u{2028}b\u{2029}c", "a b c"),
        // Controls of direction disappear.
        ("override, the classic disguise", "song\u{202E}3pm.exe", "song3pm.exe"),
        ("embeddings", "\u{202A}a\u{202B}b\u{202C}c\u{202D}d", "abcd"),
        ("isolates", "\u{2066}a\u{2067}b\u{2068}c\u{2069}", "abc"),
        ("marks", "\u{200E}a\u{200F}b\u{61C}c", "abc"),
        ("deprecated format characters", "\u{206A}a\u{206F}b", "ab"),
        ("nothing else", "\u{202E}", ""),
    ]

    @Test(arguments: cleaned)
    func `controls become visible, line ends and tabs become spaces, and direction controls disappear`(
        what: String, text: String, cleaned: String
    ) {
        #expect(scalars(TerminalText.sanitized(text)) == scalars(cleaned), "\(what)")
    }

    @Test(arguments: [
        "", "plain name.txt", "日本語.flac", "e\u{301}", "👨‍👩‍👧", "❤\u{FE0F}", "שלום", "\u{A0}\u{AD}\u{FFFD}", "नमस्ते",
        "\u{E0067}", "\u{10FFFF}",
    ])
    func `text without controls stays unchanged`(_ text: String) {
        #expect(scalars(TerminalText.sanitized(text)) == scalars(text))
    }

    @Test func `no scalar that could control a terminal passes`() {
        var passed: [UInt32] = []
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            for left in TerminalText.sanitized(String(scalar)).unicodeScalars {
                let properties = left.properties
                switch properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: passed.append(value)
                default: if properties.isBidiControl { passed.append(value) }
                }
            }
        }
        #expect(passed.isEmpty)
    }

    @Test func `cleaning twice changes nothing more than cleaning once`() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<2_000 {
            let once = TerminalText.sanitized(.hostile(using: &random))
            #expect(scalars(TerminalText.sanitized(once)) == scalars(once))
        }
    }

    /// String equality is canonical, but these tests need to compare scalars.
    private func scalars(_ text: String) -> [Unicode.Scalar] {
        Array(text.unicodeScalars)
    }
}

extension String {
    /// Up to 30 pieces in random order: scalars that join, mark, reverse or control, and some of any kind.
    static func hostile(using random: inout some RandomNumberGenerator) -> String {
        let pieces: [Unicode.Scalar] = [
            "a", "b", ".", "1", " ", "日", "ﾊ", "\u{FF9E}", "\u{301}", "\u{200B}", "\u{200D}", "\u{FE0F}", "\u{FE0E}",
            "\u{20E3}", "👩", "❤", "🔥", "\u{1F3FD}", "\u{1F1EF}", "\u{1F1F5}", "\u{E0067}", "\u{E007F}", "\u{1100}",
            "\u{1161}", "\u{11AB}", "\u{AC00}", "\u{915}", "\u{94D}", "\u{937}", "\u{93F}", "\u{600}", "\u{1B}", "\r",
            "\n",
            "\t", "\u{9B}", "\u{202E}", "\u{2066}", "\u{2028}", "…",
        ]
        var result = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...30, using: &random) {
            if Int.random(in: 0..<10, using: &random) == 0,
                let any = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random))
            {
                result.append(any)
            } else if let piece = pieces.randomElement(using: &random) {
                result.append(piece)
            }
        }
        return String(result)
    }
}
