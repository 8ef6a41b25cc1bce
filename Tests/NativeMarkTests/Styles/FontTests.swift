import NativeMark
import Testing

@Suite struct `Fonts of a style sheet` {
    private func resolved(_ sheet: StyleSheet, _ environment: StyleSheet.Environment = .init()) -> ResolvedStyleSheet {
        sheet.resolved(in: environment)
    }

    @Test(
        arguments: [
            // The weight of a heading, and that of strong text in it.
            (nil, StyleSheet.FontWeight.regular, StyleSheet.FontWeight.bold),
            (.ultraLight, .ultraLight, .bold), (.medium, .medium, .bold), (.semibold, .semibold, .black),
            (.bold, .bold, .black), (.black, .black, .black),
        ] as [(StyleSheet.FontWeight?, StyleSheet.FontWeight, StyleSheet.FontWeight)])
    func `strong text is bold, and heavier than the text around it`(
        _ weight: StyleSheet.FontWeight?, _ outer: StyleSheet.FontWeight, _ strong: StyleSheet.FontWeight
    ) {
        let sheet = StyleSheet()
            .setting(block: [.headings: weight.map { [.fontWeight($0)] } ?? []])
            .setting(inline: [.strong: [.bold(true)]])
        let runs = StyledText(Document("# a **b**"), style: sheet).runs
        #expect([runs.first, runs.last].map(\.?.style.fontWeight) == [outer, strong])
        #expect([runs.first, runs.last].map(\.?.style.isBold) == [outer >= .semibold, true])
    }

    @Test func `text that is not bold is regular in bold text, and keeps a lighter weight`() {
        for (weight, expected) in [(StyleSheet.FontWeight.heavy, StyleSheet.FontWeight.regular), (.light, .light)] {
            let sheet = StyleSheet()
                .setting(block: [.paragraph: [.fontWeight(weight)]]).setting(inline: [.emphasis: [.bold(false)]])
            #expect(StyledText(Document("*a*"), style: sheet).runs[0].style.fontWeight == expected)
        }
    }

    @Test func `a rule may have both a weight and bold`() {
        let sheet = StyleSheet().setting(inline: [.strong: [.bold(true), .fontWeight(.heavy)]])
        #expect(StyledText(Document("**a**"), style: sheet).runs[0].style.fontWeight == .heavy)
    }

    @Test func `a design replaces the family around it, and a family keeps the design to fall back on`() {
        let sheet = StyleSheet()
            .setting(block: [.document: [.fontFamily("Avenir Next"), .fontDesign(.rounded)]])
            .setting(inline: [.code: [.fontDesign(.monospaced)], .strong: [.fontFamily("Georgia")]])
        let styles = StyledText(Document("a `b` **c**"), style: sheet).runs.map(\.style)
        #expect(styles.map(\.fontFamily) == ["Avenir Next", nil, "Avenir Next", "Georgia"])
        #expect(styles.map(\.fontDesign) == [.rounded, .monospaced, .rounded, .rounded])
    }

    @Test func `an em of a font size is the size of the text around it`() {
        let sheet = StyleSheet()
            .setting(block: [
                .document: [.fontSize(.points(20))],
                .heading(level: 1): [.fontSize(.em(2)), .textStyle(.title1), .spacingAfter(.em(0.5))],
            ])
            .setting(inline: [.code: [.fontSize(.em(0.5)), .kerning(.em(1))]])
        let text = StyledText(Document("# a `b`"), style: sheet)
        #expect(text.runs.map(\.style.fontSize) == [40, 20])
        #expect(text.runs.map(\.style.textStyle) == [.title1, .title1])
        #expect(text.blocks[1].style.spacingAfter == 20)
        #expect(text.runs[1].style.kerning == 20)
    }

    @Test func `points of a font size grow with the text style`() {
        let sheet = StyleSheet()
            .setting(block: [.document: [.fontSize(.points(34))]])
            .setting(inline: [.code: [.textStyle(.largeTitle), .fontSize(.points(17))]])
        let environment = StyleSheet.Environment(sizeCategory: .accessibility5)
        let sizes = StyledText(Document("a `b`"), style: sheet, environment: environment).runs.map(\.style.fontSize)
        // body: 17 to 53. largeTitle: 34 to 60.
        #expect(sizes == [106, 30])
    }

