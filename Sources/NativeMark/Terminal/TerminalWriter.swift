/// Writes lines of segments, with an escape sequence wherever the look changes.
///
/// Attributes are reset at the end of each line, so that text printed next to a line is plain. A link that spans several lines repeats its
/// target on each line, unless that would make the output much longer than the text.
struct TerminalWriter {
    private let renderer: TerminalRenderer
    private let bodySize: Double
    private let appearance: StyleSheet.Appearance
    private var parameters: [ResolvedTextStyle: String] = [:]
    private(set) var output = ""
    private(set) var isEmpty = true
    /// The numbers of the hyperlinks so far.
    private var linked: Set<Int> = []
    /// The number of repeated bytes that may still be written, in hyperlink targets and column names. Without this limit, repeating a long
    /// target on each line of a long link, for example, would take the product of both lengths.
    private(set) var repetitionsLeft: Int

    init(renderer: TerminalRenderer, bodySize: Double, appearance: StyleSheet.Appearance, repetitions: Int) {
        repetitionsLeft = repetitions
        self.renderer = renderer
        self.bodySize = bodySize
        self.appearance = appearance
    }

    static let leastRepetitions = 100_000

    /// Returns whether `count` more repeated bytes may be written, and if so, counts them.
    mutating func mayRepeat(_ count: Int) -> Bool {
        guard count <= repetitionsLeft else { return false }
        repetitionsLeft -= count
        return true
    }

    mutating func line(_ segments: [Segment]) {
        if !isEmpty { output += "\n" }
        isEmpty = false
        var current = ""
        // The current link, and whether it is written as a hyperlink.
        var link: InlineText.Hyperlink?
        var isLinked = false
        for segment in segments where !segment.text.isEmpty {
            if segment.look.link != link {
                link = segment.look.link
                let mayLink = link.map { linked.insert($0.number).inserted || mayRepeat($0.target.utf8.count) } ?? false
                if mayLink || isLinked { output += hyperlink(mayLink ? link : nil) }
                isLinked = mayLink
            }
            let wanted = sequence(of: segment.look.style)
            if wanted != current {
                if !current.isEmpty { output += "\u{1B}[0m" }
                if !wanted.isEmpty { output += "\u{1B}[\(wanted)m" }
                current = wanted
            }
            output += segment.text
        }
        if !current.isEmpty { output += "\u{1B}[0m" }
        if isLinked { output += hyperlink(nil) }
    }

    func shows(_ background: StyleSheet.Tone?) -> Bool {
        guard let background else { return false }
        var style = ResolvedTextStyle(fontSize: bodySize)
        style.background = background
        return !renderer.parameters(of: style, bodySize: bodySize, appearance: appearance).isEmpty
    }

    private mutating func sequence(of style: ResolvedTextStyle) -> String {
        if let known = parameters[style] { return known }
        let sequence = renderer.parameters(of: style, bodySize: bodySize, appearance: appearance)
        parameters[style] = sequence
        return sequence
    }

    /// The ID joins the parts of a link that spans several lines.
    private func hyperlink(_ link: InlineText.Hyperlink?) -> String {
        guard let link else { return "\u{1B}]8;;\u{1B}\\" }
        return "\u{1B}]8;id=\(link.number);\(link.target)\u{1B}\\"
    }
}

// MARK: - Styles as parameters

extension TerminalRenderer {
    /// Returns the SGR parameters of a style (ECMA-48, section 8.3.117), joined by semicolons, or an empty string for plain text.
    ///
    /// Translucent text colors are blended with the style's background. Translucent backgrounds, and text without a background, are blended
    /// with black or white.
    func parameters(of style: ResolvedTextStyle, bodySize: Double, appearance: StyleSheet.Appearance) -> String {
        guard color != .none else { return "" }
        let isLarge = style.fontSize > bodySize
        // Sheets often make code a little smaller because monospaced fonts look larger, not to make it less prominent.
        let isSmall = style.fontSize < bodySize && style.baseline == 0 && style.fontDesign != .monospaced
        var parameters: [String] = []
        if style.isBold || isLarge {
            parameters.append("1")
        } else if isSmall {
            parameters.append("2")
        }
        if style.isItalic { parameters.append("3") }
        let page = appearance == .light ? SRGBColor.white : .black
        let behind = style.background?.srgb?.blended(over: page) ?? page
        if let line = style.underline { parameters += underline(line, over: behind) }
        if style.isStruckThrough { parameters.append("9") }
        if let foreground = parameter(of: style.color, over: behind, isBackground: false) {
            parameters.append(foreground)
        }
        if let background = style.background.flatMap({ parameter(of: $0, over: page, isBackground: true) }) {
            parameters.append(background)
        }
        return parameters.joined(separator: ";")
    }

