@testable import NativeMark
import Testing

@Suite struct `Tokens of code` {
    private func shown(_ code: String, _ language: String) -> [String] {
        let bytes = Array(code.utf8)
        return LanguageHighlighter().tokens(in: code, language: language).map {
            "\($0.kind.rawValue):\(String(decoding: bytes[$0.range], as: UTF8.self))"
        }
    }

    @Test(arguments: LanguageRows.rows) func `tokens are found in each language`(row: LanguageRows.Row) {
        #expect(shown(row.code, row.language) == row.tokens.filter { !$0.isEmpty })
    }

    @Test func `the name of a language may have any case`() {
        #expect(shown("let", "Swift") == ["keyword:let"])
        #expect(shown("let", "SWIFT") == ["keyword:let"])
    }

    @Test func `the line after a literal that doesn't end has tokens again`() {
        let tokens = shown("\"a \\(b\nlet c) let\nlet", "swift")
        #expect(tokens.filter { $0 == "keyword:let" }.count == 3, "\(tokens)")
    }

    /// Pieces that start something that may not end.
    private static let pieces = [
        "\"", "'", "`", "\"\"\"", "'''", "\\", "\\(", "${", "#{", "{", "}", "(", ")", "$(", "#", "##\"", "r#\"", "f\"",
        "/*", "*/", "//", "--",
        "<!--", "-->", "<", ">", "</a", "&", "&amp;", "[", "]", "#[", "@", "$", "${", "a", "if", "B", "é", "日",
        "\u{1F600}", "0", "1.", "e+",
        "0x", "_", ":", "=", "- ", "\n", " ", "\t", "\r\n", "\0", ";", ".", "<![CDATA[", "+", "-", "@@",
    ]

    @Test(arguments: LanguageRows.rows.map(\.language))
    func `tokens are in order, don't overlap and lie within the code`(
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

    @Test func `tokens of hostile code are found as fast as those of other code`() {
        for piece in Self.pieces {
            for language in ["swift", "rust", "python", "sh", "html", "yaml", "php", "js"] {
                // A quadratic lexer would need minutes for each.
                _ = LanguageHighlighter().tokens(
                    in: String(repeating: piece, count: 50_000 / piece.utf8.count), language: language)
            }
        }
    }

    @Test func `overlapping tokens are cut, and ranges are rounded down to scalars`() {
        let tokens: [CodeToken] = [
            .init(4..<9, .string), .init(0..<2, .keyword), .init(1..<5, .number), .init(-5..<0, .type),
            .init(8..<400, .comment),
        ]
        #expect(
            tokens.cut(to: "aébcdefgh") == [
                .init(0..<1, .keyword), .init(1..<5, .number), .init(5..<9, .string), .init(9..<10, .comment),
            ])
    }

