/// The sanitized text of one block, divided into characters with a width and a look.
///
/// The text is divided as a whole, not run by run, because a combining mark at the beginning of a run belongs to the letter at the end of
/// the previous run.
struct InlineText {
    struct Look: Hashable {
        var style: ResolvedTextStyle
        /// The hyperlink, with a percent-encoded target.
        var link: Hyperlink?
        /// Whether the text is a visible link target, which breaks only if it is wider than a line.
        var isTarget = false
        /// The index of the image that replaces one character.
        var image: Int?
    }

    /// An image that is one row high.
    struct Image {
        /// The escape sequences that show the image and move the cursor past it.
        var sequences: String
        var columns: Int
        var look: Look
    }

    struct Hyperlink: Hashable {
        var target: String
        var number: Int
    }

    struct Atom {
        /// The position and length in UTF-8 bytes. A length of 0 means that U+FFFD replaces a character that is too wide.
        var start: Int
        var length: Int
        /// The number of columns, including `kerning`.
        var width: Int
        /// The number of spaces added after the character.
        var kerning: Int
        var look: Int
        var breaking: LineBreaking
    }

    private(set) var text = ""
    private(set) var looks: [Look] = []
    private(set) var atoms: [Atom] = []
    private var images: [Image] = []
    /// The end of each look in the text, as UTF-8 offsets.
    private var ends: [Int] = []

    /// Appends sanitized text. Line feeds end lines.
    mutating func append(_ string: String, _ look: Look) {
        guard !string.isEmpty else { return }
        text += string
        looks.append(look)
        ends.append(text.utf8.count)
    }

    /// Appends a text without images.
    mutating func append(_ other: InlineText) {
        let start = text.utf8.count
        text += other.text
        looks += other.looks
        ends += other.ends.map { start + $0 }
    }

    var widestImage: Int { images.reduce(0) { max($0, $1.columns) } }

    mutating func append(_ image: Image) {
        var look = image.look
        look.image = images.count
        images.append(image)
        append("\u{FFFC}", look)
    }

    /// Divides the complete text into characters. A character wider than `limit` becomes U+FFFD, which takes one column. If `kerning` would
    /// make a character wider than `limit`, it is dropped.
    mutating func measure(limit: Int, kerning: (ResolvedTextStyle) -> Int) {
        // Characters can't be drawn closer together than their columns.
        let kernings = looks.map { max(0, kerning($0.style)) }
        atoms.removeAll()
        atoms.reserveCapacity(text.utf8.count)
        var position = 0
        var look = 0
        for character in text {
            let length = character.utf8.count
            while look < ends.count - 1, ends[look] <= position { look += 1 }
            if let image = looks[look].image {
                // Lines may break before and after an image, as at wide characters.
                atoms.append(
                    Atom(
                        start: position, length: length, width: images[image].columns, kerning: 0, look: look,
                        breaking: .wide))
                position += length
                continue
            }
            let width = TerminalText.width(of: character)
            var breaking = LineBreaking(of: character)
            if looks[look].isTarget, breaking != .space, breaking != .newline { breaking = .letter }
            let shown = width > limit ? 1 : width
            let kerning = width == 0 || shown + kernings[look] > limit ? 0 : kernings[look]
            atoms.append(
                Atom(
                    start: position, length: width > limit ? 0 : length, width: shown + kerning, kerning: kerning,
                    look: look, breaking: breaking))
            position += length
        }
    }

    func width(of atoms: Range<Int>) -> Int {
        self.atoms[atoms].reduce(0) { $0 + $1.width }
    }

    func segments(of range: Range<Int>) -> [Segment] {
        guard let first = range.first else { return [] }
        var segments: [Segment] = []
        let utf8 = text.utf8
        var index = utf8.index(utf8.startIndex, offsetBy: atoms[first].start)
        var position = atoms[first].start
        for atom in atoms[range] {
            index = utf8.index(index, offsetBy: atom.start - position)
            let end = utf8.index(index, offsetBy: atom.length)
            if segments.last?.look != looks[atom.look] { segments.append(Segment("", looks[atom.look], width: 0)) }
            if let image = looks[atom.look].image {
                segments[segments.count - 1].text = images[image].sequences
                segments[segments.count - 1].width = atom.width
                (index, position) = (end, atom.start + atom.length)
                continue
            }
            segments[segments.count - 1].text += atom.length == 0 ? "\u{FFFD}" : text[index..<end]
            if atom.kerning > 0 { segments[segments.count - 1].text += String(repeating: " ", count: atom.kerning) }
            segments[segments.count - 1].width += atom.width
            (index, position) = (end, atom.start + atom.length)
        }
        return segments
    }
}

