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
