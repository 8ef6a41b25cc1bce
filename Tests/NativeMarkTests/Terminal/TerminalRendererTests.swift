import TestSupport
import Testing

@testable import NativeMark

@Suite struct `Snapshots of a terminal` {
    static let markdown = """
        # Größe, 文章 and 👩‍👩‍👧

        A *paragraph* with **strong** words, `code`, ~~struck~~ text and a [link](https://example.com/path), long
        enough to wrap. 日本語の文章は、単語の間に空白がない。「引用」も折り返す。 Cafe\u{301} nai\u{308}ve 👨‍👩‍👧‍👦 🇯🇵 ❤\u{FE0F}

        > A quote with a list:
        >
        > 1. first item, which goes on for more than one line of a narrow terminal
        > 2. second
        >    - [x] done
        >    - [ ] open

        ```swift
        let message = "a line of code that is rather long, and is cut where the terminal ends, at eighty columns"
        \tindented
        ```

        | Name | 大きさ | Note |
        |:-----|:------:|-----:|
        | Café | 十二 | a longer note that has to wrap somewhere |
        | 👍🏽 | 3 | *short* |

        - a

        - b[^1]

          ![a drawing](drawings/one.png)

        ---

        Last line.

        [^1]: A footnote.
        """

    @Test(arguments: [20, 40, 80, 120])
    func `the output is unchanged at each width`(_ width: Int) throws {
        let output = TerminalRenderer(width: width).render(Document(Self.markdown))

        let expected = try #require(Self.snapshots[width])
        #expect(output == expected)
        #expect(output.split(separator: "\n").allSatisfy { TerminalText.width(of: $0) <= width })
    }
}

extension `Snapshots of a terminal` {
    /// Output that a person has checked: widths, hanging indents, bars, columns of the table.
    static let snapshots: [Int: String] = [
        20: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with
        strong words, code,
        ~~struck~~ text and
        a link
        <https://example.com
        /path>, long enough
        to wrap. 日本語の文
        章は、単語の間に空白
        がない。「引用」も折
        り返す。 Café naïve
        👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a
        │ list:
        │
        │ 1. first item,
        │    which goes on
        │    for more than
        │    one line of a
        │    narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a …
             indented

        Name: Café
        大きさ: 十二
        Note: a longer note
        that has to wrap
        somewhere
        ──────────
        Name: 👍🏽
        大きさ: 3
        Note: short

        • a

        • b¹

          a drawing
          <drawings/one.png>

        ────────────────────

        Last line.

        ────────────────────
        1. A footnote.
        """,
        40: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with strong words, code,
        ~~struck~~ text and a link
        <https://example.com/path>, long enough
        to wrap. 日本語の文章は、単語の間に空白
        がない。「引用」も折り返す。 Café naïve
        👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a list:
        │
        │ 1. first item, which goes on for more
        │    than one line of a narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a line of code that is…
             indented

        ┌──────┬────────┬──────────────────────┐
        │ Name │ 大きさ │                 Note │
        ├──────┼────────┼──────────────────────┤
        │ Café │  十二  │   a longer note that │
        │      │        │          has to wrap │
        │      │        │            somewhere │
        │ 👍🏽   │   3    │                short │
        └──────┴────────┴──────────────────────┘

        • a

        • b¹

          a drawing <drawings/one.png>

        ────────────────────────────────────────

        Last line.

        ────────────────────────────────────────
        1. A footnote.
        """,
        80: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with strong words, code, ~~struck~~ text and a link
        <https://example.com/path>, long enough to wrap. 日本語の文章は、単語の間に空白
        がない。「引用」も折り返す。 Café naïve 👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a list:
        │
        │ 1. first item, which goes on for more than one line of a narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a line of code that is rather long, and is cut where the termi…
             indented

        ┌──────┬────────┬──────────────────────────────────────────┐
        │ Name │ 大きさ │                                     Note │
        ├──────┼────────┼──────────────────────────────────────────┤
        │ Café │  十二  │ a longer note that has to wrap somewhere │
        │ 👍🏽   │   3    │                                    short │
        └──────┴────────┴──────────────────────────────────────────┘

        • a

        • b¹

          a drawing <drawings/one.png>

        ────────────────────────────────────────────────────────────────────────────────

        Last line.

        ────────────────────────────────────────────────────────────────────────────────
        1. A footnote.
        """,
        120: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with strong words, code, ~~struck~~ text and a link <https://example.com/path>, long enough to wrap. 日本語
        の文章は、単語の間に空白がない。「引用」も折り返す。 Café naïve 👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a list:
        │
        │ 1. first item, which goes on for more than one line of a narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a line of code that is rather long, and is cut where the terminal ends, at eighty columns"
             indented

        ┌──────┬────────┬──────────────────────────────────────────┐
        │ Name │ 大きさ │                                     Note │
        ├──────┼────────┼──────────────────────────────────────────┤
        │ Café │  十二  │ a longer note that has to wrap somewhere │
        │ 👍🏽   │   3    │                                    short │
        └──────┴────────┴──────────────────────────────────────────┘

        • a

        • b¹

          a drawing <drawings/one.png>

        ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

        Last line.

        ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
        1. A footnote.
        """,
    ]
}

@Suite struct `Any document in a terminal` {
    /// A sheet with space, lines and colors everywhere.
    private let greedy: StyleSheet = {
        var sheet = StyleSheet.default
        let block: [StyleSheet.BlockStyle] = [
            .border(.init()), .padding(.all(.em(1))), .leadingIndent(.em(2)), .trailingIndent(.em(1)),
            .firstLineIndent(.em(3)), .background(.codeBackground), .alignment(.center), .lineSpacing(.em(1)),
            .spacingBefore(.points(.infinity)), .kerning(.em(0.5)),
        ]
        for selector in StyleSheet.BlockSelector.allCases { sheet = sheet.setting(block: [selector: block]) }
        return sheet
    }()

