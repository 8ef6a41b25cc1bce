extension StyleSheet.Tone {
    /// The components for displays without a palette of sixteen colors, or `nil` for the standard color.
    var rgb: (red: UInt8, green: UInt8, blue: UInt8)? {
        switch self {
        case .standard: return nil
        case .rgb(let red, let green, let blue): return (red, green, blue)
        case .ansi(let color):
            let value = StyleSheet.ANSI.xterm[color.number]
            return (UInt8(value >> 16), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF))
        }
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
