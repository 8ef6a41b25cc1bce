extension StyleSheet {
    /// A color in a rule: a role, or a fixed color.
    ///
    ///     sheet.setting(inline: [
    ///         .link: [.color(.accent)],
    ///         .code: [.color(.rgb(0xB00020))],
    ///         .strong: [.color(.dynamic(light: .rgb(0xB00020), dark: .rgb(0xFF8A80)))],
    ///         .emphasis: [.color(.ansi(.red))],
    ///     ])
    public enum Color: Sendable, Hashable {
        /// The color that the sheet's ``StyleSheet/colors`` give the role.
        case role(Role)
        /// A fixed color.
        case paint(Paint)

        /// The text color.
        public static let primary = Color.role(.primary)
        /// Less prominent text.
        public static let secondary = Color.role(.secondary)
        /// The least prominent text, such as markers and language names.
        public static let tertiary = Color.role(.tertiary)
        /// Highlights.
        public static let accent = Color.role(.accent)
        /// Links.
        public static let link = Color.role(.link)
        /// Code.
        public static let code = Color.role(.code)
        /// The background of code.
        public static let codeBackground = Color.role(.codeBackground)
        /// Lines around and between blocks.
        public static let border = Color.role(.border)

        /// Returns a color that is the same in both appearances.
        public static func rgb(_ value: UInt32) -> Color { .paint(Paint(.rgb(value))) }
        /// Returns a color with different values on light and dark backgrounds.
        public static func dynamic(light: Tone, dark: Tone) -> Color { .paint(Paint(light: light, dark: dark)) }
        /// Returns one of the terminal's sixteen colors.
        public static func ansi(_ color: ANSI) -> Color { .paint(Paint(.ansi(color))) }
    }

    /// The purpose of a color. ``StyleSheet/setting(colors:)`` chooses the color of a role.
    public enum Role: String, Sendable, Hashable, CaseIterable {
        /// The text color.
        case primary
        /// Less prominent text.
        case secondary
        /// The least prominent text, such as markers and language names.
        case tertiary
        /// Highlights.
        case accent
        /// Links.
        case link
        /// Code.
        case code
        /// The background of code.
        case codeBackground
        /// Lines around and between blocks.
        case border
    }

    /// A color with a value for each appearance.
    public struct Paint: Sendable, Hashable {
        /// The color on a light background.
        public var light: Tone
        /// The color on a dark background.
        public var dark: Tone

        /// Creates a color with a value for each appearance.
        public init(light: Tone, dark: Tone) {
            self.light = light
            self.dark = dark
        }

        /// Creates a color that is the same in both appearances.
        public init(_ tone: Tone) {
            self.init(light: tone, dark: tone)
        }
    }

    /// A color that doesn't depend on the appearance.
    public enum Tone: Sendable, Hashable {
        /// The default text color of the terminal or label that shows the text.
        case standard
        /// Red, green and blue components.
        case rgb(red: UInt8, green: UInt8, blue: UInt8)
        /// One of the terminal's sixteen colors.
        case ansi(ANSI)

        /// Returns the color `0xRRGGBB`. Higher bits are ignored.
        public static func rgb(_ value: UInt32) -> Tone {
            .rgb(
                red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
                blue: UInt8(truncatingIfNeeded: value))
        }
    }

    /// The sixteen colors of terminals, in the order of their numbers (ECMA-48, section 8.3.117, and aixterm's bright colors).
    public enum ANSI: String, Sendable, Hashable, CaseIterable {
        /// Number 0.
        case black
        /// Number 1.
        case red
        /// Number 2.
        case green
        /// Number 3.
        case yellow
        /// Number 4.
        case blue
        /// Number 5.
        case magenta
        /// Number 6.
        case cyan
        /// Number 7.
        case white
        /// Number 8, often gray.
        case brightBlack
        /// Number 9.
        case brightRed
        /// Number 10.
        case brightGreen
        /// Number 11.
        case brightYellow
        /// Number 12.
        case brightBlue
        /// Number 13.
        case brightMagenta
        /// Number 14.
        case brightCyan
        /// Number 15.
        case brightWhite
    }
}
