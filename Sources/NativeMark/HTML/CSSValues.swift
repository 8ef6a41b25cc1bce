/// Values as CSS. Every text that comes from a style sheet passes through one of these functions.
enum CSSText {
    /// The font size of body text on iOS. It becomes one `rem`, the size that the reader chose in the browser.
    static let pointsOfRootEm = 17.0

    /// Returns a number without an exponent, with at most four decimals. NaN and infinity become 0.
    static func number(_ value: Double, _ range: ClosedRange<Double> = -10_000...10_000) -> String {
        let limited = value.isFinite ? min(max(value, range.lowerBound), range.upperBound) : 0
        let rounded = (limited * 10_000).rounded() / 10_000
        return rounded == rounded.rounded() ? String(Int(rounded)) : "\(rounded)"
    }

    static func length(_ length: StyleSheet.Length) -> String {
        switch length {
        case .points(let points): number(points) + "px"
        case .em(let ems): number(ems) + "em"
        }
    }

    /// Returns a length, or zero if it is negative.
    static func distance(_ length: StyleSheet.Length) -> String {
        switch length {
        case .points(let points): Self.length(.points(max(points, 0)))
        case .em(let ems): Self.length(.em(max(ems, 0)))
        }
    }

    static func extent(_ extent: StyleSheet.Extent) -> String {
        switch extent {
        case .length(let length): distance(length)
        case .fraction(let fraction): number(fraction.isFinite ? fraction * 100 : 100, 0...100) + "%"
        }
    }

    /// Returns a CSS string. All ASCII characters except letters, digits, spaces, `-` and `_` are escaped (CSS Syntax, section 4.3.7,
    /// "Consume an escaped code point"). Control characters become U+FFFD.
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", " ", "-", "_": result.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value): result += "\u{FFFD}"
            case _ where scalar.isASCII: result += "\\\(String(scalar.value, radix: 16)) "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    static func stack(_ design: StyleSheet.FontDesign) -> String {
        switch design {
        case .default: "system-ui, sans-serif"
        case .serif: "ui-serif, Georgia, serif"
        case .rounded: "ui-rounded, system-ui, sans-serif"
        case .monospaced: "ui-monospace, Menlo, Consolas, monospace"
        }
    }

    /// CSS Fonts 4, section 2.3: extra-condensed, condensed, normal and expanded.
    static func stretch(_ width: StyleSheet.FontWidth) -> String {
        switch width {
        case .compressed: "62.5%"
        case .condensed: "75%"
        case .standard: "100%"
        case .expanded: "125%"
        }
    }

    static func color(_ tone: StyleSheet.Tone, isBackground: Bool) -> String {
        switch tone.withoutName {
        case .standard, .named: isBackground ? "transparent" : "CanvasText"
        case .rgb, .displayP3: tone.withoutName.text ?? "CanvasText"
        case .ansi(let ansi):
            "#" + String(StyleSheet.ANSI.xterm[ansi.number] | 0x100_0000, radix: 16).dropFirst()
        }
    }
}

extension StyleSheet.Paint {
    fileprivate var tones: [StyleSheet.Tone] {
        [light, dark] + [lightIncreasedContrast, darkIncreasedContrast].compactMap { $0 }
    }
}

/// The colors of a sheet as CSS variables, each with values for light, dark and increased contrast.
struct CSSColors {
    private var names: [Key: String] = [:]
    private var variables: [(name: String, paint: StyleSheet.Paint, isBackground: Bool)] = []

    private struct Key: Hashable {
        var color: StyleSheet.Color
        var isBackground: Bool
    }

    mutating func value(of color: StyleSheet.Color, in sheet: StyleSheet, isBackground: Bool) -> String {
        let paint = sheet.paint(of: color)
        // Only the standard color depends on its use: as text, it is the text color; as background, none.
        let key = Key(color: color, isBackground: isBackground && paint.tones.contains { $0.withoutName == .standard })
        return "var(\(names[key] ?? add(key, paint)))"
    }

    private mutating func add(_ key: Key, _ paint: StyleSheet.Paint) -> String {
        let name: String
        switch key.color {
        case .role(let role): name = "--nm-\(role.rawValue)\(key.isBackground ? "-behind" : "")"
        case .paint: name = "--nm-\(variables.count)"
        }
        names[key] = name
        variables.append((name, paint, key.isBackground))
        return name
    }

    var rules: String {
        let light = declarations { $0.light }
        guard !light.isEmpty else { return "" }
        return ".nativemark { \(light) }\n"
            + media("(prefers-color-scheme: dark)", declarations { $0.dark == $0.light ? nil : $0.dark })
            + media("(prefers-contrast: more)", declarations { $0.lightIncreasedContrast })
            // Otherwise, the preceding rule would also apply in dark mode.
            + media(
                "(prefers-color-scheme: dark) and (prefers-contrast: more)",
                declarations {
                    $0.darkIncreasedContrast ?? ($0.lightIncreasedContrast == nil ? nil : $0.dark)
                })
    }

    private func declarations(_ tone: (StyleSheet.Paint) -> StyleSheet.Tone?) -> String {
        variables.compactMap { variable in
            tone(variable.paint).map { "\(variable.name): \(CSSText.color($0, isBackground: variable.isBackground));" }
        }.joined(separator: " ")
    }

    private func media(_ condition: String, _ declarations: String) -> String {
        declarations.isEmpty ? "" : "@media \(condition) { .nativemark { \(declarations) } }\n"
    }
}
