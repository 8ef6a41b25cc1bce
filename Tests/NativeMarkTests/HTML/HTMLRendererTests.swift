import TestSupport
import Testing

@testable import NativeMark

/// Reads CSS as a browser does, without the grammar of values: comments, strings with their escapes, and nested braces.
struct CSSReader {
    /// The CSS with each string replaced by `""`.
    var withoutStrings = ""
    /// The strings, with their escapes resolved.
    var strings: [String] = []
    /// Whether all strings and braces are closed, and no line ends within a string.
    var isComplete = true

    init(_ css: String) {
        var depth = 0
        var scalars = Array(css.unicodeScalars)[...]
        while let scalar = scalars.popFirst() {
            guard scalar == "\"" else {
                withoutStrings.unicodeScalars.append(scalar)
                depth += scalar == "{" ? 1 : scalar == "}" ? -1 : 0
                if depth < 0 { isComplete = false }
                continue
            }
            withoutStrings += "\"\""
            var string = ""
            while true {
                guard let next = scalars.popFirst(), next != "\n" else {
                    isComplete = false
                    break
                }
                if next == "\"" { break }
                guard next == "\\" else {
                    string.unicodeScalars.append(next)
                    continue
                }
                var digits = ""
                while digits.utf8.count < 6, let digit = scalars.first, digit.properties.isASCIIHexDigit {
                    digits.unicodeScalars.append(digit)
                    scalars.removeFirst()
                }
                if scalars.first == " " { scalars.removeFirst() }
                string.unicodeScalars.append(UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) ?? "\u{FFFD}")
            }
            strings.append(string)
        }
        if depth != 0 { isComplete = false }
    }

    /// Returns the declarations of each rule with this selector, in order.
    func declarations(_ selector: String) -> [String] {
        withoutStrings.split(separator: "\n").compactMap { line in
            line.hasPrefix("\(selector) { ") ? String(line.dropFirst(selector.count + 3).dropLast(2)) : nil
        }
    }
}

/// The style element of a fragment, read as by a browser: it ends at the first `</style`.
func css(of sheet: StyleSheet) throws -> CSSReader {
    let html = HTMLRenderer(style: sheet).render(Document("a"))
    let start = try #require(html.hasPrefix("<style>\n") ? html.index(html.startIndex, offsetBy: 8) : nil)
    let end = try #require(html.lowercased().firstRange(of: "</style")?.lowerBound)
    #expect(html[end...] == "</style>\n<div class=\"nativemark\">\n<p>a</p>\n</div>\n")
    return CSSReader(String(html[start..<end]))
}

@Suite struct `Style sheets in HTML` {
    struct Row: Sendable, CustomTestStringConvertible {
        var style: StyleSheet.BlockStyle
        var css: String

        init(_ style: StyleSheet.BlockStyle, _ css: String) {
            self.style = style
            self.css = css
        }

        var testDescription: String { "\(style)" }
    }

