import NativeMark
import Testing

@Suite struct `Fonts of a style sheet` {
    private func resolved(_ sheet: StyleSheet, _ environment: StyleSheet.Environment = .init()) -> ResolvedStyleSheet {
        sheet.resolved(in: environment)
    }

    @Test(
        arguments: [
            // The weight of a heading, as set and as shown, and the weight of strong text in it.
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

    @Test func `text that isn't bold is regular in bold text, and keeps a lighter weight`() {
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

    @Test func `a design replaces the surrounding family, and a family keeps the design as a fallback`() {
        let sheet = StyleSheet()
            .setting(block: [.document: [.fontFamily("Avenir Next"), .fontDesign(.rounded)]])
            .setting(inline: [.code: [.fontDesign(.monospaced)], .strong: [.fontFamily("Georgia")]])
        let styles = StyledText(Document("a `b` **c**"), style: sheet).runs.map(\.style)
        #expect(styles.map(\.fontFamily) == ["Avenir Next", nil, "Avenir Next", "Georgia"])
        #expect(styles.map(\.fontDesign) == [.rounded, .monospaced, .rounded, .rounded])
    }

    @Test func `an em of a font size is the size of the surrounding text`() {
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

    @Test func `a font size in points grows with the text style`() {
        let sheet = StyleSheet()
            .setting(block: [.document: [.fontSize(.points(34))]])
            .setting(inline: [.code: [.textStyle(.largeTitle), .fontSize(.points(17))]])
        let environment = StyleSheet.Environment(sizeCategory: .accessibility5)
        let sizes = StyledText(Document("a `b`"), style: sheet, environment: environment).runs.map(\.style.fontSize)
        // body: 17 to 53. largeTitle: 34 to 60.
        #expect(sizes == [106, 30])
    }

    @Test(arguments: [1e300, -1e300, 0, -.infinity, .nan])
    func `a size that can't be shown is limited`(_ number: Double) {
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

    @Test func `weights have the order and numbers of CSS`() {
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
    func `text styles have the sizes that Apple publishes`(_ platform: StyleSheet.Platform, _ points: [Double]) {
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

    @Test func `text styles grow with the size category, except on macOS`() {
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

    @Test func `text styles keep their proportions if the body size is different`() {
        let sheet = StyleSheet().setting(block: [.headings: [.textStyle(.largeTitle)]])
        let environment = StyleSheet.Environment(platform: .macOS, bodySize: 26)
        let sizes = StyledText(Document("# a\n\nb"), style: sheet, environment: environment).runs.map(\.style.fontSize)
        #expect(sizes == [52, 26])
    }

    @Test func `the default environment has the current platform`() {
        #expect(StyleSheet.Environment().platform == .current)
        #if os(Linux)
        #expect(StyleSheet.Platform.current == .iOS)
        #endif
    }
}

/// The tables of Apple's Human Interface Guidelines (Typography, iOS and iPadOS: Dynamic Type sizes and larger accessibility
/// type sizes): one row per size category, its columns in the order of `TextStyle`.
///
/// One published number doesn't match a phone: a list measured in the simulator of iOS 13.3 has 41 as the last one.
let dynamicTypeSizes: [(category: StyleSheet.SizeCategory, points: [Double])] = [
    (.xSmall, [31, 25, 19, 17, 14, 14, 13, 12, 12, 11, 11]),
    (.small, [32, 26, 20, 18, 15, 15, 14, 13, 12, 11, 11]),
    (.medium, [33, 27, 21, 19, 16, 16, 15, 14, 12, 11, 11]),
    (.large, [34, 28, 22, 20, 17, 17, 16, 15, 13, 12, 11]),
    (.xLarge, [36, 30, 24, 22, 19, 19, 18, 17, 15, 14, 13]),
    (.xxLarge, [38, 32, 26, 24, 21, 21, 20, 19, 17, 16, 15]),
    (.xxxLarge, [40, 34, 28, 26, 23, 23, 22, 21, 19, 18, 17]),
    (.accessibility1, [44, 38, 34, 31, 28, 28, 26, 25, 23, 22, 20]),
    (.accessibility2, [48, 43, 39, 37, 33, 33, 32, 30, 27, 26, 24]),
    (.accessibility3, [52, 48, 44, 43, 40, 40, 38, 36, 33, 32, 29]),
    (.accessibility4, [56, 53, 50, 49, 47, 47, 44, 42, 38, 37, 34]),
    (.accessibility5, [60, 58, 56, 55, 53, 53, 51, 49, 44, 43, 40]),
]

@Suite struct `Sizes of Dynamic Type` {
    @Test func `the table has every text style at every size category`() {
        #expect(dynamicTypeSizes.map(\.category) == StyleSheet.SizeCategory.allCases)
        for row in dynamicTypeSizes { #expect(row.points.count == StyleSheet.TextStyle.allCases.count) }
        #expect(
            StyleSheet.TextStyle.allCases == [
                .largeTitle, .title1, .title2, .title3, .headline, .body, .callout, .subheadline, .footnote, .caption1,
                .caption2,
            ])
    }

    @Test(arguments: dynamicTypeSizes)
    func `text has the sizes that Apple publishes`(_ category: StyleSheet.SizeCategory, _ points: [Double]) {
        for (style, size) in zip(StyleSheet.TextStyle.allCases, points) {
            let sheet = StyleSheet()
                .setting(block: [.paragraph: [.textStyle(style), .spacingAfter(.em(2))]])
                .setting(inline: [.code: [.textStyle(style)]])
            let text = StyledText(
                Document("a\n\n# `b`"), style: sheet, environment: .init(sizeCategory: category))

            #expect(style.size(at: category, on: .iOS) == size)
            #expect(text.runs.map(\.style.fontSize) == [size, size], "\(style)")
            #expect(text.runs.map(\.style.textStyle) == [style, style])
            #expect(text.blocks[1].style.spacingAfter == 2 * size)
        }
    }

    @Test(arguments: dynamicTypeSizes)
    func `text without a matching rule is body text`(_ category: StyleSheet.SizeCategory, _ points: [Double]) {
        let text = StyledText(Document("a"), style: StyleSheet(), environment: .init(sizeCategory: category))

        #expect(text.runs.map(\.style) == [ResolvedTextStyle(textStyle: .body, fontSize: points[5])])
    }

    @Test(arguments: StyleSheet.TextStyle.allCases)
    func `no text style gets smaller when the size category gets larger`(_ style: StyleSheet.TextStyle) {
        let sizes = StyleSheet.SizeCategory.allCases.map { style.size(at: $0, on: .iOS) }
        #expect(sizes == sizes.sorted())
    }
}
