/// Writes lines of segments, with an escape sequence wherever the look changes.
///
/// Attributes are reset at the end of each line, so that text printed next to a line is plain.
struct TerminalWriter {
    private let renderer: TerminalRenderer
    private let bodySize: Double
    private let appearance: StyleSheet.Appearance
    private var parameters: [ResolvedTextStyle: String] = [:]
    private(set) var output = ""
    private var isEmpty = true

    init(renderer: TerminalRenderer, bodySize: Double, appearance: StyleSheet.Appearance) {
        self.renderer = renderer
        self.bodySize = bodySize
        self.appearance = appearance
    }

    mutating func line(_ segments: [Segment]) {
        if !isEmpty { output += "\n" }
        isEmpty = false
        var current = ""
        var link: InlineText.Hyperlink?
        for segment in segments where !segment.text.isEmpty {
            if segment.look.link != link {
                link = segment.look.link
                output += hyperlink(link)
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
        if link != nil { output += hyperlink(nil) }
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
