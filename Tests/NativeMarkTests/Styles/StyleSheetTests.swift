import Foundation
import NativeMark
import Testing

@Suite struct `Rules of a style sheet` {
    @Test func `a later style replaces one of the same property and keeps the others`() {
        let sheet = StyleSheet()
            .setting(inline: [.emphasis: [.color(.accent), .italic(true)]])
            .setting(inline: [.emphasis: [.color(.link)]])

        #expect(Set(sheet.inlines[.emphasis] ?? []) == [.color(.link), .italic(true)])
    }

    @Test func `if one rule has two styles of the same property, the last one wins`() {
        let sheet = StyleSheet().setting(inline: [.code: [.bold(true), .bold(false)]])

        #expect(sheet.inlines[.code] == [.bold(false)])
    }

    @Test func `the order of the styles in a rule makes no difference`() {
        let one = StyleSheet().setting(block: [.paragraph: [.color(.accent), .spacingAfter(.em(1)), .bold(true)]])
        let other = StyleSheet().setting(block: [.paragraph: [.bold(true), .spacingAfter(.em(1)), .color(.accent)]])

        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
    }

    @Test func `the more specific selector wins`() {
        let sheet = StyleSheet().setting(block: [
            .headings: [.bold(true), .color(.accent)], .heading(level: 2): [.color(.link)],
        ])
        let resolved = sheet.resolved(in: .init())

        let two = resolved.block([.headings, .heading(level: 2)], in: resolved.document).text
        let one = resolved.block([.headings, .heading(level: 1)], in: resolved.document).text

        #expect(two.isBold && one.isBold)
        #expect(two.color == resolved.tone(of: .link))
        #expect(one.color == resolved.tone(of: .accent))
    }

    @Test func `text and alignment are inherited, and a block's surroundings aren't`() {
        let sheet = StyleSheet().setting(block: [
            .blockQuote: [
                .color(.ansi(.red)), .alignment(.center), .lineSpacing(.points(3)), .spacingAfter(.points(9)),
                .background(.codeBackground), .padding(.all(.points(4))), .border(.init()), .leadingIndent(.points(5)),
            ]
        ])
        let resolved = sheet.resolved(in: .init())
        let quote = resolved.block([.blockQuote], in: resolved.document)

        let inside = resolved.block([.paragraph], in: quote)

        #expect(inside.text.color == .ansi(.red))
        #expect(inside.alignment == .center)
        #expect(inside.lineSpacing == 3)
        #expect(inside.spacingAfter == 0 && inside.leadingIndent == 0)
        #expect(inside.background == nil && inside.border == nil && inside.padding.top == 0)
    }
}

@Suite struct `Resolving a style sheet` {
    @Test func `light and dark have separate colors`() {
        let sheet = StyleSheet().setting(inline: [
            .strong: [.color(.dynamic(light: .rgb(0x102030), dark: .ansi(.brightBlue)))]
        ])
        let light = sheet.resolved(in: .init(appearance: .light))
        let dark = sheet.resolved(in: .init(appearance: .dark))

        #expect(light.text(.strong, in: light.document.text).color == .rgb(red: 0x10, green: 0x20, blue: 0x30))
        #expect(dark.text(.strong, in: dark.document.text).color == .ansi(.brightBlue))
    }

    @Test(arguments: StyleSheet.Role.allCases)
    func `every role has the color that the sheet gives it, or else the default color`(_ role: StyleSheet.Role) {
        let own = StyleSheet().setting(colors: [role: .init(light: .rgb(1), dark: .rgb(2))])

        #expect(own.resolved(in: .init(appearance: .light)).tone(of: .role(role)) == .rgb(1))
        #expect(own.resolved(in: .init(appearance: .dark)).tone(of: .role(role)) == .rgb(2))
        let usual = StyleSheet.default.resolved(in: .init()).tone(of: .role(role))
        #expect(StyleSheet().resolved(in: .init()).tone(of: .role(role)) == usual)
        #expect((usual == .standard) == (role == .primary))
    }

