import NativeMark
import Testing

@Suite struct `Width of text in a terminal` {
    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var text: String
        var width: Int

        init(_ what: String, _ text: String, _ width: Int) {
            self.what = what
            self.text = text
            self.width = width
        }

        var testDescription: String { what }
    }

    @Test(arguments: [
        Row("nothing", "", 0),
        Row("a letter", "a", 1),
        Row("words", "hello, world", 12),
        Row("all printable ASCII", String(String.UnicodeScalarView((0x20..<0x7F).compactMap(Unicode.Scalar.init))), 95),
        Row("Latin with marks, composed", "Größe", 5),
        Row("Greek and Cyrillic", "Ωμέγα Юность", 12),
        Row("Hebrew", "שלום", 4),
        Row("private use and unassigned", "\u{E000}\u{378}", 2),
        Row("ambiguous", "…§±×①", 5),
        Row("soft hyphen", "a\u{AD}b", 3),
    ])
    func `ordinary letters take one column each`(_ row: Row) {
        #expect(TerminalText.width(of: row.text) == row.width)
    }

    @Test(arguments: [
        Row("Han", "日本語", 6),
        Row("Han outside the basic plane", "\u{20000}\u{2FA1D}", 4),
        Row("kana", "ひらカタ", 8),
        Row("half-width katakana", "ｶﾀｶﾅ", 4),
        Row("half-width katakana with a sound mark", "ﾊﾞ", 2),
        Row("full-width Latin", "ＡＢ！", 6),
        Row("ideographic space", "\u{3000}", 2),
        Row("bopomofo", "ㄅㄆ", 4),
        Row("mixed with ASCII", "日本.txt", 8),
    ])
    func `East Asian wide characters take two columns each`(_ row: Row) {
        #expect(TerminalText.width(of: row.text) == row.width)
    }

    @Test(arguments: [
        Row("syllables", "한글", 4),
        Row("leading and vowel", "\u{1112}\u{1161}", 2),
        Row("leading, vowel and final", "\u{1112}\u{1161}\u{11AB}", 2),
        Row("syllable and final", "\u{D558}\u{11AB}", 2),
        Row("two leading consonants, which no terminal joins", "\u{1100}\u{1100}\u{1161}", 4),
        Row("a vowel alone", "\u{1161}", 0),
        Row("compatibility jamo", "ㅎㅏㄴ", 6),
    ])
    func `Hangul jamo take the columns of their syllable`(_ row: Row) {
        #expect(TerminalText.width(of: row.text) == row.width)
    }

    @Test(arguments: [
        Row("decomposed letter", "e\u{301}", 1),
        Row("many marks on one letter", "e\u{301}\u{323}\u{20DD}\u{489}", 1),
        Row("mark on a wide character", "か\u{3099}", 2),
        Row("a mark alone", "\u{301}", 0),
        Row("zero-width space, joiners, word joiner, byte order mark", "a\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}b", 2),
        Row("Arabic with vowel marks", "مُحَمَّد", 4),
        Row("Thai with marks above", "ที่นี่", 2),
        Row("Devanagari with a spacing mark", "का", 2),
        Row("Devanagari conjunct", "क्ष", 2),
        Row("Devanagari conjunct with a spacing mark", "क्षि", 2),
        Row("Devanagari with two spacing marks", "ताः", 2),
        Row("Myanmar with medials and a vowel in front", "ကြွေ", 2),
        Row("more spacing marks than writing has", "क" + String(repeating: "\u{903}", count: 20), 21),
        Row("a longer conjunct than writing has", String(repeating: "क\u{94D}", count: 20), 20),
        Row("joiner between letters", "a\u{200D}b", 2),
    ])
    func `combining and zero-width characters take no column of their own`(_ row: Row) {
        #expect(TerminalText.width(of: row.text) == row.width)
    }

    @Test(arguments: [
        Row("emoji", "😀", 2),
        Row("emoji with a skin tone", "👍🏽", 2),
        Row("text-style base with a skin tone", "☝🏽", 2),
        Row("image-style base with a skin tone", "☝\u{FE0F}🏽", 2),
        Row("skin tone alone", "🏽", 2),
        Row("skin tone on a letter, which no terminal joins", "a🏽", 3),
        Row("family joined of three", "👨‍👩‍👧", 2),
        Row("joined with skin tones", "👩🏽‍🤝‍👨🏿", 2),
        Row("joined with a selector in the middle", "👩‍❤\u{FE0F}‍👨", 2),
        Row("heart on fire", "❤\u{FE0F}‍🔥", 2),
        Row("heart on fire without its selector", "❤‍🔥", 2),
        Row("rainbow flag", "🏳\u{FE0F}‍🌈", 2),
        Row("flag of two letters", "🇯🇵", 2),
        Row("two flags", "🇯🇵🇩🇪", 4),
        Row("half a flag", "🇯", 2),
        Row("flag with tags", "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}", 2),
        Row("keycap", "1\u{FE0F}\u{20E3}", 2),
        Row("keycap without its selector", "1\u{20E3}", 1),
        Row("heart as text", "❤", 1),
        Row("heart as text, spelled out", "❤\u{FE0E}", 1),
        Row("heart as an image", "❤\u{FE0F}", 2),
        Row("two selectors", "❤\u{FE0F}\u{FE0F}", 2),
        Row("selector on a wide emoji", "😀\u{FE0F}", 2),
        Row("text selector on a wide emoji: the wider reading", "⌚\u{FE0E}", 2),
        Row("selector on a letter", "a\u{FE0F}", 1),
        Row("selector alone", "\u{FE0F}", 0),
        Row("in a sentence", "go 👨‍👩‍👧!", 6),
    ])
    func `one emoji takes two columns however many scalars it is made of`(_ row: Row) {
        #expect(TerminalText.width(of: row.text) == row.width)
    }

    @Test(arguments: [
        Row("tab", "\t", 0),
        Row("CR LF, one character of two controls", "\r\n", 0),
        Row("escape sequence: the letters only", "\u{1B}[31m", 4),
        Row("C1", "a\u{9B}b", 2),
        Row("separators", "\u{2028}\u{2029}", 0),
        Row("bidirectional controls", "\u{202E}\u{2066}\u{200F}", 0),
    ])
    func `controls count as no columns`(_ row: Row) {
        #expect(TerminalText.width(of: row.text) == row.width)
    }

    @Test func `the width of a part is what it adds to the whole`() {
        let text = "aé日👨‍👩‍👧1\u{FE0F}\u{20E3}b"
        for index in text.indices {
            let parts = TerminalText.width(of: text[..<index]) + TerminalText.width(of: text[index...])
            #expect(parts == TerminalText.width(of: text))
        }
    }

    @Test func `the table is in order, begins at the first scalar and never says the same twice`() throws {
        let runs = TerminalWidthTable.runs
        #expect(try #require(runs.first) >> 2 == 0)
        #expect(try #require(runs.last) >> 2 <= 0x10FFFF)
        for (run, next) in zip(runs, runs.dropFirst()) {
            #expect(run >> 2 < next >> 2)
            #expect(run & 3 != next & 3)
        }
    }

    @Test func `a search of the table finds what a walk along it finds`() {
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
