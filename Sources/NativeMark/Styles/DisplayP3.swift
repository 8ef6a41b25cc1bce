/// Conversions between sRGB and Display P3, which have the same white and the same transfer function.
///
/// The matrices are those of CSS Color 4 (section 18, "Sample code for color conversions"): from linear components to XYZ with a white of
/// D65, and from there to the other space.
enum DisplayP3 {
    /// Returns the nearest color in sRGB: components outside its gamut are clipped. Components that aren't numbers count as 0.
    static func srgb(red: Double, green: Double, blue: Double, alpha: Double) -> SRGBColor {
        let linear = [red, green, blue].map { decoded(clamped($0)) }
        let result = toSRGB.map { row in clamped(encoded(zip(row, linear).reduce(0) { $0 + $1.0 * $1.1 })) }
        return SRGBColor(red: result[0], green: result[1], blue: result[2], alpha: clamped(alpha))
    }

    static func clamped(_ component: Double) -> Double { component.isFinite ? min(max(component, 0), 1) : 0 }

    /// The product of the matrices from Display P3 to XYZ and from XYZ to sRGB.
    private static let toSRGB = [
        [1.224_940_176_280_559, -0.224_940_176_280_559, 0],
        [-0.042_056_954_709_688, 1.042_056_954_709_688, 0],
        [-0.019_637_554_590_334, -0.078_636_045_550_632, 1.098_273_600_140_966],
    ]

    /// Its inverse.
    private static let fromSRGB = [
        [0.822_461_968_714_462, 0.177_538_031_285_538, 0],
        [0.033_194_198_850_962, 0.966_805_801_149_038, 0],
        [0.017_082_630_721_120, 0.072_397_440_663_964, 0.910_519_928_614_916],
    ]

    /// The transfer function of sRGB (IEC 61966-2-1), continued for negative values.
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
    /// Creates a color from components in extended sRGB, as Apple's frameworks give them: colors outside sRGB have components below 0 or
    /// above 1 and become colors in Display P3.
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

extension DisplayP3 {
    /// Returns the components in Display P3 of a color in extended sRGB, clipped.
    static func components(red: Double, green: Double, blue: Double) -> [Double] {
        let linear = [red, green, blue].map { decoded($0.isFinite ? $0 : 0) }
        return fromSRGB.map { row in clamped(encoded(zip(row, linear).reduce(0) { $0 + $1.0 * $1.1 })) }
    }
}