struct Segment {
    var text: String
    var look: InlineText.Look
    var width: Int

    init(_ text: String, _ look: InlineText.Look, width: Int) {
        self.text = text
        self.look = look
        self.width = width
    }

    init(_ text: String, _ style: ResolvedTextStyle) {
        self.init(text, .init(style: style), width: TerminalText.width(of: text))
    }

    static func spaces(_ count: Int, _ style: ResolvedTextStyle) -> [Segment] {
        count > 0 ? [Segment(String(repeating: " ", count: count), .init(style: style), width: count)] : []
    }
}

extension [Segment] {
    var width: Int { reduce(0) { $0 + $1.width } }

    /// Sets the background of the segments that have none.
    mutating func fill(_ background: StyleSheet.Tone?) {
        for index in indices where self[index].look.style.background == nil {
            self[index].look.style.background = background
        }
    }

    /// Appends segments, and merges each with the previous one if they have the same look.
    mutating func join(_ others: [Segment]) {
        for segment in others {
            if let last, last.look == segment.look {
                self[count - 1].text += segment.text
                self[count - 1].width += segment.width
            } else {
                append(segment)
            }
        }
    }
}

// MARK: - Line breaking

/// The line breaking class of a character. Groups the classes of UAX #14 that matter in a terminal.
///
/// A line may break after spaces, before and after wide characters (ideographs, kana, Hangul, emoji), and after a hyphen between
/// letters. It doesn't break next to a no-break space or word joiner, before closing characters (`）`, `。`, small kana), or after
/// opening characters (`「`).
enum LineBreaking: Sendable {
    case newline
    case space
    /// No-break spaces and the word joiner.
    case glue
    case opening
    case closing
    case hyphen
    case wide
    case letter

    init(of character: Character) {
        let scalars = character.unicodeScalars
        let first = scalars[scalars.startIndex]
        switch first {
        case "a"..."z", "A"..."Z", "0"..."9": self = .letter
        case "\n": self = .newline
        case " ", "\u{1680}", "\u{2000}"..."\u{2006}", "\u{2008}"..."\u{200B}", "\u{205F}", "\u{3000}": self = .space
        case "\u{A0}", "\u{2007}", "\u{202F}", "\u{2060}", "\u{FEFF}": self = .glue
        case "-", "\u{2010}", "\u{2013}", "\u{2014}": self = .hyphen
        case "!", ",", ".", ":", ";", "?", "%": self = .closing
        case _ where first.value >= 0x2018 && Self.neverBegins.contains(first): self = .closing
        default:
            switch first.properties.generalCategory {
            case .openPunctuation, .initialPunctuation: self = .opening
            case .closePunctuation, .finalPunctuation: self = .closing
            default: self = TerminalText.width(of: character) >= 2 ? .wide : .letter
            }
        }
    }

    /// Characters other than closing brackets that must not begin a line in Japanese and Chinese (kinsoku).
    private static let neverBegins = Set(
        "、。，．！？：；・ー々ゝゞヽヾ…‥〜％ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ".unicodeScalars)

    /// Returns whether a line may break between two characters. `before` is the class of the character before `left`.
    static func mayBreak(_ before: LineBreaking?, _ left: LineBreaking, _ right: LineBreaking) -> Bool {
        switch (left, right) {
        case (_, .space), (_, .newline), (_, .glue), (.glue, _): false
        case (.space, _), (.newline, _): true
        case (.opening, _), (_, .closing): false
        case (.hyphen, .letter): before == .letter
        case (.wide, _), (_, .wide), (.closing, .opening): true
        default: false
        }
    }
}

extension InlineText {
    struct Limits {
        var first: Int
        var others: Int
    }

    /// Breaks the text into lines at the limits and at line feeds. Spaces at the end of a line are dropped.
    ///
    /// A word that is wider than a line breaks between characters. The algorithm is greedy and takes linear time.
    func lines(_ limits: Limits) -> [Range<Int>] {
        var lines: [Range<Int>] = []
        var start = 0
        var width = 0
        var opportunity: Int?
        func finish(at end: Int) {
            lines.append(trimmed(start..<end))
            opportunity = nil
        }
        for (index, atom) in atoms.enumerated() {
            if atom.breaking == .newline {
                finish(at: index)
                (start, width) = (index + 1, 0)
                continue
            }
            let left = index > start ? atoms[index - 1].breaking : nil
            if let left,
                LineBreaking.mayBreak(index > start + 1 ? atoms[index - 2].breaking : nil, left, atom.breaking),
                atom.width > 0
            {
                opportunity = index
            }
            while index > start, atom.breaking != .space,
                width + atom.width > (lines.isEmpty ? limits.first : limits.others)
            {
                let next = opportunity ?? index
                finish(at: next)
                start = next
                width = self.width(of: start..<index)
            }
            width += atom.width
        }
        finish(at: atoms.count)
        return lines
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        var end = range.upperBound
        while end > range.lowerBound, atoms[end - 1].breaking == .space { end -= 1 }
        return range.lowerBound..<end
    }

