import TestSupport
import Testing

@testable import NativeMark

extension String {
    /// Text that does its best to be markup.
    static func hostileText(using random: inout some RandomNumberGenerator) -> String {
        let pieces = [
            "a", "Ada", "é", "日本", "👨‍👩‍👧", "1", "12", " ", "  ", "    ", "\t", "\n", "\n\n", "\r", "\r\n", "\u{A0}",
            "\u{2028}",
            "*", "**", "***", "_", "__", "~~", "`", "``", "```", "~~~", "\\", "\\\\", "[a](b)", "![a](b)", "[", "]",
            "(", ")",
            "](javascript:alert(1))", "<b>", "<http://a.b>", "<a@b.c>", "<", ">", "> ", "# ", "#", "- ", "+ ", "-",
            "---",
            "===", "1. ", "2) ", "- [ ] ", "[x] ", "[^1]", "[^1]: ", "[a]: /b", "|", "|a|\n|-|", "&amp;", "&#42;", "&",
            ";",
            "http://a.b/c", "https://a.b", "www.a.b", "a@b.c", "mailto:a@b.c", "!", "%", "%@", "%1$@", "%%", "\"", "'",
            "--",
            "...", "$", ":", "{", "}", "\u{1B}[31m", "\u{FEFF}", "\u{7F}", "\u{200B}", "\u{F0000}", "\u{2060}",
        ]
        return (0..<Int.random(in: 0...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
            .joined()
    }
}

@Suite struct `Text that is escaped` {
    @Test func `is shown as it is, wherever text may stand`() throws {
        var random = SeededRandom(seed: 6)
        var options = Document.Options()
        for round in 0..<3_000 {
            options.smartPunctuation = round % 2 == 0
            let text = String.hostileText(using: &random)
            guard !text.isEmpty else { continue }
            let escaped = Document.escaped(text)
            for place in [
                "%", "# %", "> %", "- %", "1. %", "[%](/u)", "**%**",
                "![%](/u)",
                "|%|\n|-|", "a\n%", "- [ ] %", "[^n]\n\n[^n]: %",
            ] {
                let markdown = String(place.map { $0 == "%" ? "\u{1}" : $0 }).split(
                    separator: "\u{1}", omittingEmptySubsequences: false
                )
                .joined(separator: escaped)
                let document = Document(markdown, options: options)
                let before = place == "a\n%" ? "a " : ""
                #expect(document.root.plainText == before + text, "\(place) \(markdown.debugDescription)")
                let kinds = document.nodes { _ in true }.map(\.kind)
                let texts = kinds.count { if case .text = $0 { true } else { false } }
                #expect(texts == (before.isEmpty ? 1 : 2), "\(markdown.debugDescription)")
            }
        }
    }

    @Test func `says nothing that the text does not`() {
        #expect(Document.escaped("") == "")
        #expect(Document.escaped("Ada Lovelace") == "Ada Lovelace")
        #expect(Document.escaped("*x*") == "\\*x\\*")
        #expect(Document.escaped(" a  b ") == "&#32;a&#32;&#32;b&#32;")
        #expect(Document.escaped("a\n# b") == "a&#10;\\# b")
        #expect(Document.escaped("\u{FEFF}a") == "&#65279;a")
    }
}
