import Testing

@testable import NativeMark

@Suite struct `Controls in a document` {
    /// Control sequences for a terminal, in the forms that Markdown allows.
    static let attacks: [(what: String, markdown: String)] = [
        ("color by entity", "&#27;[31m"), ("color by hexadecimal entity", "&#x1b;[31m"), ("raw ESC", "\u{1B}[2J"),
        ("raw CSI", "\u{9B}31m"), ("CSI by entity", "&#155;31m"), ("CSI by hexadecimal entity", "&#x9b;2J"),
        ("OSC with BEL", "\u{1B}]0;t\u{7}"), ("BEL by entity", "&#7;"), ("BEL", "\u{7}"),
        ("ST", "\u{1B}\\"), ("C1 OSC and ST", "\u{9D}8;;x\u{9C}"), ("ST by entity", "&#x9c;"),
        ("DCS, APC", "\u{90}q\u{9F}G"), ("backspace", "\u{8}\u{8}"), ("DEL", "\u{7F}"), ("return", "a&#13;b"),
        ("override", "\u{202E}gpj.exe"), ("override by entity", "&#x202e;x"), ("isolate", "\u{2066}x\u{2069}"),
        ("marks", "\u{200E}\u{200F}\u{61C}"), ("line separator", "a\u{2028}b"), ("NEL", "a\u{85}b"),
        ("named entities", "&Tab;&NewLine;x"), ("form feed", "a&#12;b"), ("vertical tab", "a&#11;b"),
    ]

    /// Where it may stand.
    static let places: [(what: String, wrap: @Sendable (String) -> String)] = [
        ("text", { "a \($0) b" }), ("heading", { "# a \($0) b" }), ("emphasis", { "*a\($0)b*" }),
        ("code span", { "`a\($0)b`" }), ("fenced code", { "```\na\($0)b\n```" }), ("indented code", { "    a\($0)b" }),
        ("info of code", { "```a\($0)b c\($0)d\nx\n```" }), ("destination", { "[a](<http://b/\($0)>)" }),
        ("bare destination", { "[a](http://b/\($0))" }), ("title", { "[a](b \"\($0)\")" }),
        ("autolink", { "<http://a/\($0)>" }),
        ("link text", { "[a\($0)b](c)" }), ("reference", { "[a]\n\n[a]: <http://b/\($0)> '\($0)'" }),
        ("description", { "![a\($0)b](c)" }), ("image source", { "![](<http://a/\($0)>)" }),
        ("image source, last part", { "![](<a/b\($0)c>)" }), ("cell", { "| a\($0)b | c |\n|---|---|\n| \($0) | d |" }),
        (
            "narrow table",
            { "| a\($0)b | c | d | e | f |\n|-|-|-|-|-|\n| long\($0)er | long words | long | long | long |" }
        ),
        ("footnote label", { "a[^x\($0)y]\n\n[^x\($0)y]: b\($0)c" }), ("item", { "- a\($0)b" }),
        ("quote", { "> a\($0)b" }),
        ("task", { "- [ ] \($0)" }), ("strikethrough", { "~~a\($0)b~~" }), ("tag", { "<b \($0)>" }),
    ]

    @Test(arguments: 0..<places.count)
    func `reach the terminal from nowhere`(_ place: Int) {
        for attack in Self.attacks {
            let document = Document(Self.places[place].wrap(attack.markdown))
            for color in TerminalRenderer.Color.allCases {
                for hyperlinks in [false, true] {
                    for width in [12, 80] {
                        let output = TerminalRenderer(width: width, color: color, hyperlinks: hyperlinks).render(
                            document)
                        check(output, "\(attack.what) in \(Self.places[place].what)")
                        #expect(color != .none || hyperlinks || !output.unicodeScalars.contains("\u{1B}"))
                    }
                }
            }
            check(PlainText(document).string, "\(attack.what) in \(Self.places[place].what), as plain text")
        }
    }

    @Test(arguments: 0..<places.count)
    func `reach it neither beside images, nor from these`(_ place: Int) {
        for attack in Self.attacks {
            let text = StyledText(Document("![a](b) " + Self.places[place].wrap(attack.markdown)))
            for images in [TerminalRenderer.ImageProtocol.kitty, .iTerm2] {
                for columnsInLine in [nil, 5] {
                    let output = TerminalRenderer(width: 40, hyperlinks: true, images: images).render(text) { _ in
                        .init(bytes: Array(attack.markdown.utf8), columns: 6, rows: 2, columnsInLine: columnsInLine)
                    }
                    check(output, "\(attack.what) in \(Self.places[place].what), with images")
                }
            }
        }
    }

    @Test func `in a style sheet do not reach it either`() {
        let style = StyleSheet.default.setting(block: [.list(.bullets): [.marker(.bullets(["\u{1B}[31m\u{202E}\n"]))]])
        check(TerminalRenderer(width: 40).render(Document("- a"), style: style), "bullet")
    }

    @Test func `in a target are percent-encoded in the hyperlink, and visible as replacements in text`() {
        let document = Document("[a](<http://b/\u{1B}\\\u{9C}\u{202E}x>)")

        let linked = TerminalRenderer(width: 80, hyperlinks: true).render(document)
        let plain = TerminalRenderer(width: 80).render(document)

        #expect(linked.hasPrefix("\u{1B}]8;id=0;http://b/%1B"))
        #expect(linked.contains("%C2%9C") && linked.contains("%E2%80%AE"))
        #expect(plain.hasPrefix("a <http://b/"))
    }

    /// The parser percent-encodes characters of a target that aren't ASCII. Other code that makes targets may not.
    @Test(arguments: ["a\u{1B}]0;t\u{7}b", "\u{9B}31m", "a\u{202E}b", "a\nb\u{85}"])
    func `are none in targets that no parser has seen`(target: String) {
        check(LinkTarget.visible(target).replacing("\n", with: "\u{7}"), "a visible target")
        #expect(LinkTarget.encoded(target).utf8.allSatisfy { (0x21..<0x7F).contains($0) })
    }

    /// Nothing is left of the output but our own sequences, line feeds and harmless text.
    private func check(_ output: String, _ what: String) {
        for scalar in shown(output).unicodeScalars where scalar != "\n" {
            let category = scalar.properties.generalCategory
            #expect(
                category != .control && category != .lineSeparator && category != .paragraphSeparator
                    && !scalar.properties.isBidiControl,
                "U+\(String(scalar.value, radix: 16)) from \(what): \(visible(output))")
        }
        for part in output.split(separator: "\u{1B}]8;").dropFirst() {
            let sequence = part.unicodeScalars.prefix { $0 != "\u{1B}" }
            #expect(sequence.allSatisfy { (0x21..<0x7F).contains($0.value) }, "\(what): \(visible(output))")
        }
    }
}
