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

// MARK: - sRGB

/// A color in sRGB with components from 0 to 1, for output that supports neither asset catalogs nor Display P3.
struct SRGBColor: Sendable, Hashable {
    var red: Double
    var green: Double
    var blue: Double
    var alpha = 1.0

    static let black = SRGBColor(red: 0, green: 0, blue: 0)
    static let white = SRGBColor(red: 1, green: 1, blue: 1)

    /// The components as bytes, without alpha.
    var bytes: (red: UInt8, green: UInt8, blue: UInt8) { (Self.byte(red), Self.byte(green), Self.byte(blue)) }

    static func byte(_ component: Double) -> UInt8 {
        component.isFinite ? UInt8((min(max(component, 0), 1) * 255).rounded()) : 0
    }

    /// Returns the opaque color that results from drawing this color over an opaque background. Like browsers, blends in encoded sRGB.
    func blended(over background: SRGBColor) -> SRGBColor {
        func mix(_ front: Double, _ back: Double) -> Double { front * alpha + back * (1 - alpha) }
        return SRGBColor(
            red: mix(red, background.red), green: mix(green, background.green), blue: mix(blue, background.blue))
    }
}

extension StyleSheet.Tone {
    /// The components in sRGB, or `nil` for the standard color. A name uses its fallback.
    var srgb: SRGBColor? {
        switch withoutName {
        case .standard, .named: return nil
        case .rgb(let red, let green, let blue, let alpha):
            return SRGBColor(
                red: Double(red) / 255, green: Double(green) / 255, blue: Double(blue) / 255, alpha: Double(alpha) / 255
            )
        case .displayP3(let red, let green, let blue, let alpha):
            return DisplayP3.srgb(red: red, green: green, blue: blue, alpha: alpha)
        case .ansi(let color):
            return StyleSheet.Tone.rgb(StyleSheet.ANSI.xterm[color.number]).srgb
        }
    }

    /// The color itself, or the fallback of a name.
    var withoutName: StyleSheet.Tone {
        var tone = self
        while case .named(_, let fallback) = tone { tone = fallback }
        return tone
    }
}

extension StyleSheet.ANSI {
    /// The number of the color in a terminal, 0 to 15.
    var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// xterm's default palette (`XTerm-col.ad`).
    static let xterm: [UInt32] = [
        0x000000, 0xCD0000, 0x00CD00, 0xCDCD00, 0x0000EE, 0xCD00CD, 0x00CDCD, 0xE5E5E5,
        0x7F7F7F, 0xFF0000, 0x00FF00, 0xFFFF00, 0x5C5CFF, 0xFF00FF, 0x00FFFF, 0xFFFFFF,
    ]
}

// MARK: - Display P3

/// Converts between sRGB and Display P3, which share a white point and a transfer function.
///
/// The matrices come from CSS Color 4 (section 18, "Sample code for color conversions"). They convert linear components to XYZ with a D65
/// white point, and from there to the other space.
enum DisplayP3 {
    /// Returns the color in sRGB, with components outside its gamut clipped. Components that aren't finite count as 0.
    static func srgb(red: Double, green: Double, blue: Double, alpha: Double) -> SRGBColor {
        let linear = [red, green, blue].map { decoded(clamped($0)) }
        let result = toSRGB.map { clamped(encoded(product($0, linear))) }
        return SRGBColor(red: result[0], green: result[1], blue: result[2], alpha: clamped(alpha))
    }

    /// Converts a color in extended sRGB to Display P3, and clips the components.
    static func components(red: Double, green: Double, blue: Double) -> [Double] {
        let linear = [red, green, blue].map { decoded($0.isFinite ? $0 : 0) }
        return fromSRGB.map { clamped(encoded(product($0, linear))) }
    }

    private static func product(_ row: [Double], _ column: [Double]) -> Double {
        zip(row, column).reduce(0) { $0 + $1.0 * $1.1 }
    }

    static func clamped(_ component: Double) -> Double { component.isFinite ? min(max(component, 0), 1) : 0 }

