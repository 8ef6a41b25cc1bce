extension StyleSheet {
    /// The design of the system's font.
    ///
    ///     sheet.setting(block: [.headings: [.fontDesign(.rounded), .fontWeight(.heavy)]])
    public enum FontDesign: String, Sendable, Hashable, CaseIterable {
        /// The font of the system's controls: San Francisco on Apple's platforms.
        case `default`
        /// Letters with serifs: New York on Apple's platforms.
        case serif
        /// Letters with rounded ends.
        case rounded
        /// Characters of equal width, for code.
        case monospaced
    }

    /// The thickness of the letters: the nine weights of Apple's fonts and of CSS.
    ///
    /// A font that lacks a weight is shown in the nearest one that it has.
    public enum FontWeight: String, Sendable, Hashable, CaseIterable, Comparable {
        /// 100 in CSS.
        case ultraLight
        /// 200 in CSS.
        case thin
        /// 300 in CSS.
        case light
        /// 400 in CSS.
        case regular
        /// 500 in CSS.
        case medium
        /// 600 in CSS, and the first weight that a terminal shows in bold.
        case semibold
        /// 700 in CSS.
        case bold
        /// 800 in CSS.
        case heavy
        /// 900 in CSS.
        case black

        /// The number of the weight in CSS, from 100 to 900.
        public var number: Int {
            switch self {
            case .ultraLight: 100
            case .thin: 200
            case .light: 300
            case .regular: 400
            case .medium: 500
            case .semibold: 600
            case .bold: 700
            case .heavy: 800
            case .black: 900
            }
        }

        /// Returns whether the left weight is lighter.
        public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// The width of the letters. A font that lacks a width is shown in the nearest one that it has.
    public enum FontWidth: String, Sendable, Hashable, CaseIterable {
        /// The narrowest letters.
        case compressed
        /// Narrow letters.
        case condensed
        /// The usual letters.
        case standard
        /// Wide letters.
        case expanded
    }
}
