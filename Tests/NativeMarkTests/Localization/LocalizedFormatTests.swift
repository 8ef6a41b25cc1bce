@testable import NativeMark
import TestSupport
import Testing

/// A document of a format and arguments.
private func document(_ format: String, _ arguments: String...) -> Document {
    Document(format: format, arguments: arguments, options: .init())
}

@Suite struct `Places for arguments` {
    @Test(arguments: [
        ("%@", "A"), ("a %@ b %@ c", "a A b B c"), ("%2$@ %1$@", "B A"), ("%2$@ %@", "B A"), ("%lld %ld %d", "A B %d"),
        ("100 % sure, %@", "100 % sure, A"), ("100%", "100%"), ("100%%", "100%"), ("%%@", "%@"), ("%3$@", "%3$@"),
        ("%0$@", "%0$@"), ("%99999999999999999999$@", "%99999999999999999999$@"), ("%.2f %+5d", "A B"), ("%", "%"),
        ("%1$", "%1$"), ("%é", "%é"), ("%lu%llu%hhx", "AB%hhx"), ("%#@count@", "%#@count@"), ("%n", "%n"),
    ])
    func `placeholders have the forms of string catalogs`(_ format: String, _ text: String) {
        #expect(document(format, "A", "B").root.plainText == text)
    }

    @Test func `without arguments, nothing is replaced`() {
        #expect(document("100%% %@").root.plainText == "100%% %@")
    }
}

@Suite struct `Arguments of a localized document` {
    private func kinds(_ document: Document) -> [Document.Kind] { document.nodes { _ in true }.map(\.kind) }

    @Test(arguments: [
        "*x*", "[a](b)", "`x`", "<http://a.b>", "# x", "- x", "a|b", "&amp;", "http://a.b", "  x  ", "x\n\ny", "\\",
    ])
    func `an argument is shown as text, even if it contains markup`(_ name: String) {
        for (format, text) in [
            ("%@", name), ("Hi **%@**!", "Hi \(name)!"), ("# %@", name), ("- %@", name), ("|%@|\n|-|", name),
        ] {
            let plain = document(format, "Ada")
            let filled = document(format, name)
            #expect(filled.root.plainText.replacing("\u{2060}", with: "") == text, "\(format)")
            #expect(kinds(filled).count == kinds(plain).count, "\(format) \(filled.source)")
        }
    }