    /// The product of the matrices from Display P3 to XYZ and from XYZ to sRGB.
    private static let toSRGB = [
        [1.224_940_176_280_559, -0.224_940_176_280_559, 0],
        [-0.042_056_954_709_688, 1.042_056_954_709_688, 0],
        [-0.019_637_554_590_334, -0.078_636_045_550_632, 1.098_273_600_140_966],
    ]

    /// The inverse of `toSRGB`.
    private static let fromSRGB = [
        [0.822_461_968_714_462, 0.177_538_031_285_538, 0],
        [0.033_194_198_850_962, 0.966_805_801_149_038, 0],
        [0.017_082_630_721_120, 0.072_397_440_663_964, 0.910_519_928_614_916],
    ]

    /// The transfer function of sRGB (IEC 61966-2-1), extended to negative values.
    private static func decoded(_ value: Double) -> Double {
        let size = abs(value)
        let linear = size <= 0.040_45 ? size / 12.92 : power(root((size + 0.055) / 1.055, 5), 12)
        return value < 0 ? -linear : linear
    }

    private static func encoded(_ linear: Double) -> Double {
        let size = abs(linear)
        let value = size <= 0.003_130_8 ? size * 12.92 : 1.055 * power(root(size, 12), 5) - 0.055
        return linear < 0 ? -value : value
    }

    private static func power(_ base: Double, _ exponent: Int) -> Double {
        (0..<exponent).reduce(1) { result, _ in result * base }
    }

    /// Returns the positive root of a positive number, by Newton's method from above. FoundationEssentials has no `pow` for `Double`.
    private static func root(_ value: Double, _ degree: Int) -> Double {
        var root = max(value, 1)
        while true {
            let next = root - (root - value / power(root, degree - 1)) / Double(degree)
            guard next < root else { return root }
            root = next
        }
    }
}

extension StyleSheet.Tone {
    /// Creates a color from components in extended sRGB, as Apple's frameworks provide them. Colors outside sRGB have components below 0 or
    /// above 1 and become Display P3 colors.
    init(extendedRed red: Double, green: Double, blue: Double, alpha: Double) {
        let tolerance = 0.5 / 255
        if [red, green, blue].allSatisfy({ -tolerance...1 + tolerance ~= $0 }) {
            self = .rgb(
                red: SRGBColor.byte(red), green: SRGBColor.byte(green), blue: SRGBColor.byte(blue),
                alpha: SRGBColor.byte(alpha))
        } else {
            let components = DisplayP3.components(red: red, green: green, blue: blue)
            self = .displayP3(
                red: components[0], green: components[1], blue: components[2], alpha: DisplayP3.clamped(alpha))
        }
    }
}

// MARK: - JSON

// A color in JSON is a role, a tone, or an object. The object has either a tone for each appearance, or a name and a fallback.

extension StyleSheet.Tone {
    /// Reads `standard`, `ansi:red`, `#RRGGBB`, `#RRGGBBAA`, `color(display-p3 1 0.5 0 / 0.8)` and `name:Brand`.
    init?(text: String) {
        if text == "standard" {
            self = .standard
        } else if text.hasPrefix("ansi:"), let color = StyleSheet.ANSI(rawValue: String(text.dropFirst(5))) {
            self = .ansi(color)
        } else if text.hasPrefix("name:"), text.utf8.count > 5 {
            self = .named(String(text.dropFirst(5)), fallback: .standard)
        } else if text.hasPrefix("#"), let color = Self(hexadecimal: text.dropFirst()) {
            self = color
        } else if let color = Self(displayP3: text) {
            self = color
        } else {
            return nil
        }
    }