    @Test(arguments: [
        Row(.textStyle(.largeTitle), "font-size: 2rem;"), Row(.textStyle(.body), "font-size: 1rem;"),
        Row(.fontSize(.em(1.25)), "font-size: 1.25em;"), Row(.fontSize(.points(8.5)), "font-size: 0.5rem;"),
        Row(.fontDesign(.monospaced), "font-family: ui-monospace, Menlo, Consolas, monospace;"),
        Row(.fontDesign(.serif), "font-family: ui-serif, Georgia, serif;"),
        Row(.fontFamily("Avenir Next"), "font-family: \"\", system-ui, sans-serif;"),
        Row(.fontWeight(.semibold), "font-weight: 600;"), Row(.fontWidth(.condensed), "font-stretch: 75%;"),
        Row(.bold(true), "font-weight: bolder;"), Row(.bold(false), "font-weight: normal;"),
        Row(.italic(true), "font-style: italic;"), Row(.italic(false), "font-style: normal;"),
        Row(.underline(true), "text-decoration-line: underline;"),
        Row(.strikethrough(false), "text-decoration-line: none;"),
        Row(
            .underline(.init(.wavy, color: .accent)),
            "text-decoration-line: underline; text-decoration-style: wavy; text-decoration-color: var(--nm-accent);"),
        Row(
            .strikethrough(.init(.thick)), "text-decoration-line: line-through; text-decoration-thickness: 0.125em;"),
        Row(.kerning(.em(-0.05)), "letter-spacing: -0.05em;"), Row(.baseline(.points(2)), "vertical-align: 2px;"),
        Row(.color(.accent), "color: var(--nm-accent);"),
        Row(.inlineBackground(.rgb(1)), "background-color: var(--nm-0);"),
        Row(.background(.code), "background-color: var(--nm-code);"),
        Row(.alignment(.trailing), "text-align: end;"), Row(.alignment(.justified), "text-align: justify;"),
        Row(.firstLineIndent(.em(-2)), "text-indent: -2em;"),
        Row(.leadingIndent(.em(2)), "margin-inline-start: 2em;"),
        Row(.trailingIndent(.points(3)), "margin-inline-end: 3px;"),
        Row(.spacingBefore(.em(0.5)), "margin-block-start: 0.5em;"),
        Row(.spacingAfter(.points(-4)), "margin-block-end: 0px;"),
        Row(.lineSpacing(.points(2)), "line-height: calc(1.2em + 2px);"), Row(.lineHeight(1.5), "line-height: 1.5;"),
        Row(.hyphenation(true), "hyphens: auto;"), Row(.hyphenation(false), "hyphens: manual;"),
        Row(
            .border(.init(edges: [.bottom, .leading], width: .points(2))),
            "border-inline-start: 2px solid var(--nm-border); border-block-end: 2px solid var(--nm-border);"),
        Row(
            .border(.init(edges: [.top], pattern: .dashed, cornerRadius: .em(0.5))),
            "border-block-start: 1px dashed var(--nm-border); border-radius: 0.5em;"),
        Row(.border(.init(edges: [], cornerRadius: .points(6))), "border-radius: 6px;"),
        Row(.padding(.init(top: .em(1), trailing: .em(2))), "padding-block-start: 1em; padding-inline-end: 2em;"),
        Row(.fontSize(.em(.nan)), "font-size: 0em;"), Row(.kerning(.em(1e300)), "letter-spacing: 10000em;"),
        Row(.kerning(.em(1e-300)), "letter-spacing: 0em;"),
    ])
    func `each style becomes one declaration`(_ row: Row) throws {
        for (selector, element) in [
            (StyleSheet.BlockSelector.paragraph, ".nativemark p"), (.heading(level: 2), ".nativemark h2"),
        ] {
            let css = try css(of: StyleSheet().setting(block: [selector: [row.style]]))
            #expect(css.declarations(element) == [row.css])
        }
    }

    @Test(arguments: [
        (StyleSheet.Divider.rule(), ["border-block-start: 1px solid;"]),
        (
            .rule(thickness: .em(0.25), color: .accent, width: .fraction(0.5), pattern: .dashed),
            ["border-block-start: 0.25em dashed var(--nm-accent); inline-size: 50%; margin-inline: auto;"]
        ),
        (
            .rule(thickness: .points(-1), width: .length(.points(9)), alignment: .trailing),
            ["border-block-start: 0px solid; inline-size: 9px; margin-inline-start: auto;"]
        ),
        (
            .rule(width: .fraction(.nan), alignment: .leading),
            [
                "border-block-start: 1px solid; inline-size: 100%; margin-inline-end: auto;"
            ]
        ),
        (.ornament("* *", alignment: .trailing), ["border: 0; block-size: auto; text-align: end;"]),
    ])
    func `a divider styles the thematic break`(_ divider: StyleSheet.Divider, _ declarations: [String]) throws {
        let css = try css(
            of: StyleSheet().setting(block: [.thematicBreak: [.divider(divider)], .paragraph: [.divider(divider)]]))
        #expect(css.declarations(".nativemark hr") == declarations && css.declarations(".nativemark p").isEmpty)
        if case .ornament(let text, _) = divider {
            #expect(css.declarations(".nativemark hr::before") == ["content: \"\"; white-space: pre-wrap;"])
            #expect(css.strings == [text])
        }
    }