    /// Returns the lines of the source, which end only at line feeds and keep all their spaces.
    func sourceLines() -> [Range<Int>] {
        var lines: [Range<Int>] = []
        var start = 0
        for (index, atom) in atoms.enumerated() where atom.breaking == .newline {
            lines.append(start..<index)
            start = index + 1
        }
        lines.append(start..<atoms.count)
        return lines
    }

    func prefix(of range: Range<Int>, fitting width: Int) -> Range<Int> {
        var left = width
        var end = range.lowerBound
        while end < range.upperBound {
            left -= atoms[end].width
            if left < 0 { break }
            end += 1
        }
        return range.lowerBound..<end
    }

    /// Returns the widths of the widest line and of the widest part that can't be broken.
    func extent() -> (longest: Int, unbreakable: Int) {
        var longest = 0
        var unbreakable = 0
        for line in sourceLines() {
            longest = max(longest, width(of: trimmed(line)))
            var part = 0
            for index in trimmed(line) {
                if index > line.lowerBound,
                    LineBreaking.mayBreak(
                        index > line.lowerBound + 1 ? atoms[index - 2].breaking : nil, atoms[index - 1].breaking,
                        atoms[index].breaking)
                {
                    part = 0
                }
                if atoms[index].breaking != .space { part += atoms[index].width }
                unbreakable = max(unbreakable, part)
            }
        }
        return (longest, unbreakable)
    }
}

// MARK: - From the runs of a block

extension TerminalLayout {
    /// Returns the text of runs, with link targets and image sources added. Each image in `images` replaces its description.
    func inlineText(
        of runs: ArraySlice<StyledText.Run>, in block: StyledText.Block, images: [Int: TerminalRenderer.Image] = [:]
    ) -> InlineText {
        var result = InlineText()
        append(runs, in: block, images: images, to: &result)
        return result
    }

    func append(
        _ runs: ArraySlice<StyledText.Run>, in block: StyledText.Block, images: [Int: TerminalRenderer.Image] = [:],
        to result: inout InlineText
    ) {
        var shownLink = ""
        let marksStruckText = renderer.color == .none && !block.isCode
        for index in runs.indices {
            let run = runs[index]
            let isStruck = marksStruckText && run.style.isStruckThrough
            if isStruck, index == runs.startIndex || !runs[index - 1].style.isStruckThrough {
                result.append(Self.strikethrough, InlineText.Look(style: run.style))
            }
            defer {
                if isStruck, index + 1 == runs.endIndex || !runs[index + 1].style.isStruckThrough {
                    result.append(Self.strikethrough, InlineText.Look(style: run.style))
                }
            }
            let hyperlink = hyperlink(of: run)
            let look = InlineText.Look(style: run.style, link: hyperlink)
            let image = run.image.flatMap { images[$0] }
            let shown = image == nil ? string(of: run, in: block) : ""
            result.append(shown, look)
            if let image { result.append(inLine(image, link: look.link)) }
            shownLink += shown
            let plain = InlineText.Look(style: block.style.text, isTarget: true)
            if let number = run.image, image == nil, hyperlink == nil, renderer.images != .alternativeText {
                result.append(target(text.images[number].source, unlessIn: shown), plain)
            }
            let isLast = index + 1 == runs.endIndex || runs[index + 1].link != run.link
            if isLast, let link = run.link, hyperlink == nil {
                result.append(target(text.links[link].destination, unlessIn: shownLink), plain)
            }
            if isLast { shownLink = "" }
        }
    }

    /// Marks struck text where there are no text attributes. This is Markdown's own delimiter, which survives copying and can be read
    /// aloud.
    private static let strikethrough = "~~"

    private func target(_ target: String, unlessIn shown: String) -> String {
        // A target that begins with # is in the document itself. Showing such targets would make a table of contents hard to read.
        let isSilent = target.isEmpty || target.hasPrefix("#") || LinkTarget.isShown(target, in: shown)
        return isSilent ? "" : " <\(TerminalText.sanitized(target))>"
    }

