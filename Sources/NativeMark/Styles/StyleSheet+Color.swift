extension StyleSheet {
    /// A colour as a rule names it: by its role, or by what it looks like.
    ///
    ///     sheet.setting(inline: [
    ///         .link: [.color(.accent)],
    ///         .code: [.color(.rgb(0xB00020))],
    ///         .strong: [.color(.dynamic(light: .rgb(0xB00020), dark: .rgb(0xFF8A80)))],
    ///         .emphasis: [.color(.ansi(.red))],
    ///     ])
    public enum Color: Sendable, Hashable {
        /// What the sheet's ``StyleSheet/colors`` say for the role.
        case role(Role)
        /// This colour.
        case paint(Paint)

        /// The colour of text.
        public static let primary = Color.role(.primary)
        /// Text of less weight.
        public static let secondary = Color.role(.secondary)
        /// What is hardly text any more: markers, language names.
        public static let tertiary = Color.role(.tertiary)
        /// What should be seen first.
        public static let accent = Color.role(.accent)
        /// Links.
        public static let link = Color.role(.link)
        /// Code.
        public static let code = Color.role(.code)
        /// What is behind code.
        public static let codeBackground = Color.role(.codeBackground)
        /// Lines around and between blocks.
        public static let border = Color.role(.border)

        /// The same colour in both appearances.
        public static func rgb(_ value: UInt32) -> Color { .paint(Paint(.rgb(value))) }
        /// One colour on light, another on dark.
        public static func dynamic(light: Tone, dark: Tone) -> Color { .paint(Paint(light: light, dark: dark)) }
        /// A colour of the terminal's own sixteen.
        public static func ansi(_ color: ANSI) -> Color { .paint(Paint(.ansi(color))) }
    }

    /// What a colour is for. Apps and people choose what each role looks like, see ``StyleSheet/setting(colors:)``.
    public enum Role: String, Sendable, Hashable, CaseIterable {
        /// The colour of text.
        case primary
        /// Text of less weight.
        case secondary
        /// What is hardly text any more.
        case tertiary
        /// What should be seen first.
        case accent
        /// Links.
        case link
        /// Code.
        case code
        /// What is behind code.
        case codeBackground
        /// Lines around and between blocks.
        case border
    }

    /// A colour with a value for each appearance.
    public struct Paint: Sendable, Hashable {
        /// On a light background.
        public var light: Tone
        /// On a dark background.
        public var dark: Tone

        /// One value for each appearance.
        public init(light: Tone, dark: Tone) {
            self.light = light
            self.dark = dark
        }

        /// The same value in both.
        public init(_ tone: Tone) {
            self.init(light: tone, dark: tone)
        }
    }

    /// A colour without any choice left.
    public enum Tone: Sendable, Hashable {
        /// The colour that text has where it is shown: the terminal's, the label's.
        case standard
        /// Red, green and blue.
        case rgb(red: UInt8, green: UInt8, blue: UInt8)
        /// One of the sixteen that the terminal's owner chose.
        case ansi(ANSI)

        /// Red, green and blue as one number: `0xRRGGBB`. Higher bits are ignored.
        public static func rgb(_ value: UInt32) -> Tone {
            .rgb(
                red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
                blue: UInt8(truncatingIfNeeded: value))
        }
    }

    /// The sixteen colours of terminals, in the order of their numbers (ECMA-48, section 8.3.117, and aixterm's bright ones).
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
        /// Number 8, often grey.
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