    @Test func `tokens in code blocks have the styles of the sheet`() throws {
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

/// Code in all languages, and its tokens as `kind:text` in order.
enum LanguageRows {
    struct Row: Sendable, CustomTestStringConvertible {
        var language: String
        var code: String
        var tokens: [String]

        var testDescription: String { "\(language): \(code)" }

        init(_ language: String, _ code: String, _ tokens: String...) {
            self.language = language
            self.code = code
            self.tokens = tokens
        }
    }

    static let rows: [Row] = [
        // Swift
        .init("swift", "let x = 1", "keyword:let", "number:1"),
        .init(
            "swift", "func f(_ a: Int) -> String? { nil }", "keyword:func", "function:f", "type:Int", "type:String",
            "constant:nil"),
        .init("swift", "x.default.in", ""),
        .init("swift", "a /* b /* c */ d */ if // e", "comment:/* b /* c */ d */", "keyword:if", "comment:// e"),
        .init("swift", #""a\n\"b" c"#, #"string:"a\n\"b""#),
        .init(
            "swift", #""a \(f("b", g(1))) c""#, #"string:"a "#, "function:f", #"string:"b""#, "function:g", "number:1",
            #"string: c""#),
        .init("swift", ##"#"a\(b)\#(1)"c"# d"##, ##"string:#"a\(b)"##, "number:1", ##"string:"c"#"##),
        .init(
            "swift", "\"\"\"\na \"b\" \\(1)\n\"\"\" if", "string:\"\"\"\na \"b\" ", "number:1", "string:\n\"\"\"",
            "keyword:if"),
        .init("swift", "\"open\nlet", "string:\"open", "keyword:let"),
        .init("swift", "\"a \\(b\nlet \")\"", "string:\"a ", "keyword:let", "string:\")\""),
        .init(
            "swift", "@MainActor #if os(Linux)", "attribute:@MainActor", "attribute:#if", "function:os", "type:Linux"),
        .init("swift", "map { $0 + 1...9 }", "variable:$0", "number:1", "number:9"),
        .init("swift", "0xFF_e+1 1.5e-3 1.description", "number:0xFF_e", "number:1", "number:1.5e-3", "number:1"),
        .init("swift", "größe(日本)", "function:größe"),
        // The family of C
        .init("c", "#include <a.h>\n# define X 1", "attribute:#include", "attribute:# define", "number:1"),
        .init("cpp", "const char *s = u8\"x\"; // y", "keyword:const", "type:char", "string:u8\"x\"", "comment:// y"),
        .init("objc", "@interface A : NSObject", "attribute:@interface"),
        .init("c#", "public string A => null;", "keyword:public", "type:string", "type:A", "constant:null"),
        .init(
            "java", "@Override int f() { return \"\"\"\n x\"\"\"; }", "attribute:@Override", "type:int", "function:f",
            "keyword:return", "string:\"\"\"\n x\"\"\""),
        .init("kt", "val a = \"${f(1)} $b\"", "keyword:val", "string:\"", "function:f", "number:1", "string: $b\""),
        .init(
            "js", "const a = `x ${b({c: 1})} y`", "keyword:const", "string:`x ", "function:b", "number:1", "string: y`"),
        .init("ts", "let $a: number = undefined", "keyword:let", "type:number", "constant:undefined"),
        .init(
            "go", "func f() error { return `a\nb` }", "keyword:func", "function:f", "type:error", "keyword:return",
            "string:`a\nb`"),
        .init(
            "rust", "fn f<'a>(x: &'a str) -> char { 'a' }", "keyword:fn", "attribute:'a", "attribute:'a", "type:str",
            "type:char", "string:'a'"),
        .init(
            "rust,ignore", "#[derive(A)] let s = r##\"a\"#b\"##;", "attribute:#[derive(A)]", "keyword:let",
            "string:r##\"a\"#b\"##"),
        .init(
            "rust", "#![no_std] b\"x\\\"\" 'b: loop {}", "attribute:#![no_std]", "string:b\"x\\\"\"", "attribute:'b",
            "keyword:loop"),
        .init("php", "<?php # a\n$b = 'c';", "comment:# a", "variable:$b", "string:'c'"),
        .init(
            "css", "a:hover { color: #fff; margin-top: 1px } /* c */ @media", "key:a", "key:color", "key:margin-top",
            "number:1px", "comment:/* c */", "attribute:@media"),
        // Scripts
        .init(
            "python", "@a\ndef f(x=None): # y\n  '''b\n'''", "attribute:@a", "keyword:def", "function:f",
            "constant:None", "comment:# y", "string:'''b\n'''"),
        .init(
            "py", "f\"a {b[1]} {{c}}\" rb'\\' \"{d}\"", "string:f\"a ", "number:1", "string: {{c}}\"", "string:rb'\\'",
            "string:\"{d}\""),
        .init(
            "ruby", "puts \"a #{b(1)}\" # c\n@d = nil", "string:\"a ", "function:b", "number:1", "string:\"",
            "comment:# c", "attribute:@d", "constant:nil"),
        .init(
            "sh", "if [ \"$A\" ]; then echo a#b $B ${C:-x} # d\nfi", "keyword:if", "string:\"$A\"", "keyword:then",
            "keyword:echo", "variable:$B", "variable:${C:-x}", "comment:# d", "keyword:fi"),
        .init(
            "bash", "'a\\' \"$(f 'b')\" $1 $?", "string:'a\\'", "string:\"", "string:'b'", "string:\"", "variable:$1",
            "variable:$?"),
        .init(
            "sql", "SELECT count(*) FROM a -- b\nWHERE c = 'd''e' AND f IS NULL", "keyword:SELECT", "function:count",
            "keyword:FROM", "comment:-- b", "keyword:WHERE", "string:'d'", "string:'e'", "keyword:AND", "keyword:IS",
            "constant:NULL"),
        // Data
        .init("json", "{\"a\" : [\"b\", 1.5, true]}", "key:\"a\"", "string:\"b\"", "number:1.5", "constant:true"),
        .init(
            "yaml", "# c\na: b # d\nlist:\n  - e: 'f'\n  - http://x:1\nk: true", "comment:# c", "key:a", "comment:# d",
            "key:list", "key:e", "string:'f'", "number:1", "key:k", "constant:true"),
        .init(
            "toml", "[a.b]\nc-d = \"e\" # f\ng = 1", "type:[a.b]", "key:c-d", "string:\"e\"", "comment:# f", "key:g",
            "number:1"),
        .init(
            "html", "<!-- a --><p class=\"b\" hidden>c &amp; d</p>", "comment:<!-- a -->", "keyword:<p", "key:class",
            "string:\"b\"", "attribute:hidden", "keyword:>", "constant:&amp;", "keyword:</p", "keyword:>"),
        .init(
            "xml", "<?xml version='1'?><a/>", "attribute:<?xml", "key:version", "string:'1'", "keyword:>", "keyword:<a",
            "keyword:>"),
        .init("diff", "@@ -1 +1 @@\n-a\n+b\n c", "attribute:@@ -1 +1 @@", "deleted:-a", "inserted:+b"),
        // No language
        .init("", "let a = 1"), .init("klingon", "let a = 1"),
    ]
}