    /// Returns the hyperlink of a run that is in a link or is an image, or `nil` if the terminal can't follow the target, which is then
    /// shown as text.
    func hyperlink(of run: StyledText.Run) -> InlineText.Hyperlink? {
        guard renderer.hyperlinks else { return nil }
        var target = ""
        var number = 0
        if let link = run.link {
            (target, number) = (text.links[link].destination, link)
        } else if let image = run.image, renderer.images != .alternativeText {
            // Images are numbered after the links.
            (target, number) = (text.images[image].source, text.links.count + image)
        }
        return LinkTarget.hyperlink(target).map { .init(target: $0, number: before.hyperlinkCount + number) }
    }

    private func string(of run: StyledText.Run, in block: StyledText.Block) -> String {
        if run.isLineBreak { return "\n" }
        if let image = run.image, text.images[image].alternativeText.isEmpty {
            let path = text.images[image].source.prefix { $0 != "?" && $0 != "#" }
            let name = path.split(separator: "/").last ?? "image"
            return TerminalText.sanitized(String(name))
        }
        let string = String(text.string(of: run))
        if block.isCode { return Self.code(string) }
        if run.footnote != nil, run.style.baseline == 0 { return "[\(string)]" }
        return Self.raised(TerminalText.sanitized(string), by: run.style.baseline)
    }

    /// Returns sanitized code. A tab advances to the next multiple of four columns, counted from the beginning of the line or run.
    private static func code(_ string: String) -> String {
        var lines: [String] = []
        for line in string.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            var result = ""
            var column = 0
            for part in line.split(separator: "\t", omittingEmptySubsequences: false) {
                if column > 0 || !result.isEmpty || part.startIndex > line.startIndex {
                    let stop = 4 - column % 4
                    result += String(repeating: " ", count: stop)
                    column += stop
                }
                let clean = TerminalText.sanitized(String(part))
                result += clean
                column += TerminalText.width(of: clean)
            }
            lines.append(result)
        }
        return lines.joined(separator: "\n")
    }

    /// Returns superscript or subscript digits if the style raises or lowers the text and the text has only digits.
    private static func raised(_ string: String, by baseline: Double) -> String {
        guard baseline != 0 else { return string }
        let digits = Array(baseline > 0 ? "⁰¹²³⁴⁵⁶⁷⁸⁹" : "₀₁₂₃₄₅₆₇₈₉")
        var result = ""
        for character in string {
            guard character.isASCII, let digit = character.wholeNumberValue else { return string }
            result.append(digits[digit])
        }
        return result
    }
}

// MARK: - Link targets

/// Prepares link targets for hyperlinks, and checks whether text already shows a target.
enum LinkTarget {
    /// The longest hyperlink target in bytes. VTE ignores longer targets, as Internet Explorer did.
    static let longestHyperlink = 2_083

    /// Returns the target for a hyperlink, or `nil` if a terminal can't follow it. The target must be absolute, because the terminal
    /// doesn't know the document's address, and not too long.
    static func hyperlink(_ target: String) -> String? {
        guard target.utf8.count <= longestHyperlink, isAbsolute(target) else { return nil }
        let encoded = encoded(target)
        return encoded.utf8.count <= longestHyperlink ? encoded : nil
    }

    /// Returns the target for OSC 8, which allows only the bytes 0x20 to 0x7E. Other bytes and spaces are percent-encoded.
    static func encoded(_ target: String) -> String {
        let bytes = Array(target.utf8)
        return LinkDestination.percentEncoded(bytes) { bytes[$0] > 0x20 && bytes[$0] < 0x7F }
    }

    /// Whether the target has a scheme (RFC 3986, section 3.1) of at least two characters. A single letter would be a Windows drive.
    static func isAbsolute(_ target: String) -> Bool {
        let scheme = target.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard scheme.count >= 2, scheme.count < target.utf8.count, let first = scheme.first else { return false }
        return first.isLetter && scheme.allSatisfy { $0.isLetterOrDigit || "+-.".utf8.contains($0) }
    }

    /// Whether the text already shows the target. The text may lack `mailto:` or `http://`, and it needn't be percent-encoded.
    static func isShown(_ target: String, in text: String) -> Bool {
        [text, "mailto:" + text, "http://" + text].contains {
            $0 == target || LinkDestination.normalized(Array($0.utf8)) == target
        }
    }
}