    private init?(hexadecimal digits: Substring) {
        guard [6, 8].contains(digits.utf8.count), digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: 16)
        else { return nil }
        self = digits.utf8.count == 6 ? .rgb(value) : .rgb(value >> 8, alpha: Double(value & 0xFF) / 255)
    }

    /// Reads the `color()` function of CSS Color 4, section 10. Components are numbers from 0 to 1 or percentages.
    private init?(displayP3 text: String) {
        guard text.hasPrefix("color("), text.hasSuffix(")") else { return nil }
        let parts = text.dropFirst(6).dropLast().split(separator: "/", omittingEmptySubsequences: false)
        let components = parts[0].split(separator: " ")
        guard parts.count <= 2, components.count == 4, components[0] == "display-p3" else { return nil }
        let alpha = parts.count == 2 ? parts[1].split(separator: " ") : ["1"]
        let numbers = (components.dropFirst() + alpha).map(Self.component)
        guard numbers.count == 4, let red = numbers[0], let green = numbers[1], let blue = numbers[2],
            let alpha = numbers[3]
        else { return nil }
        self = .displayP3(red: red, green: green, blue: blue, alpha: alpha)
    }

    private static func component(_ text: Substring) -> Double? {
        let number = text.hasSuffix("%") ? Double(text.dropLast()).map { $0 / 100 } : Double(text)
        return number.flatMap { 0...1 ~= $0 ? $0 : nil }
    }

    /// The text that `init(text:)` reads, or `nil` for an empty name or a name with a fallback.
    var text: String? {
        switch self {
        case .standard: return "standard"
        case .ansi(let color): return "ansi:\(color.rawValue)"
        case .rgb(let red, let green, let blue, let alpha):
            return "#" + ([red, green, blue] + (alpha == 255 ? [] : [alpha])).map(Self.hexadecimal).joined()
        case .displayP3(let red, let green, let blue, let alpha):
            let alpha = DisplayP3.clamped(alpha)
            let components = [red, green, blue].map { "\(DisplayP3.clamped($0))" }.joined(separator: " ")
            return "color(display-p3 \(components)\(alpha == 1 ? "" : " / \(alpha)"))"
        case .named(let name, .standard): return name.isEmpty ? nil : "name:\(name)"
        case .named: return nil
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    static let remedy =
        "\"#RRGGBB\", \"#RRGGBBAA\", \"color(display-p3 1 0.5 0)\" with components from 0 to 1, \"name:Brand\", "
        + "\"standard\", or one of " + StyleSheet.ANSI.allCases.map { "ansi:\($0.rawValue)" }.joined(separator: ", ")

    fileprivate init(json decoder: any Decoder) throws {
        guard let text = try? decoder.singleValueContainer().decode(String.self) else {
            let (name, fallback) = try decoder.namedColor()
            self = .named(name, fallback: try fallback.map { try Self(plainJSON: $0) } ?? .standard)
            return
        }
        self = try Self(text: text, at: decoder.codingPath)
    }

    private init(text: String, at path: [any CodingKey]) throws {
        guard let tone = Self(text: text) else {
            throw NativeMarkError(.styleSheet, at: path, "isn't a color: '\(text)'", remedy: "Write " + Self.remedy)
        }
        self = tone
    }

    /// Reads the fallback of a name. It can't be a name itself, so that one lookup in the asset catalog is enough.
    fileprivate init(plainJSON decoder: any Decoder) throws {
        self = try Self(text: try decoder.string(expected: "a color"), at: decoder.codingPath)
        if case .named = self {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "is a name, as the color that it replaces",
                remedy: "Write a color with components, such as \"#RRGGBB\"")
        }
    }

    fileprivate func encode(into encoder: any Encoder) throws {
        if let text { return try encoder.write(text) }
        guard case .named(let name, let fallback) = self else { return }
        var container = encoder.container(keyedBy: StyleKey.self)
        try container.encode(name, forKey: "name")
        try container.encode(fallback.withoutName.text, forKey: "fallback")
    }
}

private enum NamedColorPart: String, CaseIterable {
    case name, fallback
}

extension Decoder {
    /// Reads `{ "name": …, "fallback": … }`.
    fileprivate func namedColor() throws -> (name: String, fallback: (any Decoder)?) {
        let object = try object(of: NamedColorPart.self, called: "part of a color")
        guard let name = try object.value(of: .name, { try $0.string(expected: "the name of a color") }) else {
            throw NativeMarkError(
                .styleSheet, at: codingPath, "has no name",
                remedy: "Write \"name\" and, for terminals and HTML, \"fallback\"")
        }
        return (name, try object.value(of: .fallback) { $0 })
    }
}

