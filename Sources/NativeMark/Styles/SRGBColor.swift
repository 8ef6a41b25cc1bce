/// A color in sRGB with components from 0 to 1, for displays without asset catalogs and without Display P3.
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

    /// Returns the opaque color that is seen in front of an opaque background. Blended as by browsers: in encoded sRGB.
    func blended(over background: SRGBColor) -> SRGBColor {
        func mix(_ front: Double, _ back: Double) -> Double { front * alpha + back * (1 - alpha) }
        return SRGBColor(
            red: mix(red, background.red), green: mix(green, background.green), blue: mix(blue, background.blue))
    }
}

extension StyleSheet.Tone {
    /// The components in sRGB, or `nil` for the standard color. Names have the components of their fallback.
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
            let value = StyleSheet.ANSI.xterm[color.number]
            return SRGBColor(
                red: Double(value >> 16) / 255, green: Double(value >> 8 & 0xFF) / 255, blue: Double(value & 0xFF) / 255
            )
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
    static let xterm: [Int] = [
        0x000000, 0xCD0000, 0x00CD00, 0xCDCD00, 0x0000EE, 0xCD00CD, 0x00CDCD, 0xE5E5E5,
        0x7F7F7F, 0xFF0000, 0x00FF00, 0xFFFF00, 0x5C5CFF, 0xFF00FF, 0x00FFFF, 0xFFFFFF,
    ]
}
