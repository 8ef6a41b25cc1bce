import NativeMark
import Testing

/// The tables of Apple's Human Interface Guidelines (Typography, iOS and iPadOS: Dynamic Type sizes and larger accessibility
/// type sizes): one row per size category, its columns in the order of `TextStyle`.
///
/// One published number is not what a phone does: a list measured on the simulator of iOS 13.3 has 41 for the last one.
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
    func `text has the size that Apple publishes`(_ category: StyleSheet.SizeCategory, _ points: [Double]) {
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
    func `text that no rule is about is body text`(_ category: StyleSheet.SizeCategory, _ points: [Double]) {
        let text = StyledText(Document("a"), style: StyleSheet(), environment: .init(sizeCategory: category))

        #expect(text.runs.map(\.style) == [ResolvedTextStyle(textStyle: .body, fontSize: points[5])])
    }

    @Test(arguments: StyleSheet.TextStyle.allCases)
    func `no text style becomes smaller when text must be larger`(_ style: StyleSheet.TextStyle) {
        let sizes = StyleSheet.SizeCategory.allCases.map { style.size(at: $0, on: .iOS) }
        #expect(sizes == sizes.sorted())
    }
}
