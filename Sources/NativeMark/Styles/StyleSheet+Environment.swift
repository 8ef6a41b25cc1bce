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
