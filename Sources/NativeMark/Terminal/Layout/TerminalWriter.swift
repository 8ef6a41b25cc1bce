/// Writes lines of segments, with an escape sequence wherever the look changes.
///
/// Attributes are reset at the end of each line, so that text printed next to a line is plain. A link that spans several lines has its
/// target on each of them, as long as that doesn't make the output much longer than the text.
struct TerminalWriter {
    private let renderer: TerminalRenderer
    private let bodySize: Double
    private let appearance: StyleSheet.Appearance
    private var parameters: [ResolvedTextStyle: String] = [:]
    private(set) var output = ""
    private var isEmpty = true
    /// The numbers of the hyperlinks so far.
    private var linked: Set<Int> = []
    /// The number of bytes that may still be written again: targets of hyperlinks, and names of columns. Without this limit, a long target
    /// on each line of a long link, for example, would take the product of both lengths.
    private var repetitionsLeft: Int

    /// `length` is the number of bytes of the text.
    init(renderer: TerminalRenderer, bodySize: Double, appearance: StyleSheet.Appearance, length: Int) {
        repetitionsLeft = max(Self.leastRepetitions, length)
        self.renderer = renderer
        self.bodySize = bodySize
        self.appearance = appearance
    }

    static let leastRepetitions = 100_000

    /// Returns whether so many bytes may be written again, and counts them.
    mutating func mayRepeat(_ count: Int) -> Bool {
        guard count <= repetitionsLeft else { return false }
        repetitionsLeft -= count
        return true
    }

    mutating func line(_ segments: [Segment]) {
        if !isEmpty { output += "\n" }
        isEmpty = false
        var current = ""
        // The wanted link, and whether it is a hyperlink.
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