    /// Patterns and colors of underlines have subparameters with colons, as in kitty, iTerm2, VTE and others. They are written only for
    /// terminals with full color, and after the plain parameter, which remains if a terminal doesn't know them.
    private func underline(_ line: ResolvedTextStyle.Line, over background: SRGBColor) -> [String] {
        var parameters = ["4"]
        guard color == .full else { return parameters }
        switch line.pattern {
        case .single, .thick: break
        case .double: parameters.append("4:2")
        case .wavy: parameters.append("4:3")
        case .dotted: parameters.append("4:4")
        case .dashed: parameters.append("4:5")
        }
        if case .ansi(let ansi)? = line.color?.withoutName {
            parameters.append("58:5:\(ansi.number)")
        } else if let srgb = line.color?.srgb, srgb.alpha > 0 {
            let (red, green, blue) = srgb.blended(over: background).bytes
            parameters.append("58:2::\(red):\(green):\(blue)")
        }
        return parameters
    }

    private func parameter(of tone: StyleSheet.Tone, over background: SRGBColor, isBackground: Bool) -> String? {
        if case .ansi(let ansi) = tone.withoutName {
            return Self.parameter(ofANSI: ansi.number, isBackground: isBackground)
        }
        // A transparent color shows what is behind it: the terminal's own background or text color.
        guard let srgb = tone.srgb, srgb.alpha > 0 else { return nil }
        let (red, green, blue) = srgb.blended(over: background).bytes
        let rgb = RGB(red: Int(red), green: Int(green), blue: Int(blue))
        let kind = isBackground ? "48" : "38"
        switch color {
        case .full: return "\(kind);2;\(red);\(green);\(blue)"
        case .ansi256: return "\(kind);5;\(rgb.nearestOf256)"
        // The nearest of sixteen colors may differ a lot: a pale background would become white behind white text.
        case .ansi16: return isBackground ? nil : Self.parameter(ofANSI: rgb.nearestOf16, isBackground: false)
        case .none: return nil
        }
    }

    private static func parameter(ofANSI number: Int, isBackground: Bool) -> String {
        String((number < 8 ? 30 + number : 82 + number) + (isBackground ? 10 : 0))
    }
}

private struct RGB {
    var red: Int
    var green: Int
    var blue: Int

    private func distance(to other: RGB) -> Int {
        let (red, green, blue) = (red - other.red, green - other.green, blue - other.blue)
        return red * red + green * green + blue * blue
    }

    /// The nearest of the 256 colors. Colors 16 to 231 are a cube with these six steps per side, and 232 to 255 are grays from 8 in steps
    /// of 10.
    var nearestOf256: Int {
        let steps = [0, 95, 135, 175, 215, 255]
        func nearest(_ value: Int) -> Int {
            steps.indices.min { abs(steps[$0] - value) < abs(steps[$1] - value) } ?? 0
        }
        let (red, green, blue) = (nearest(red), nearest(green), nearest(blue))
        let cube = RGB(red: steps[red], green: steps[green], blue: steps[blue])
        let step = min(max((self.red + self.green + self.blue) / 3 - 3, 0) / 10, 23)
        let gray = RGB(red: 8 + 10 * step, green: 8 + 10 * step, blue: 8 + 10 * step)
        return distance(to: gray) < distance(to: cube) ? 232 + step : 16 + 36 * red + 6 * green + blue
    }

    /// The nearest of the sixteen colors in xterm's default palette.
    var nearestOf16: Int {
        let colors = StyleSheet.ANSI.xterm.map {
            RGB(red: Int($0 >> 16), green: Int($0 >> 8 & 0xFF), blue: Int($0 & 0xFF))
        }
        return colors.indices.min { distance(to: colors[$0]) < distance(to: colors[$1]) } ?? 7
    }
}
