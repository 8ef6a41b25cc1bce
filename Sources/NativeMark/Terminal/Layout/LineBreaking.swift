/// The line breaking class of a character: the classes of UAX #14 that matter in a terminal, in a few groups.
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

    /// The characters besides closing brackets that don't begin a line in Japanese and Chinese (kinsoku).
    private static let neverBegins = Set(
        "、。，．！？：；・ー々ゝゞヽヾ…‥〜％ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ".unicodeScalars)

    /// `before` is the class of the character before `left`.
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
    /// A word that is wider than a line is broken between characters. The algorithm is greedy and takes linear time.
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

    /// The lines of the source end only at line feeds and keep all spaces.
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
