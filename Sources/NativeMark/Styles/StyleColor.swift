extension StyleSheet {
    /// A color in a rule: either a role or a fixed color.
    ///
    ///     sheet.setting(inline: [
    ///         .link: [.color(.accent)],
    ///         .code: [.color(.rgb(0xB00020))],
    ///         .strong: [.color(.dynamic(light: .rgb(0xB00020), dark: .rgb(0xFF8A80)))],
    ///         .emphasis: [.color(.named("Brand", fallback: .init(light: .rgb(0x7A3FB0), dark: .rgb(0xD3A8FF))))],
    ///     ])
    public enum Color: Sendable, Hashable {
        /// The color of a role, from the sheet's ``StyleSheet/colors``.
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
        public static func rgb(_ value: UInt32, alpha: Double = 1) -> Color { .paint(Paint(.rgb(value, alpha: alpha))) }
        /// Returns a color with different values on light and dark backgrounds.
        public static func dynamic(light: Tone, dark: Tone) -> Color { .paint(Paint(light: light, dark: dark)) }
        /// Returns one of the terminal's sixteen colors.
        public static func ansi(_ color: ANSI) -> Color { .paint(Paint(.ansi(color))) }
        /// Returns a color from the app's asset catalog; see ``Paint/named(_:fallback:)``.
        public static func named(_ name: String, fallback: Paint = .init(.standard)) -> Color {
            .paint(.named(name, fallback: fallback))
        }
    }

    /// The purpose of a color. ``StyleSheet/setting(colors:)`` sets the color of each role.
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

    /// A color with a value for each appearance, and optionally for users who prefer more contrast.
    ///
    ///     StyleSheet.Paint(light: .rgb(0x59636E), dark: .rgb(0x9198A1), lightIncreasedContrast: .rgb(0x1F2328))
    public struct Paint: Sendable, Hashable {
        /// The color on a light background.
        public var light: Tone
        /// The color on a dark background.
        public var dark: Tone
        /// The color on a light background with increased contrast, or `nil` for ``light``.
        public var lightIncreasedContrast: Tone?
        /// The color on a dark background with increased contrast, or `nil` for ``dark``.
        public var darkIncreasedContrast: Tone?

        /// Creates a color with a value for each appearance.
        public init(
            light: Tone, dark: Tone, lightIncreasedContrast: Tone? = nil, darkIncreasedContrast: Tone? = nil
        ) {
            self.light = light
            self.dark = dark
            self.lightIncreasedContrast = lightIncreasedContrast
            self.darkIncreasedContrast = darkIncreasedContrast
        }

        /// Creates a color that is the same in both appearances.
        public init(_ tone: Tone) {
            self.init(light: tone, dark: tone)
        }

        /// Returns a color from the app's asset catalog.
        ///
        /// The fallback is used where there are no asset catalogs (in terminals, in HTML and on Linux) and for names that aren't in the
        /// catalog.
        public static func named(_ name: String, fallback: Paint) -> Paint {
            func named(_ tone: Tone) -> Tone { .named(name, fallback: tone) }
            return Paint(
                light: named(fallback.light), dark: named(fallback.dark),
                lightIncreasedContrast: fallback.lightIncreasedContrast.map(named),
                darkIncreasedContrast: fallback.darkIncreasedContrast.map(named))
        }

        /// Creates a color from the tone of each appearance and contrast. `nil` means the standard text color, or with increased contrast,
        /// no separate tone.
        init(_ tone: (Appearance, Contrast) -> Tone?) {
            light = tone(.light, .standard) ?? .standard
            dark = tone(.dark, .standard) ?? .standard
            let (increasedLight, increasedDark) = (tone(.light, .increased), tone(.dark, .increased))
            lightIncreasedContrast = increasedLight == light ? nil : increasedLight
            darkIncreasedContrast = increasedDark == dark ? nil : increasedDark
        }

        func tone(in environment: Environment) -> Tone {
            switch (environment.appearance, environment.contrast) {
            case (.light, .standard): light
            case (.dark, .standard): dark
            case (.light, .increased): lightIncreasedContrast ?? light
            case (.dark, .increased): darkIncreasedContrast ?? dark
            }
        }
    }

    /// A color that doesn't depend on the appearance.
    public enum Tone: Sendable, Hashable {
        /// The default text color of the terminal or label that shows the text.
        case standard
        /// A color in sRGB, with components from 0 to 255. An alpha of 0 is transparent.
        case rgb(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255)
        /// A color in Display P3, with components from 0 to 1. Other values are clamped. Where P3 isn't available, the nearest sRGB color
        /// is shown.
        indirect case displayP3(red: Double, green: Double, blue: Double, alpha: Double = 1)
        /// One of the terminal's sixteen colors.
        case ansi(ANSI)
        /// A color from the app's asset catalog, and the color to use if there isn't one. The fallback must not be a name itself; see
        /// ``Paint/named(_:fallback:)``.
        indirect case named(String, fallback: Tone)

        /// Returns the color `0xRRGGBB`. Higher bits are ignored. Alpha is from 0 to 1 and is stored in 8 bits.
        public static func rgb(_ value: UInt32, alpha: Double = 1) -> Tone {
            .rgb(
                red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
                blue: UInt8(truncatingIfNeeded: value), alpha: SRGBColor.byte(alpha))
        }
    }

    /// The sixteen terminal colors, in the order of their numbers (ECMA-48, section 8.3.117, and aixterm's bright colors).
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