    @Test(arguments: [1e300, -1e300, 0, -.infinity, .nan])
    func `a size that cannot be shown is limited`(_ number: Double) {
        let text = "> > > > a"
        for size in [StyleSheet.Length.em(number), .points(number)] {
            let sheet = StyleSheet().setting(block: [.blockQuote: [.fontSize(size)]])
            let sizes = StyledText(Document(text), style: sheet).blocks.map(\.style.text.fontSize)
            #expect(sizes.allSatisfy { (1...1_000).contains($0) }, "\(sizes)")
        }
        let environment = StyleSheet.Environment(bodySize: number)
        let sizes = StyledText(Document(text), environment: environment).blocks.map(\.style.text.fontSize)
        #expect(sizes.allSatisfy { (1...1_000).contains($0) }, "\(sizes)")
    }

    @Test(arguments: [(1.5, 1.5), (0, 0.1), (-5, 0.1), (1e9, 10), (.nan, nil)] as [(Double, Double?)])
    func `line heights are inherited and limited`(_ number: Double, _ expected: Double?) {
        let sheet = StyleSheet().setting(block: [.blockQuote: [.lineHeight(number), .hyphenation(true)]])
        let blocks = StyledText(Document("> a\n\nb"), style: sheet).blocks
        #expect(blocks.map(\.style.lineHeight) == [nil, expected, expected, nil])
        #expect(blocks.map(\.style.isHyphenated) == [false, true, true, false])
    }

    @Test func `weights have the order and the numbers of CSS`() {
        #expect(StyleSheet.FontWeight.allCases.map(\.number) == Array(stride(from: 100, through: 900, by: 100)))
        #expect(StyleSheet.FontWeight.allCases.sorted() == StyleSheet.FontWeight.allCases)
    }
}

@Suite struct `Text styles of platforms` {
    /// Apple's Human Interface Guidelines, Typography, Specifications; 0 where a table doesn't list the style.
    static let sizes: [(platform: StyleSheet.Platform, points: [Double])] = [
        (.iOS, [34, 28, 22, 20, 17, 17, 16, 15, 13, 12, 11]),
        (.macOS, [26, 22, 17, 15, 13, 13, 12, 11, 10, 10, 10]),
        (.tvOS, [0, 76, 57, 48, 38, 29, 31, 38, 0, 25, 23]),
        (.watchOS, [36, 34, 27, 19, 16, 16, 0, 0, 13, 15, 14]),
    ]

    @Test(arguments: sizes)
    func `have the sizes that Apple publishes`(_ platform: StyleSheet.Platform, _ points: [Double]) {
        for (style, size) in zip(StyleSheet.TextStyle.allCases, points) {
            let shown = style.size(at: .large, on: platform)
            #expect(shown == size || size == 0, "\(style)")
            #expect((10...76).contains(shown))
            let sheet = StyleSheet().setting(inline: [.code: [.textStyle(style)]])
            let text = StyledText(Document("`a`"), style: sheet, environment: .init(platform: platform))
            #expect(text.runs[0].style.fontSize == shown)
        }
        #expect(StyledText(Document("a"), environment: .init(platform: platform)).runs[0].style.fontSize == points[5])
    }

    @Test func `grow with the size category, except on macOS`() {
        #expect(StyleSheet.TextStyle.body.size(at: .accessibility5, on: .macOS) == 13)
        #expect(StyleSheet.TextStyle.body.size(at: .accessibility5, on: .watchOS) == 50)  // 16 × 53 / 17 = 49.9
        #expect(StyleSheet.TextStyle.body.size(at: .xSmall, on: .tvOS) == 24)  // 29 × 14 / 17 = 23.9
        for platform in StyleSheet.Platform.allCases {
            for style in StyleSheet.TextStyle.allCases {
                let sizes = StyleSheet.SizeCategory.allCases.map { style.size(at: $0, on: platform) }
                #expect(sizes == sizes.sorted())
            }
        }
    }

    @Test func `keep their proportion to another body size`() {
        let sheet = StyleSheet().setting(block: [.headings: [.textStyle(.largeTitle)]])
        let environment = StyleSheet.Environment(platform: .macOS, bodySize: 26)
        let sizes = StyledText(Document("# a\n\nb"), style: sheet, environment: environment).runs.map(\.style.fontSize)
        #expect(sizes == [52, 26])
    }

    @Test func `have sizes on this platform, whichever it is`() {
        #expect(StyleSheet.Environment().platform == .current)
        #if os(Linux)
        #expect(StyleSheet.Platform.current == .iOS)
        #endif
    }
}