    @Test(arguments: [
        (
            [StyleSheet.BlockStyle.border(.init(edges: [.top]))],
            [
                "table { border-block-start: 1px solid var(--nm-border); }",
                "thead { border-block-end: 1px solid var(--nm-border); }",
                ":is(th, td) + :is(th, td) { border-inline-start: 1px solid var(--nm-border); }",
            ]
        ),
        (
            [.tableLines(.init(width: .points(2), color: .accent, pattern: .dotted))],
            [
                "table { border: 2px dotted var(--nm-accent); }",
                "thead { border-block-end: 2px dotted var(--nm-accent); }",
                "tbody tr + tr { border-block-start: 2px dotted var(--nm-accent); }",
                ":is(th, td) + :is(th, td) { border-inline-start: 2px dotted var(--nm-accent); }",
            ]
        ),
        (
            [.tableLines(.init([.outer, .header])), .border(.init(edges: [.top]))],
            [
                "table { border-block-start: 1px solid var(--nm-border); }",
                "thead { border-block-end: 1px solid var(--nm-border); }",
            ]
        ),
        (
            [.tableLines(.init([])), .alternateRowBackground(.code)],
            [
                "table tbody tr:nth-child(even) { background-color: var(--nm-code); }"
            ]
        ),
        ([.alternateRowBackground(.code)], ["tbody tr:nth-child(even) { background-color: var(--nm-code); }"]),
    ])
    func `the lines and rows of a table have rules`(_ styles: [StyleSheet.BlockStyle], _ rules: [String]) throws {
        let css = try css(of: StyleSheet().setting(block: [.table: styles, .paragraph: [.tableLines(.init())]]))
        let lines = css.withoutStrings.split(separator: "\n").filter { $0.contains("var(") }
        #expect(lines.map { $0.dropFirst(12) } == rules.map { $0.replacing("table tbody", with: "tbody")[...] })
    }

    @Test(arguments: [
        (StyleSheet.ImageLayout(), "width: auto; max-width: 100%; max-height: none; border-radius: 0px;"),
        (
            .init(.fitWidth, cornerRadius: .em(0.5)),
            "width: 100%; height: auto; max-height: none; border-radius: 0.5em;"
        ),
        (
            .init(.maximum(width: .points(300), height: .em(20))),
            "width: auto; height: auto; max-width: min(100%, 300px); max-height: 20em; border-radius: 0px;"
        ),
        (.init(.maximum()), "width: auto; height: auto; max-width: 100%; max-height: none; border-radius: 0px;"),
    ])
    func `the layout of images has a rule for images`(_ layout: StyleSheet.ImageLayout, _ expected: String) throws {
        let block = try css(of: StyleSheet().setting(block: [.paragraph: [.imageLayout(layout)]]))
        #expect(block.declarations(".nativemark p img") == [expected] && block.declarations(".nativemark p").isEmpty)
        let inline = try css(of: StyleSheet().setting(inline: [.image: [.imageLayout(layout)]]))
        #expect(inline.declarations(".nativemark img:not(.nm.nm.nm)") == [expected])
    }

    @Test func `an image that is alone in its paragraph is aligned`() throws {
        let sheet = StyleSheet().setting(inline: [.image: [.imageLayout(.init(alignment: .center))]])
        let declarations = try css(of: sheet).declarations(".nativemark img:not(.nm.nm.nm).nm-alone")
        #expect(declarations == ["display: block; margin-inline: auto;"])
        let document = Document("![a](b)\n\n[![c](d)](e)\n\nf ![g](h) ![i](j)")
        let html = HTMLRenderer(style: sheet).render(document)
        #expect(html.contains("<p><img class=\"nm-alone\" src=\"b\" alt=\"a\" /></p>"))
        #expect(html.contains("<a href=\"e\"><img class=\"nm-alone\" src=\"d\" alt=\"c\" /></a>"))
        #expect(html.contains("f <img src=\"h\" alt=\"g\" /> <img src=\"j\""))
        #expect(!HTMLRenderer(style: .default).render(document).contains("nm-alone"))
    }

