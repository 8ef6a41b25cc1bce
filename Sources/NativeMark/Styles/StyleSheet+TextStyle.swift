extension StyleSheet {
    /// The roles of text in Dynamic Type, each with a size that grows with the size category.
    public enum TextStyle: String, Sendable, Hashable, CaseIterable {
        /// 34 points at the usual size.
        case largeTitle
        /// 28 points.
        case title1
        /// 22 points.
        case title2
        /// 20 points.
        case title3
        /// 17 points, in a heavier weight on Apple's systems.
        case headline
        /// 17 points.
        case body
        /// 16 points.
        case callout
        /// 15 points.
        case subheadline
        /// 13 points.
        case footnote
        /// 12 points.
        case caption1
        /// 11 points.
        case caption2

        /// The size in points.
        ///
        ///     StyleSheet.TextStyle.body.size(at: .large)            // 17
        ///     StyleSheet.TextStyle.body.size(at: .accessibility5)   // 53
        ///
        /// As Apple's Human Interface Guidelines publish them (Typography, iOS and iPadOS: Dynamic Type sizes, larger
        /// accessibility type sizes), on every platform: macOS, which has no Dynamic Type, has smaller text of its own.
        public func size(at category: SizeCategory) -> Double {
            Self.sizes[self]?[SizeCategory.allCases.firstIndex(of: category) ?? 3] ?? 17
        }

        private static let sizes: [TextStyle: [Double]] = [
            .largeTitle: [31, 32, 33, 34, 36, 38, 40, 44, 48, 52, 56, 60],
            .title1: [25, 26, 27, 28, 30, 32, 34, 38, 43, 48, 53, 58],
            .title2: [19, 20, 21, 22, 24, 26, 28, 34, 39, 44, 50, 56],
            .title3: [17, 18, 19, 20, 22, 24, 26, 31, 37, 43, 49, 55],
            .headline: [14, 15, 16, 17, 19, 21, 23, 28, 33, 40, 47, 53],
            .body: [14, 15, 16, 17, 19, 21, 23, 28, 33, 40, 47, 53],
            .callout: [13, 14, 15, 16, 18, 20, 22, 26, 32, 38, 44, 51],
            .subheadline: [12, 13, 14, 15, 17, 19, 21, 25, 30, 36, 42, 49],
            .footnote: [12, 12, 12, 13, 15, 17, 19, 23, 27, 33, 38, 44],
            .caption1: [11, 11, 11, 12, 14, 16, 18, 22, 26, 32, 37, 43],
            .caption2: [11, 11, 11, 11, 13, 15, 17, 20, 24, 29, 34, 40],
        ]
    }

    /// How large a person wants text to be, smallest first.
    public enum SizeCategory: String, Sendable, Hashable, CaseIterable {
        /// Three steps below the usual.
        case xSmall
        /// Two steps below.
        case small
        /// One step below.
        case medium
        /// The usual size.
        case large
        /// One step above.
        case xLarge
        /// Two steps above.
        case xxLarge
        /// Three steps above, the largest without accessibility sizes.
        case xxxLarge
        /// The first of the accessibility sizes.
        case accessibility1
        /// The second.
        case accessibility2
        /// The third.
        case accessibility3
        /// The fourth.
        case accessibility4
        /// The largest.
        case accessibility5
    }
}
