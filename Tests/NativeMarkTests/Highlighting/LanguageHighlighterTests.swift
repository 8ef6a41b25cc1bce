@testable import NativeMark
import Testing

@Suite struct `Tokens of code` {
    private func shown(_ code: String, _ language: String) -> [String] {
        let bytes = Array(code.utf8)
        return LanguageHighlighter().tokens(in: code, language: language).map {
            "\($0.kind.rawValue):\(String(decoding: bytes[$0.range], as: UTF8.self))"
        }
    }

    @Test(arguments: LanguageRows.rows) func `are found in each language`(row: LanguageRows.Row) {
        #expect(shown(row.code, row.language) == row.tokens.filter { !$0.isEmpty })
    }

    @Test func `the name of a language has any case`() {
        #expect(shown("let", "Swift") == ["keyword:let"])
        #expect(shown("let", "SWIFT") == ["keyword:let"])
    }

    @Test func `after the line of a literal that doesn't end are those of code`() {
        let tokens = shown("\"a \\(b\nlet c) let\nlet", "swift")
        #expect(tokens.filter { $0 == "keyword:let" }.count == 3, "\(tokens)")
    }

    /// Pieces that begin something that may not end.
    private static let pieces = [
        "\"", "'", "`", "\"\"\"", "'''", "\\", "\\(", "${", "#{", "{", "}", "(", ")", "$(", "#", "##\"", "r#\"", "f\"",
        "/*", "*/", "//", "--",
        "<!--", "-->", "<", ">", "</a", "&", "&amp;", "[", "]", "#[", "@", "$", "${", "a", "if", "B", "é", "日",
        "\u{1F600}", "0", "1.", "e+",
        "0x", "_", ":", "=", "- ", "\n", " ", "\t", "\r\n", "\0", ";", ".", "<![CDATA[", "+", "-", "@@",
    ]

    @Test(arguments: LanguageRows.rows.map(\.language)) func `are in order, separate and within any code`(
        language: String
    ) {
        var generator = `Random documents`.Generator(state: UInt64(language.utf8.reduce(7) { $0 &* 31 &+ Int($1) }))
        for _ in 0..<300 {
            let code = (0..<generator.next(below: 40)).map { _ in
                Self.pieces[generator.next(below: Self.pieces.count)]
            }.joined()
            let tokens = LanguageHighlighter().tokens(in: code, language: language)
            var last = 0
            for token in tokens {
                #expect(last <= token.range.lowerBound && !token.range.isEmpty, "\(code.debugDescription)")
                last = token.range.upperBound
            }
            #expect(last <= code.utf8.count)
            #expect(tokens == tokens.cut(to: code), "a token divides a scalar of \(code.debugDescription)")
        }
    }

    @Test func `of a hostile code are found as fast as those of any other`() {
        for piece in Self.pieces {
            for language in ["swift", "rust", "python", "sh", "html", "yaml", "php", "js"] {
                // A quadratic lexer would need minutes for each.
                _ = LanguageHighlighter().tokens(
                    in: String(repeating: piece, count: 50_000 / piece.utf8.count), language: language)
            }
        }
    }

    @Test func `are cut where they overlap, and rounded down to scalars`() {
        let tokens: [CodeToken] = [
            .init(4..<9, .string), .init(0..<2, .keyword), .init(1..<5, .number), .init(-5..<0, .type),
            .init(8..<400, .comment),
        ]
        #expect(
            tokens.cut(to: "aébcdefgh") == [
                .init(0..<1, .keyword), .init(1..<5, .number), .init(5..<9, .string), .init(9..<10, .comment),
            ])
    }

    @Test func `have the styles of the sheet in code blocks`() throws {
        let sheet = StyleSheet().setting(inline: [.token(.keyword): [.bold(true)], .token(.comment): [.italic(true)]])
        let text = StyledText(
            Document("```language-swift\nlet a // é\n```\n\n`let`"), style: sheet, highlighter: .languages)
        #expect(text.runs.map { String(text.string(of: $0)) } == ["let", " a ", "// é", "let"])
        #expect(text.runs.map(\.style.isBold) == [true, false, false, false])
        #expect(text.runs.map(\.style.isItalic) == [false, false, true, false])
        let json = try StyleSheet(json: "{\"inlines\": {\"code.keyword\": {\"bold\": true}}}")
        #expect(json.inlines[.token(.keyword)]?.contains(.bold(true)) == true)
        #expect(try StyleSheet(json: sheet.json) == sheet)
    }
}