    @Test func `the styles of one rule are combined`() throws {
        let sheet = StyleSheet().setting(
            block: [.paragraph: [.lineHeight(2), .lineSpacing(.points(3)), .italic(true)]],
        ).setting(inline: [.link: [.underline(true), .strikethrough(true), .fontFamily("A"), .fontDesign(.serif)]])
        let css = try css(of: sheet)
        #expect(css.declarations(".nativemark p") == ["font-style: italic; line-height: calc(2em + 3px);"])
        #expect(
            css.declarations(".nativemark a:not(.footnote-ref > a)") == [
                "font-family: ui-serif, Georgia, serif; font-family: \"\", ui-serif, Georgia, serif; "
                    + "text-decoration-line: underline line-through;"
            ])
    }

    @Test func `the box behind inline code has padding, round corners and a border`() throws {
        let box = StyleSheet.InlineBackground(
            .accent, padding: .init(leading: .em(0.4)), cornerRadius: .points(6),
            border: .init(edges: [.bottom], width: .points(2), color: .link))
        let sheet = StyleSheet().setting(block: [.paragraph: [.inlineBackground(box)]])
            .setting(inline: [.code: [.inlineBackground(box)]])
        let css = try css(of: sheet)
        #expect(
            css.declarations(".nativemark :not(pre) > code") == [
                "background-color: var(--nm-accent); padding-inline-start: 0.4em; border-radius: 6px; "
                    + "border-block-end: 2px solid var(--nm-link);"
            ])
        #expect(css.declarations(".nativemark p") == ["background-color: var(--nm-accent);"])
    }

    @Test func `every selector has rules`() throws {
        var sheet = StyleSheet()
        for selector in StyleSheet.BlockSelector.allCases { sheet = sheet.setting(block: [selector: [.italic(true)]]) }
        for selector in StyleSheet.InlineSelector.allCases {
            sheet = sheet.setting(inline: [selector: [.italic(true)]])
        }
        let lines = try css(of: sheet).withoutStrings.split(separator: "\n").filter {
            $0.hasSuffix("{ font-style: italic; }")
        }
        #expect(Set(lines).count == StyleSheet.BlockSelector.allCases.count + StyleSheet.InlineSelector.allCases.count)
    }

    @Test func `the browser chooses between light, dark and increased contrast`() throws {
        let sheet = StyleSheet()
            .setting(colors: [
                .accent: .init(
                    light: .rgb(0x0A0B0C), dark: .rgb(0x1A1B1C, alpha: 0.5), lightIncreasedContrast: .ansi(.red),
                    darkIncreasedContrast: .displayP3(red: 1, green: 0.5, blue: 0)),
                .link: .init(light: .named("Brand", fallback: .rgb(1)), dark: .rgb(2), lightIncreasedContrast: .rgb(3)),
                .code: .init(.standard),
            ])
            .setting(inline: [
                .strong: [.color(.accent)], .link: [.color(.link)],
                .code: [.color(.code), .inlineBackground(.code)],
            ])
        let lines = try css(of: sheet).withoutStrings.split(separator: "\n").filter { $0.contains("--nm-accent:") }
        #expect(
            lines == [
                ".nativemark { --nm-accent: #0A0B0C; --nm-code: CanvasText; --nm-code-behind: transparent; "
                    + "--nm-link: #000001; }",
                "@media (prefers-color-scheme: dark) { .nativemark { --nm-accent: #1A1B1C80; --nm-link: #000002; } }",
                "@media (prefers-contrast: more) { .nativemark { --nm-accent: #cd0000; --nm-link: #000003; } }",
                "@media (prefers-color-scheme: dark) and (prefers-contrast: more) { .nativemark { "
                    + "--nm-accent: color(display-p3 1.0 0.5 0.0); --nm-link: #000002; } }",
            ])
    }

    @Test func `lists have the markers for their depth`() throws {
        let sheet = StyleSheet().setting(block: [
            .list(.ordered): [.marker(.numbers([.decimal, .uppercaseRoman]))],
            .list(.bullets): [.marker(.bullets(["–"]))],
        ])
        let css = try css(of: sheet)
        let list = ":not(.footnotes > ol)"
        #expect(css.declarations(".nativemark ol\(list)") == ["list-style-type: decimal;"])
        #expect(css.declarations(".nativemark ol ol\(list)") == ["list-style-type: upper-roman;"])
        #expect(css.declarations(".nativemark ol ol ol\(list)") == ["list-style-type: decimal;"])
        #expect(css.declarations(".nativemark ul\(list)") == ["list-style-type: \"\";"])
        #expect(css.declarations(".nativemark ul ul\(list)").isEmpty)
        #expect(css.strings == ["– "])
        #expect(css.declarations(".nativemark li:not(:has(> p)) > :is(ol, ul)\(list)") == ["margin-block: 0;"])
    }

    @Test func `bullets are shapes, and task items have the boxes or texts of their state`() throws {
        let box = " > li > .task-list-item-checkbox"
        let lists = ":not(.footnotes > ol)"
        let css = try css(
            of: StyleSheet().setting(block: [
                .list(.bullets): [
                    .marker(.bullets([.disc, .circle, .square])), .taskMarker(.texts(open: "o", done: "<")),
                ],
                .list(.ordered): [.taskMarker(.checkbox(done: .accent))], .item: [.taskMarker(.checkbox(open: .link))],
            ]))
        #expect(css.declarations(".nativemark ul\(lists)") == ["list-style-type: disc;"])
        #expect(css.declarations(".nativemark ul ul\(lists)") == ["list-style-type: circle;"])
        #expect(css.declarations(".nativemark ul ul ul\(lists)") == ["list-style-type: square;"])
        #expect(css.declarations(".nativemark ul\(lists)\(box)::before") == ["content: \"\";"])
        #expect(css.declarations(".nativemark ul\(lists)\(box):checked::before") == ["content: \"\";"])
        #expect(css.strings == ["✓", "o", "<"])
        #expect(css.declarations(".nativemark ol\(lists)\(box)")[0].contains("0.08em solid currentcolor;"))
        #expect(
            css.declarations(".nativemark ol\(lists)\(box):checked") == [
                "border-color: var(--nm-accent); background-color: var(--nm-accent);"
            ])
        #expect(css.declarations(".nativemark li:not(.footnotes > ol > li)\(box)").isEmpty)
    }

    @Test func `narrower rules for lists have a condition without specificity, and markers more specificity`() throws {
        let rule: [StyleSheet.BlockStyle] = [.italic(true)]
        let css = try css(
            of: StyleSheet().setting(block: [
                .list(level: 2): rule + [.marker(.bullets(["a", "b"]))], .list(tight: true): rule,
                .list(tight: false): rule,
                .taskItem(.open): rule, .taskItem(.done): rule, .firstBlock: rule, .lastBlock: rule,
            ]))
        let list = ":is(ol:not(.footnotes > ol), ul)"
        let level = ":where(\(list) \(list):not(\(list) \(list) \(list)))"
        for selector in [
            " :is(ol, ul):not(.footnotes > ol)\(level)",
            " :is(ol, ul):not(.footnotes > ol):where(:not(:has(> li > p)))",
            " :is(ol, ul):not(.footnotes > ol):where(:has(> li > p))",
            " li:not(.footnotes > ol > li):where(.task-list-item:not(:has(> :checked)))",
            " li:not(.footnotes > ol > li):where(.task-list-item:has(> :checked))", " > :first-child:not(.nm)",
            " > :last-child:not(.nm)",
        ] { #expect(css.declarations(".nativemark" + selector) == ["font-style: italic;"], "\(selector)") }
        #expect(
            css.declarations(".nativemark ul:not(.footnotes > ol, .nm .nm .nm)\(level)") == ["list-style-type: \"\";"])
        #expect(css.strings == ["b "])
    }

    @Test func `numbers that CSS doesn't have become counter styles`() throws {
        let sheet = StyleSheet().setting(block: [
            .list(.ordered): [.marker(.numbers([.octal, .lowercaseRoman], prefix: "(", suffix: ")"))]
        ])
        let css = try css(of: sheet)
        let symbols = Array(repeating: "\"\"", count: 8).joined(separator: " ")
        #expect(
            css.declarations("@counter-style nm-octal-0")
                == ["system: numeric; symbols: \(symbols); prefix: \"\"; suffix: \"\";"])
        #expect(
            css.declarations("@counter-style nm-lower-roman-1")
                == ["system: extends lower-roman; prefix: \"\"; suffix: \"\";"])
        #expect(css.strings == (0..<8).map(String.init) + ["(", ") ", "(", ") "])
        #expect(
            css.declarations(".nativemark ol ol:not(.footnotes > ol)") == ["list-style-type: nm-lower-roman-1;"])
    }

    @Test(arguments: [
        "</style><script>alert(1)</script>", "A\"; } * { background: url(//evil.example/a)", "A\\", "A\\22 ;", "A\nB",
        "A\u{C}B", "A\rB", "A\u{0}B", "A\u{9B}B", "A<!--", "A*/ @import 'b';", "'", "日本語 \u{1F600}", "{}", "A\u{2028}B",
    ])
    func `a hostile name stays a string`(_ name: String) throws {
        let sheet = StyleSheet()
            .setting(block: [
                .list(.bullets): [.marker(.bullets([.text(name)]))], .thematicBreak: [.divider(.ornament(name))],
            ])
            .setting(inline: [
                .code: [.fontFamily(name), .color(.named(name, fallback: .init(.rgb(1))))]
            ])
        let css = try css(of: sheet)
        let shown = String(
            String.UnicodeScalarView(
                name.unicodeScalars.map { $0.value < 32 || (127..<160).contains($0.value) ? "\u{FFFD}" : $0 }))
        #expect(css.isComplete)
        let ornament = zip(name, shown).map { $0.isNewline ? " " : String($1) }.joined()
        #expect(css.strings == [shown + " ", ornament, shown])
        let plain = try NativeMarkTests.css(
            of: StyleSheet()
                .setting(block: [
                    .list(.bullets): [.marker(.bullets(["x"]))], .thematicBreak: [.divider(.ornament("x"))],
                ])
                .setting(inline: [.code: [.fontFamily("x"), .color(.named("x", fallback: .init(.rgb(1))))]]))
        #expect(css.withoutStrings == plain.withoutStrings)
    }

    @Test func `a page is complete, and its title and language are escaped`() {
        let document = Document("a *b*")
        let page = HTMLRenderer(style: .github).renderPage(document, title: "A < \"B\"", language: "en\"><script>")
        #expect(
            page.hasPrefix(
                "<!DOCTYPE html>\n<html lang=\"en&quot;&gt;&lt;script&gt;\">\n<head>\n<meta charset=\"utf-8\">\n"))
        #expect(page.contains("<title>A &lt; &quot;B&quot;</title>\n<style>\n"))
        #expect(
            page.hasSuffix("</style>\n</head>\n<body class=\"nativemark\">\n<p>a <em>b</em></p>\n</body>\n</html>\n"))
        #expect(!page.contains("<script"))

        let plain = HTMLRenderer().renderPage(document, title: "A")
        #expect(plain.contains("<html>\n") && plain.contains("<body>\n<p>a") && !plain.contains("<style>"))
    }
}