    @Test func `an em is the size that the same rule sets, at the size category`() {
        let sheet = StyleSheet().setting(block: [
            .heading(level: 1): [.spacingAfter(.em(0.5)), .leadingIndent(.points(7)), .kerning(.em(1))],
            .headings: [.textStyle(.largeTitle)],
        ])
        let resolved = sheet.resolved(in: .init(sizeCategory: .accessibility5))

        let heading = resolved.block([.headings, .heading(level: 1)], in: resolved.document)

        #expect(heading.text.fontSize == 60)
        #expect(heading.spacingAfter == 30)
        #expect(heading.leadingIndent == 7)
        #expect(heading.text.kerning == 60)
    }

    @Test func `an em is the size of the text, whatever the order of its styles`() {
        let resolved = StyleSheet().resolved(in: .init())
        let body = resolved.document.text

        let first = resolved.text(body, with: [.kerning(.em(1)), .textStyle(.title1)])

        #expect(first.fontSize > body.fontSize)
        #expect(first.kerning == first.fontSize)
        #expect(resolved.text(body, with: [.textStyle(.title1), .kerning(.em(1))]) == first)
    }

    @Test func `each text style is resolved`() {
        let sheet = StyleSheet().setting(inline: [
            .link: [
                .textStyle(.title2), .color(.ansi(.red)), .inlineBackground(.ansi(.blue)), .kerning(.points(2)),
                .baseline(.em(0.5)), .bold(true), .italic(true), .fontDesign(.monospaced), .underline(true),
                .strikethrough(true),
            ]
        ])
        let resolved = sheet.resolved(in: .init())
        var expected = ResolvedTextStyle(textStyle: .title2, fontSize: 22)
        expected.color = .ansi(.red)
        expected.background = .ansi(.blue)
        expected.kerning = 2
        expected.baseline = 11
        expected.fontWeight = .bold
        expected.isItalic = true
        expected.fontDesign = .monospaced
        expected.underline = .init()
        expected.strikethrough = .init()

        #expect(resolved.text(.link, in: resolved.document.text) == expected)
    }
}

@Suite struct `Numbers of list items` {
    @Test(arguments: [
        (StyleSheet.Numbering.octal, 8, "10"), (.octal, 0, "0"), (.lowercaseHexadecimal, 255, "ff"),
        (.uppercaseHexadecimal, 255, "FF"), (.decimal, 12, "12"), (.lowercaseLetters, 1, "a"),
        (.lowercaseLetters, 26, "z"),
        (.lowercaseLetters, 27, "aa"), (.uppercaseLetters, 52, "AZ"), (.uppercaseLetters, 703, "AAA"),
        (.lowercaseRoman, 4, "iv"), (.uppercaseRoman, 1994, "MCMXCIV"), (.uppercaseRoman, 3999, "MMMCMXCIX"),
        (.uppercaseRoman, 4000, "4000"), (.lowercaseRoman, 0, "0"), (.lowercaseLetters, 0, "0"),
        (.uppercaseLetters, 999_999_999, "CFDGSXK"),
    ])
    func `each numbering writes numbers in its own way`(
        _ numbering: StyleSheet.Numbering, _ number: Int, _ text: String
    ) {
        #expect(numbering.text(of: number) == text)
    }
}

@Suite struct `Built-in style sheets` {
    @Test(arguments: StyleSheet.named.keys.sorted())
    func `a built-in sheet can be named as a base and is read back unchanged`(_ name: String) throws {
        let sheet = try #require(StyleSheet.named[name])
        #expect(try StyleSheet(json: #"{"base": "\#(name)"}"#) == sheet)
        #expect(try StyleSheet(json: sheet.json) == sheet)
    }

    /// WCAG 2.2 requires 4.5 (AA). Some color schemes have less by design, but must have the 3 that WCAG requires for large text.
    @Test(arguments: StyleSheet.named.keys.sorted())
    func `text can be read on its background in both appearances`(_ name: String) throws {
        let sheet = try #require(StyleSheet.named[name])
        let tokens = CodeToken.Kind.allCases.enumerated().map { CodeToken(2 + $0..<3 + $0, $1) }
        for appearance in StyleSheet.Appearance.allCases {
            let text = StyledText(
                Document("# a\n\nb *c* **d** [e](f) `g`\n\n    h\n    0123456789ab\n\n> i\n"), style: sheet,
                environment: .init(appearance: appearance), highlighter: FixedHighlighter(tokens: tokens))
            for run in text.runs {
                let ratio = contrast(of: run, in: text)
                let least = ["default", "github"].contains(name) ? 4.5 : 3
                #expect(ratio >= least, "\(appearance): \(text.string(of: run)) has a contrast of \(ratio)")
            }
        }
    }

