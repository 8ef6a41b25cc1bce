extension StyleSheet {
    /// The properties of the display that styles depend on.
    ///
    ///     let environment = StyleSheet.Environment(appearance: .dark, platform: .macOS)
    ///     StyledText(document, environment: environment).runs[0].style.fontSize   // 13
    public struct Environment: Sendable, Hashable {
        /// The light or dark appearance.
        public var appearance: Appearance
        /// Whether the user prefers more contrast.
        public var contrast: Contrast
        /// The user's preferred text size.
        public var sizeCategory: SizeCategory
        /// The platform, which determines the font sizes of text styles.
        public var platform: Platform
        /// The font size of body text in points, in place of the platform's at the size category. Other text styles keep their proportion to
        /// it.
        public var bodySize: Double?

        /// Creates an environment, by default with a light background and the standard text size of this platform.
        public init(
            appearance: Appearance = .light, contrast: Contrast = .standard, sizeCategory: SizeCategory = .large,
            platform: Platform = .current, bodySize: Double? = nil
        ) {
            self.appearance = appearance
            self.contrast = contrast
            self.sizeCategory = sizeCategory
            self.platform = platform
            self.bodySize = bodySize
        }
    }

    /// The brightness of the background.
    public enum Appearance: String, Sendable, Hashable, CaseIterable {
        /// Dark text on a light background.
        case light
        /// Light text on a dark background.
        case dark
    }

    /// The difference between the colors of text and background.
    public enum Contrast: String, Sendable, Hashable, CaseIterable {
        /// The usual colors.
        case standard
        /// The colors for users who turn on Increase Contrast.
        case increased
    }

    /// A group of platforms whose text styles have the same font sizes.
    public enum Platform: String, Sendable, Hashable, CaseIterable {
        /// iOS, iPadOS and visionOS, and platforms that aren't Apple's. Body text has 17 points.
        case iOS
        /// macOS. Body text has 13 points, and there are no size categories.
        case macOS
        /// tvOS. Body text has 29 points.
        case tvOS
        /// watchOS. Body text has 16 points.
        case watchOS

        /// The platform that the code is compiled for.
        public static var current: Platform {
            #if os(macOS)
            .macOS
            #elseif os(tvOS)
            .tvOS
            #elseif os(watchOS)
            .watchOS
            #else
            .iOS
            #endif
        }
    }
}

extension StyleSheet.Environment {
    /// Returns the font size of a text style in points.
    func size(of style: StyleSheet.TextStyle) -> Double {
        let size = style.size(at: sizeCategory, on: platform)
        guard let bodySize, bodySize.isFinite else { return size }
        return ResolvedStyleSheet.fontSize(
            size * bodySize / StyleSheet.TextStyle.body.size(at: sizeCategory, on: platform))
    }

    /// Returns the growth of text in a text style at the size category: 1 at the standard size.
    func scale(of style: StyleSheet.TextStyle) -> Double {
        style.size(at: sizeCategory, on: platform) / style.size(at: .large, on: platform)
    }
}

// MARK: - Text styles

extension StyleSheet {
    /// The text styles of Dynamic Type. Their font sizes depend on the platform and grow with the size category.
    public enum TextStyle: String, Sendable, Hashable, CaseIterable {
        /// 34 points on iOS at the standard size.
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

        /// Returns the font size in points.
        ///
        ///     StyleSheet.TextStyle.body.size(at: .large, on: .iOS)            // 17
        ///     StyleSheet.TextStyle.body.size(at: .accessibility5, on: .iOS)   // 53
        ///     StyleSheet.TextStyle.body.size(at: .large, on: .macOS)          // 13
        ///
        /// The sizes are those of Apple's Human Interface Guidelines (Typography, Specifications): on iOS at each size category, on macOS
        /// independent of the category, and on tvOS and watchOS at the standard one. At other categories, tvOS and watchOS have the
        /// proportions of iOS, rounded to whole points. Text styles that the tables of tvOS and watchOS don't list have the size of a
        /// neighbor.
        public func size(at category: SizeCategory, on platform: Platform) -> Double {
            let row = Self.sizes[self] ?? []
            let index = SizeCategory.allCases.firstIndex(of: category) ?? Self.standard
            guard row.indices.contains(index) else { return 17 }
            if platform == .iOS { return row[index] }
            let own = Self.otherSizes[self] ?? (13, 29, 16)
            return switch platform {
            case .iOS: row[index]
            case .macOS: own.macOS
            case .tvOS: (own.tvOS * row[index] / row[Self.standard]).rounded()
            case .watchOS: (own.watchOS * row[index] / row[Self.standard]).rounded()
            }
        }

        /// The index of the standard category.
        private static let standard = 3

        private static let otherSizes: [TextStyle: (macOS: Double, tvOS: Double, watchOS: Double)] = [
            .largeTitle: (26, 76, 36),  // tvOS lists title1 as the largest.
            .title1: (22, 76, 34),
            .title2: (17, 57, 27),
            .title3: (15, 48, 19),
            .headline: (13, 38, 16),
            .body: (13, 29, 16),
            .callout: (12, 31, 16),  // watchOS doesn't list it.
            .subheadline: (11, 38, 15),  // watchOS doesn't list it. tvOS calls it Subtitle 1.
            .footnote: (10, 25, 13),  // tvOS doesn't list it.
            .caption1: (10, 25, 15),
            .caption2: (10, 23, 14),
        ]

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

    /// The user's preferred text size, smallest first.
    public enum SizeCategory: String, Sendable, Hashable, CaseIterable {
        /// Three steps below the standard size.
        case xSmall
        /// Two steps below the standard size.
        case small
        /// One step below the standard size.
        case medium
        /// The standard size.
        case large
        /// One step above the standard size.
        case xLarge
        /// Two steps above the standard size.
        case xxLarge
        /// Three steps above the standard size, and the largest size that isn't an accessibility size.
        case xxxLarge
        /// The first accessibility size.
        case accessibility1
        /// The second accessibility size.
        case accessibility2
        /// The third accessibility size.
        case accessibility3
        /// The fourth accessibility size.
        case accessibility4
        /// The fifth and largest accessibility size.
        case accessibility5
    }
}