@Suite struct `Contrast and named colors` {
    @Test func `increased contrast has its own colors, or the usual ones`() {
        let both = StyleSheet.Paint(
            light: .rgb(1), dark: .rgb(2), lightIncreasedContrast: .rgb(3), darkIncreasedContrast: .rgb(4))
        let none = StyleSheet.Paint(light: .rgb(5), dark: .rgb(6))
        let sheet = StyleSheet().setting(colors: [.accent: both, .link: none])
        func tones(_ appearance: StyleSheet.Appearance, _ contrast: StyleSheet.Contrast) -> [StyleSheet.Tone] {
            let resolved = sheet.resolved(in: .init(appearance: appearance, contrast: contrast))
            return [resolved.tone(of: .accent), resolved.tone(of: .link)]
        }
        #expect(tones(.light, .standard) == [.rgb(1), .rgb(5)])
        #expect(tones(.dark, .standard) == [.rgb(2), .rgb(6)])
        #expect(tones(.light, .increased) == [.rgb(3), .rgb(5)])
        #expect(tones(.dark, .increased) == [.rgb(4), .rgb(6)])
    }

    @Test(arguments: [
        ("#0A50C8", StyleSheet.Tone.rgb(0x0A50C8)),
        ("#0a50c880", .rgb(red: 0x0A, green: 0x50, blue: 0xC8, alpha: 0x80)),
        ("color(display-p3 1 0.5 0)", .displayP3(red: 1, green: 0.5, blue: 0)),
        ("color(display-p3 100% 50%  0/.8)", .displayP3(red: 1, green: 0.5, blue: 0, alpha: 0.8)),
        ("color(display-p3 1 1e-1 0 / 25%)", .displayP3(red: 1, green: 0.1, blue: 0, alpha: 0.25)),
        ("name:Brand Blue", .named("Brand Blue", fallback: .standard)),
        ("ansi:brightCyan", .ansi(.brightCyan)), ("standard", .standard),
    ])
    func `a color in JSON is the one in Swift`(_ text: String, _ tone: StyleSheet.Tone) throws {
        let sheet = try StyleSheet(json: #"{"base": "empty", "colors": {"accent": "\#(text)"}}"#)
        #expect(sheet.colors == [.accent: .init(tone)])
        let rule = try StyleSheet(json: #"{"base": "empty", "inlines": {"code": {"color": "\#(text)"}}}"#)
        #expect(rule.inlines == [.code: [.color(.paint(.init(tone)))]])
    }

    @Test func `a name in JSON has a fallback for each appearance`() throws {
        let sheet = try StyleSheet(
            json: """
                { "base": "empty", "colors": {
                    "accent": { "name": "Brand", "fallback": "#0A5FFF" },
                    "link": { "name": "Brand", "fallback": { "light": "#0A5FFF", "dark": "#6FB1FF",
                                                             "darkIncreasedContrast": "#FFFFFF" } },
                    "code": { "name": "Brand" } } }
                """)
        #expect(
            sheet.colors == [
                .accent: .named("Brand", fallback: .init(.rgb(0x0A5FFF))),
                .link: .named(
                    "Brand",
                    fallback: .init(light: .rgb(0x0A5FFF), dark: .rgb(0x6FB1FF), darkIncreasedContrast: .rgb(0xFFFFFF))),
                .code: .named("Brand", fallback: .init(.standard)),
            ])
        #expect(try StyleSheet(json: sheet.json) == sheet)
    }
}

@Suite struct `Sheets of the library` {
    @Test(arguments: StyleSheet.named.keys.sorted())
    func `can be named as a base, and read as they are written`(_ name: String) throws {
        let sheet = try #require(StyleSheet.named[name])
        #expect(try StyleSheet(json: #"{"base": "\#(name)"}"#) == sheet)
        #expect(try StyleSheet(json: sheet.json) == sheet)
    }

    @Test(arguments: StyleSheet.named.keys.sorted())
    func `have text that can be read on the background of its appearance`(_ name: String) throws {
        let sheet = try #require(StyleSheet.named[name])
        for appearance in StyleSheet.Appearance.allCases {
            let text = StyledText(
                Document("# a\n\nb *c* **d** [e](f) `g`\n\n    h\n\n> i\n"), style: sheet,
                environment: .init(appearance: appearance))
            for run in text.runs {
                let ratio = contrast(of: run, in: text)
                #expect(ratio >= 4.5, "\(appearance): \(text.string(of: run)) has a contrast of \(ratio)")
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