    /// The contrast of WCAG 2.2 ("contrast ratio"), on white or black where the sheet has no background.
    private func contrast(of run: StyledText.Run, in text: StyledText) -> Double {
        let isLight = text.environment.appearance == .light
        let block = text.path(of: run).reversed().lazy.compactMap(\.style.background).first
        let back = luminance(run.style.background ?? block) ?? (isLight ? 1 : 0)
        let front = luminance(run.style.color) ?? (isLight ? 0 : 1)
        return (max(front, back) + 0.05) / (min(front, back) + 0.05)
    }

    private func luminance(_ tone: StyleSheet.Tone?) -> Double? {
        guard case .rgb(let red, let green, let blue, 255)? = tone else { return nil }
        func linear(_ byte: UInt8) -> Double {
            let value = Double(byte) / 255
            // x² is close enough to the transfer function for a limit.
            return value * value
        }
        return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }
}

/// The article of the documentation. Its images are drawn from its JSON, and the Swift samples must say the same.
@Suite struct `Styling by example` {
    /// The sheets of the article, in Swift.
    static let steps: [StyleSheet] = [
        .default.setting(inline: [
            .emphasis: [.italic(false), .color(.accent), .underline(true)],
            .strong: [.color(.ansi(.red))],
        ]),
        .default.setting(block: [
            .heading(level: 1): [.alignment(.center), .border(.init(edges: [.bottom]))],
            .document: [.leadingIndent(.em(1)), .trailingIndent(.em(1))],
            .blockQuote: [
                .border(.init(edges: [.leading], color: .accent)), .background(.codeBackground),
                .color(.primary), .italic(true),
            ],
        ]),
        .default.setting(block: [
            .list(.ordered): [.marker(.numbers([.uppercaseRoman, .lowercaseLetters])), .leadingIndent(.em(1))],
            .table: [.border(.init(edges: [.top, .bottom]))],
            .tableHeader: [.color(.secondary), .bold(false), .italic(true)],
        ]),
        .default.setting(colors: [
            .accent: .init(light: .rgb(0x1B7F4B), dark: .rgb(0x7FE0A8)),
            .link: .init(light: .rgb(0x7A3FB0), dark: .rgb(0xD3A8FF)),
            .codeBackground: .init(light: .rgb(0xE4F3EA), dark: .rgb(0x16382A)),
        ]),
    ]

    private func article() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        return try String(
            contentsOf: root.appending(path: "Sources/NativeMark/NativeMark.docc/StylingByExample.md"),
            encoding: .utf8)
    }

    /// The contents of the code blocks in a language.
    private func blocks(_ language: String) throws -> [String] {
        Document(try article()).nodes { if case .codeBlock(language, _) = $0.kind { true } else { false } }
            .map(\.plainText)
    }

    @Test func `each sheet in JSON equals the one in Swift before it`() throws {
        #expect(try blocks("json").map { try StyleSheet(json: $0) } == Self.steps)
    }

    @Test func `the sheets in Swift are the sheets of this test`() throws {
        func words(_ text: String) -> String { text.filter { !$0.isWhitespace && $0 != "," } }
        let own = words(try String(contentsOfFile: #filePath, encoding: .utf8))
        let samples = try blocks("swift").filter { $0.contains("let sheet = StyleSheet.default") }
        #expect(samples.count == Self.steps.count)
        for sample in samples {
            let sheet = sample.split(separator: "\n])")[0].dropFirst("let sheet = StyleSheet".count)
            #expect(own.contains(words(String(sheet))), "\(sheet)")
        }
    }

    @Test func `the comments in the samples say what is printed`() throws {
        let error = #expect(throws: NativeMarkError.self) {
            try StyleSheet(json: #"{"blocks": {"heading1": {"colour": "accent"}}}"#)
        }
        let said = "\(try #require(error))".split(separator: ".").prefix(3).joined(separator: ".")
        #expect(try article().contains("// \(said). …"))

        let large = StyledText(Document("# Tea"), environment: .init(sizeCategory: .accessibility3))
        #expect(try article().contains("// \(large.runs[0].style.fontSize) \(large.blocks[1].style.spacingAfter)"))
    }
}