    @Test(arguments: ["*x*", "(x)", "„x“", " x", ""])
    func `an argument keeps emphasis next to letters`(_ name: String) {
        #expect(
            kinds(document("は**%@**さ", name)).contains(.strong), "\(document("は**%@**さ", name).source.debugDescription)"
        )
    }

    @Test(arguments: [
        ("x", "x"), ("a`b", "a`b"), ("``", "``"), ("`", "`"), (" ", " "), (" a ", " a "), ("\\", "\\"), ("a\nb", "a b"),
        ("*x*", "*x*"), ("a|b", "a|b"), ("\\|", "\\|"), ("&amp;", "&amp;"),
    ])
    func `an argument in a code span is code and doesn't end the span`(_ argument: String, _ code: String) {
        #expect(kinds(document("`%@`", argument)).contains(.code(code)))
        #expect(kinds(document("a ``x `%@`` *b*", argument)).contains(.code("x `" + code)))
        #expect(
            kinds(document("|`%@`|%@|\n|-|-|", argument, "*y*")).contains(.code(code)),
            "\(document("|`%@`|%@|\n|-|-|", argument, "*y*").source)")
    }

    @Test(arguments: ["```", "~~~", "x\n```\n# y", "*x*", "````"])
    func `an argument in a code block doesn't end the block`(_ argument: String) {
        for format in ["```\n%@\n```\nz", "~~~swift\na %@\n~~~\nz", "> ```\n> %@\n> ```\n\nz", "    %@\n\nz"] {
            let filled = document(format, argument)
            let shown = argument.replacing("\n", with: " ")
            let code = filled.nodes { if case .codeBlock = $0.kind { true } else { false } }
            #expect(
                code.count == 1 && code[0].plainText.replacing("\u{2060}", with: "").contains(shown), "\(filled.source)"
            )
            #expect(
                filled.root.lastChild?.kind == .paragraph && filled.root.lastChild?.plainText == "z", "\(filled.source)"
            )
        }
    }

    @Test(arguments: [
        ("[x](https://e.com/%@)", "a b", "https://e.com/a%20b"),
        ("[x](https://e.com/%@?q=1)", "../é?#&amp;)", "https://e.com/..%2F%C3%A9%3F%23%26amp%3B%29?q=1"),
        ("[x](https://e.com/?q=%@&r=%@)", "1&r=2", "https://e.com/?q=1%26r%3D2&r=y"),
        ("[x](<https://e.com/%@>)", "a>b", "https://e.com/a%3Eb"),
        ("<https://e.com/%@>", "a>*b*", "https://e.com/a%3E%2Ab%2A"),
        ("https://e.com/%@ z", "a b", "https://e.com/a%20b"),
        ("[x]\n\n[x]: https://e.com/%@ \"t\"", "a b", "https://e.com/a%20b"),
        ("[x](%@)", "https://e.com/a(b)?c=d&amp;e#f", "https://e.com/a%28b%29?c=d&amp;e#f"),
        ("[x](%@)", "https://e.com/a b\n", "https://e.com/a%20b%0A"),
        ("![x](%@)", "a%20b.png", "a%20b.png"),
    ])
    func `an argument in an address adds only itself`(_ format: String, _ argument: String, _ address: String) {
        let destinations = kinds(document(format, argument, "y")).compactMap { kind -> String? in
            switch kind {
            case .link(let destination, _): destination
            case .image(let source, _): source
            default: nil
            }
        }
        #expect(destinations == [address])
    }

    @Test(arguments: ["javascript:alert(1)", "JAVASCRIPT:x", "vbscript:x", "file:///etc/passwd", "data:text/html,x"])
    func `no argument makes a link that runs something`(_ argument: String) {
        for format in ["[x](%@)", "[x](%@:y)", "<%@>", "%@", "[x]\n\n[x]: %@"] {
            for kind in kinds(document(format, argument)) {
                guard case .link(let destination, _) = kind else { continue }
                #expect(LinkDestination.isHarmless(destination), "\(destination)")
            }
        }
    }

    @Test func `an argument in a title or in an info string is text`() {
        let title = document("[x](/u \"a %@ b\")", "\" onclick=\"*y*")
        #expect(kinds(title).contains(.link(destination: "/u", title: "a \" onclick=\"*y* b")))
        let info = document("```%@ z\nx\n```", "a`b")
        #expect(kinds(info).contains(.codeBlock(info: "a`b z", isFenced: true)))
    }

    /// For any format and arguments, the tree is the format's.
    @Test func `arguments change only text`() {
        var random = SeededRandom(seed: 26)
        let pieces = [
            "a ", "は", "**%@**", "*%@*", "~~%@~~", "`%@`", "`` %@ ` x``", "[%@](/u)", "[x](/u/%@ \"%@\")", "![%@](%@)",
            "<https://a.b/%@>",
            "https://a.b/%@ ", "%@", " %2$@ ", "\n", "\n\n", "\n> ", "\n- ", "\n1. ", "\n# ", "\n```%@\n%@\n```\n",
            "\n\n    %@\n",
            "\n|a|%@|\n|-|-|\n|`%@`|%@|\n\n", "[^%@]", "\\", "%% ", "%", "_", "[", "](", "`", "<", "&",
        ]
        for _ in 0..<3_000 {
            let format = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }.joined()
            let arguments = (0..<3).map { _ in String.hostileText(using: &random) }
            let plain = Document(format: format, arguments: ["x", "y", "z"], options: .init())
            let filled = Document(format: format, arguments: arguments, options: .init())
            let shape = filled.nodes { if case .text = $0.kind { false } else { true } }.map(\.kind.name)
            let wanted = plain.nodes { if case .text = $0.kind { false } else { true } }.map(\.kind.name)
            #expect(shape == wanted, "\(format.debugDescription) \(arguments) \(filled.source.debugDescription)")
        }
    }
}

extension Document.Kind {
    /// The kind without its values.
    fileprivate var name: String {
        String("\(self)".prefix { $0 != "(" })
    }
}

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
    @Test func `escaped text is shown unchanged wherever text may occur`() throws {
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

    @Test func `only what could be markup is escaped`() {
        #expect(Document.escaped("") == "")
        #expect(Document.escaped("Ada Lovelace") == "Ada Lovelace")
        #expect(Document.escaped("*x*") == "\\*x\\*")
        #expect(Document.escaped(" a  b ") == "&#32;a&#32;&#32;b&#32;")
        #expect(Document.escaped("a\n# b") == "a&#10;\\# b")
        #expect(Document.escaped("\u{FEFF}a") == "&#65279;a")
    }
}