extension StyleSheet.Paint {
    private enum Side: String, CaseIterable {
        case light, dark, lightIncreasedContrast, darkIncreasedContrast
    }

    init(json decoder: any Decoder) throws {
        guard let keys = try? decoder.container(keyedBy: StyleKey.self).allKeys.map(\.stringValue) else {
            self.init(try StyleSheet.Tone(json: decoder))
            return
        }
        if keys.contains("name") {
            let (name, fallback) = try decoder.namedColor()
            self = .named(name, fallback: try fallback.map { try Self(plainJSON: $0) } ?? .init(.standard))
        } else {
            try self.init(sides: decoder) { try StyleSheet.Tone(json: $0) }
        }
    }

    private init(plainJSON decoder: any Decoder) throws {
        if (try? decoder.singleValueContainer().decode(String.self)) != nil {
            self.init(try StyleSheet.Tone(plainJSON: decoder))
        } else {
            try self.init(sides: decoder) { try StyleSheet.Tone(plainJSON: $0) }
        }
    }

    private init(sides decoder: any Decoder, _ read: (any Decoder) throws -> StyleSheet.Tone) throws {
        let object = try decoder.object(of: Side.self, called: "appearance")
        guard let light = try object.value(of: .light, read), let dark = try object.value(of: .dark, read) else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "doesn't have a color for both appearances",
                remedy: "Write both \"light\" and \"dark\"")
        }
        self.init(
            light: light, dark: dark, lightIncreasedContrast: try object.value(of: .lightIncreasedContrast, read),
            darkIncreasedContrast: try object.value(of: .darkIncreasedContrast, read))
    }

    func encode(into encoder: any Encoder) throws {
        if let name = commonName {
            let plain = StyleSheet.Paint(
                light: light.withoutName, dark: dark.withoutName,
                lightIncreasedContrast: lightIncreasedContrast?.withoutName,
                darkIncreasedContrast: darkIncreasedContrast?.withoutName)
            var container = encoder.container(keyedBy: StyleKey.self)
            try container.encode(name, forKey: "name")
            try plain.encodeSides(into: container.superEncoder(forKey: "fallback"))
        } else {
            try encodeSides(into: encoder)
        }
    }

    /// The asset name, if all tones have the same one.
    private var commonName: String? {
        guard case .named(let name, _) = light else { return nil }
        let tones = [dark, lightIncreasedContrast, darkIncreasedContrast].compactMap { $0 }
        return tones.allSatisfy { if case .named(name, _) = $0 { true } else { false } } ? name : nil
    }

    private func encodeSides(into encoder: any Encoder) throws {
        if light == dark, lightIncreasedContrast == nil, darkIncreasedContrast == nil, let text = light.text {
            return try encoder.write(text)
        }
        var container = encoder.container(keyedBy: StyleKey.self)
        try light.encode(into: container.superEncoder(forKey: "light"))
        try dark.encode(into: container.superEncoder(forKey: "dark"))
        try lightIncreasedContrast?.encode(into: container.superEncoder(forKey: "lightIncreasedContrast"))
        try darkIncreasedContrast?.encode(into: container.superEncoder(forKey: "darkIncreasedContrast"))
    }
}

extension StyleSheet.Color {
    init(json decoder: any Decoder) throws {
        guard let text = try? decoder.singleValueContainer().decode(String.self) else {
            self = .paint(try .init(json: decoder))
            return
        }
        if let role = StyleSheet.Role(rawValue: text) {
            self = .role(role)
        } else if let tone = StyleSheet.Tone(text: text) {
            self = .paint(.init(tone))
        } else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a color: '\(text)'",
                remedy: "Write a role (\(StyleSheet.Role.allCases.map(\.rawValue).joined(separator: ", "))), "
                    + "{ \"light\": …, \"dark\": … }, " + StyleSheet.Tone.remedy)
        }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .role(let role): try encoder.write(role.rawValue)
        case .paint(let paint): try paint.encode(into: encoder)
        }
    }
}
