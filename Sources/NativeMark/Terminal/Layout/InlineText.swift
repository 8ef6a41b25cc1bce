/// The text of one block for a terminal: harmless, cut into characters that know their width and their looks.
///
/// Characters are found in the whole text, not run by run, so that a mark at the beginning of one run still belongs to the
/// letter at the end of the one before.
struct InlineText {
    /// What a piece of text looks like, and where a click on it leads.
    struct Look: Hashable {
        var style: ResolvedTextStyle
        /// The target of an OSC 8 hyperlink, percent-encoded, with the number of the link.
        var link: Hyperlink?
    }

    struct Hyperlink: Hashable {
        var target: String
        var number: Int
    }

    /// A character.
    struct Atom {
        /// Where it begins, and how long it is, in UTF-8 bytes.
        var start: Int
        var length: Int
        /// Its columns, with the room behind it.
        var width: Int
        /// The columns that are added behind it.
        var room: Int
        var look: Int
        var breaking: LineBreaking
    }

    private(set) var text = ""
    private(set) var looks: [Look] = []
    private(set) var atoms: [Atom] = []
    /// Where each look ends in the text.
    private var ends: [Int] = []

    /// Adds text that has been cleaned. A line feed in it ends a line.
    mutating func append(_ string: String, _ look: Look) {
        guard !string.isEmpty else { return }
        text += string
        looks.append(look)
        ends.append(text.utf8.count)
    }

    /// Finds the characters, once all text is there. A character wider than `limit` becomes U+FFFD, which has one column.
    mutating func measure(limit: Int, room: (ResolvedTextStyle) -> Int) {
        let rooms = looks.map { room($0.style) }
        atoms.removeAll()
        atoms.reserveCapacity(text.utf8.count)
        var place = 0
        var look = 0
        for character in text {
            let length = character.utf8.count
            while look < ends.count - 1, ends[look] <= place { look += 1 }
            let width = TerminalText.width(of: character)
            let breaking = LineBreaking(of: character)
            let room = width == 0 ? 0 : rooms[look]
            atoms.append(
                Atom(
                    start: place, length: width > limit ? 0 : length, width: (width > limit ? 1 : width) + room,
                    room: room, look: look, breaking: breaking))
            place += length
        }
    }

    /// Takes the room behind characters away that would be wider than a line with it.
    mutating func clampRooms(to limit: Int) {
        for index in atoms.indices where atoms[index].width > limit {
            atoms[index].width -= atoms[index].room
            atoms[index].room = 0
        }
    }

    /// The columns of some characters.
    func width(of atoms: Range<Int>) -> Int {
        self.atoms[atoms].reduce(0) { $0 + $1.width }
    }

    /// Some characters as pieces of text that look the same.
    func segments(of range: Range<Int>) -> [Segment] {
        guard let first = range.first else { return [] }
        var segments: [Segment] = []
        let utf8 = text.utf8
        var index = utf8.index(utf8.startIndex, offsetBy: atoms[first].start)
        var place = atoms[first].start
        for atom in atoms[range] {
            index = utf8.index(index, offsetBy: atom.start - place)
            let end = utf8.index(index, offsetBy: atom.length)
            if segments.last?.look != looks[atom.look] { segments.append(Segment("", looks[atom.look], width: 0)) }
            segments[segments.count - 1].text += atom.length == 0 ? "\u{FFFD}" : text[index..<end]
            if atom.room > 0 { segments[segments.count - 1].text += String(repeating: " ", count: atom.room) }
            segments[segments.count - 1].width += atom.width
            (index, place) = (end, atom.start + atom.length)
        }
        return segments
    }
}

/// A piece of one line that looks the same.
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
        self.init(text, .init(style: style, link: nil), width: TerminalText.width(of: text))
    }

    static func spaces(_ count: Int, _ style: ResolvedTextStyle) -> [Segment] {
        count > 0 ? [Segment(String(repeating: " ", count: count), .init(style: style, link: nil), width: count)] : []
    }
}

extension [Segment] {
    /// Adds segments; those that look like the one in front of them become a part of it.
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
