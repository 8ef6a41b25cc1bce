import NativeMark
import TestSupport
import Testing

@Suite struct `Cleaning text for a terminal` {
    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var text: String
        var cleaned: String

        init(_ what: String, _ text: String, _ cleaned: String) {
            self.what = what
            self.text = text
            self.cleaned = cleaned
        }

        var testDescription: String { what }
    }

    @Test(arguments: [
        Row("color", "\u{1B}[31mred\u{1B}[0m", "\u{FFFD}[31mred\u{FFFD}[0m"),
        Row("clear the screen", "\u{1B}[2J\u{1B}[H", "\u{FFFD}[2J\u{FFFD}[H"),
        Row("set the title", "\u{1B}]0;owned\u{7}", "\u{FFFD}]0;owned\u{FFFD}"),
        Row("hyperlink ended by ST", "\u{1B}]8;;http://x\u{1B}\\", "\u{FFFD}]8;;http://x\u{FFFD}\\"),
        Row("CSI as one C1 control", "\u{9B}2J", "\u{FFFD}2J"),
        Row("OSC, ST as C1 controls", "\u{9D}0;t\u{9C}", "\u{FFFD}0;t\u{FFFD}"),
        Row("backspaces over a name", "safe.txt\u{8}\u{8}", "safe.txt\u{FFFD}\u{FFFD}"),
        Row("NUL, bell, DEL", "a\0b\u{7}c\u{7F}d", "a\u{FFFD}b\u{FFFD}c\u{FFFD}d"),
        Row("control between a letter and its mark", "e\u{1B}\u{301}", "e\u{FFFD}\u{301}"),
    ])
    func `controls become visible and powerless`(_ row: Row) {
        #expect(scalars(TerminalText.sanitized(row.text)) == scalars(row.cleaned))
    }

    @Test(arguments: [
        Row("tab", "a\tb", "a b"),
        Row("line feed", "a\nb", "a b"),
        Row("carriage return, to write over the line", "100 %\rfake", "100 % fake"),
        Row("CR LF", "a\r\nb", "a b"),
        Row("LF CR", "a\n\rb", "a  b"),
        Row("vertical tab, form feed", "a\u{B}b\u{C}c", "a b c"),
        Row("NEL", "a\u{85}b", "a b"),
        Row("separators of lines and paragraphs", "a\u{2028}b\u{2029}c", "a b c"),
    ])
    func `whatever ends a line or moves along it becomes a space`(_ row: Row) {
        #expect(scalars(TerminalText.sanitized(row.text)) == scalars(row.cleaned))
    }

    @Test(arguments: [
        Row("override, the classic disguise", "song\u{202E}3pm.exe", "song3pm.exe"),
        Row("embeddings", "\u{202A}a\u{202B}b\u{202C}c\u{202D}d", "abcd"),
        Row("isolates", "\u{2066}a\u{2067}b\u{2068}c\u{2069}", "abc"),
        Row("marks", "\u{200E}a\u{200F}b\u{61C}c", "abc"),
        Row("deprecated format characters", "\u{206A}a\u{206F}b", "ab"),
        Row("nothing else", "\u{202E}", ""),
    ])
    func `controls of direction disappear`(_ row: Row) {
        #expect(scalars(TerminalText.sanitized(row.text)) == scalars(row.cleaned))
    }

    @Test(arguments: [
        "", "plain name.txt", "日本語.flac", "e\u{301}", "👨‍👩‍👧", "❤\u{FE0F}", "שלום", "\u{A0}\u{AD}\u{FFFD}", "नमस्ते",
        "\u{E0067}", "\u{10FFFF}",
    ])
    func `text without controls stays as it is`(_ text: String) {
        #expect(scalars(TerminalText.sanitized(text)) == scalars(text))
    }

    @Test func `no scalar of Unicode passes that could control a terminal`() {
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

    @Test func `cleaning twice changes nothing more`() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<2_000 {
            let once = TerminalText.sanitized(.hostile(using: &random))
            #expect(scalars(TerminalText.sanitized(once)) == scalars(once))
        }
    }

    /// String equality is canonical; these tests want the scalars.
    private func scalars(_ text: String) -> [Unicode.Scalar] {
        Array(text.unicodeScalars)
    }
}