    @Test func `no line is wider than the terminal`() {
        var random = SeededRandom(seed: 11)
        for round in 0..<1_200 {
            let markdown = String.markdown(using: &random)
            let document = Document(markdown)
            let width = [1, 2, 3, 5, 10, 20, 33, 40, 80, 120][round % 10]
            let style = round % 3 == 0 ? greedy : .default
            for (color, hyperlinks) in [(TerminalRenderer.Color.none, false), (.full, true)] {
                var renderer = TerminalRenderer(width: width, color: color, hyperlinks: hyperlinks)
                renderer.longCode = round % 2 == 0 ? .cut : .wrap
                let output = shown(renderer.render(document, style: style))
                for line in output.split(separator: "\n") where TerminalText.width(of: line) > width {
                    Issue.record(
                        "\(TerminalText.width(of: line)) columns of \(width): \(line)\n\(markdown.debugDescription)")
                    return
                }
            }
        }
    }

    @Test func `the text is the same with and without colors, and in light and dark`() {
        var random = SeededRandom(seed: 12)
        for _ in 0..<300 {
            // Without text attributes, struck text is marked.
            let document = Document(String.markdown(using: &random).replacing("~~", with: ""))
            let plain = TerminalRenderer(width: 30).render(document)
            for color in [TerminalRenderer.Color.ansi16, .ansi256, .full] {
                let output = TerminalRenderer(width: 30, color: color).render(
                    document, environment: .init(appearance: .dark))
                let lines = shown(output).split(separator: "\n", omittingEmptySubsequences: false)
                #expect(
                    lines.map { $0.trimmingSpaces }
                        == plain.split(separator: "\n", omittingEmptySubsequences: false).map(\.trimmingSpaces))
            }
        }
    }

    @Test func `all letters stay in the same order`() {
        var random = SeededRandom(seed: 13)
        func letters(_ text: some StringProtocol) -> [Unicode.Scalar] {
            text.unicodeScalars.filter { ("a"..."z").contains($0) || ("\u{3000}"..."\u{D7A3}").contains($0) }
        }
        var compared = 0
        for _ in 0..<300 {
            let markdown = String.markdown(using: &random).replacing("|", with: " ").replacing("[^1]", with: "")
                .replacing("p.png", with: "http://1")
            let text = StyledText(Document(markdown))
            guard text.images.isEmpty else { continue }
            compared += 1
            var renderer = TerminalRenderer(width: 24, hyperlinks: true)
            renderer.longCode = .wrap
            #expect(letters(shown(renderer.render(text))) == letters(TerminalText.sanitized(text.string)))
        }
        #expect(compared > 100)
    }

    @Test func `runs cover the text in order, and blocks nest`() {
        var random = SeededRandom(seed: 14)
        for _ in 0..<600 {
            let text = StyledText(Document(.markdown(using: &random)))
            var place = 0
            for run in text.runs {
                #expect(run.range.lowerBound >= place && !run.range.isEmpty)
                #expect(
                    run.range.lowerBound - place <= 1
                        || text.string.utf8.dropFirst(place).prefix(run.range.lowerBound - place).allSatisfy {
                            $0 == 0x0A || $0 == 0x09
                        })
                place = run.range.upperBound
                let block = text.blocks[run.block].range
                #expect(block.lowerBound <= run.range.lowerBound && run.range.upperBound <= block.upperBound)
            }
            for (index, block) in text.blocks.enumerated() {
                #expect(block.end > index && block.end <= text.blocks.count)
                guard let parent = block.parent.map({ text.blocks[$0] }) else { continue }
                #expect(parent.end >= block.end && parent.range.lowerBound <= block.range.lowerBound)
                #expect(parent.range.upperBound >= block.range.upperBound)
            }
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

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

    /// The places where it may occur.
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
    func `no control sequence reaches the terminal from any place in a document`(_ place: Int) {
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
    func `no control sequence reaches the terminal next to images or from within them`(_ place: Int) {
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

    @Test func `no control sequence reaches the terminal from a style sheet`() {
        let style = StyleSheet.default.setting(block: [.list(.bullets): [.marker(.bullets(["\u{1B}[31m\u{202E}\n"]))]])
        check(TerminalRenderer(width: 40).render(Document("- a"), style: style), "bullet")
    }

    @Test func `controls in a target are percent-encoded in the hyperlink, and visible as replacements in text`() {
        let document = Document("[a](<http://b/\u{1B}\\\u{9C}\u{202E}x>)")

        let linked = TerminalRenderer(width: 80, hyperlinks: true).render(document)
        let plain = TerminalRenderer(width: 80).render(document)

        #expect(linked.hasPrefix("\u{1B}]8;id=0;http://b/%1B"))
        #expect(linked.contains("%C2%9C") && linked.contains("%E2%80%AE"))
        #expect(plain.hasPrefix("a <http://b/"))
    }

    /// The parser percent-encodes characters of a target that aren't ASCII. Other code that makes targets may not.
    @Test(arguments: ["a\u{1B}]0;t\u{7}b", "\u{9B}31m", "a\u{202E}b", "a\nb\u{85}"])
    func `a target that no parser has seen has no controls`(target: String) {
        check(TerminalText.sanitized(target).replacing("\n", with: "\u{7}"), "a visible target")
        #expect(LinkTarget.encoded(target).utf8.allSatisfy { (0x21..<0x7F).contains($0) })
    }

    /// Expects that the output has only our own sequences, line feeds and harmless text.
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