@Suite struct `The output of HTML` {
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") {
            switch $1 {
            case "&": $0 += "&amp;"
            case "<": $0 += "&lt;"
            case ">": $0 += "&gt;"
            case "\"": $0 += "&quot;"
            default: $0.unicodeScalars.append($1)
            }
        }
    }

    @Test func `each character is escaped at each position`() {
        for scalar in (0..<0x80).map({ Unicode.Scalar($0 as UInt8) }) + ["é", "語", "😀"] {
            for place in 0..<17 {
                let text =
                    "\(String(repeating: "x", count: place))\(scalar)\(String(repeating: "y", count: 16 - place))"
                #expect(HTMLWriter.escaped(text) == Self.escaped(text))
            }
        }
    }

    @Test func `text that is appended in pieces is escaped, and the output grows`() {
        var random = SeededRandom(seed: 22)
        let pieces = [
            "&", "<", ">", "\"", "\"&<>\"&<>", "a", "word ", "a longer piece", "é", "語語語", "😀", "", "'", "#", ":", ";",
        ]
        for _ in 0..<2_000 {
            var output = HTMLOutput(capacity: Int.random(in: 0...20, using: &random))
            var expected = ""
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                let text = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                    pieces.randomElement(using: &random) ?? ""
                }.joined()
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    output.append("</em>")
                    expected += "</em>"
                case 1:
                    output.append(UInt8(ascii: "\n"))
                    expected += "\n"
                case 2:
                    output.append(text: text)
                    expected += text
                default:
                    output.appendEscaped(text)
                    expected += Self.escaped(text)
                }
                let last = output.last
                #expect(last == expected.utf8.last)
            }
            let (text, count) = (output.text, output.count)
            #expect(text == expected && count == expected.utf8.count)
        }
    }
}
