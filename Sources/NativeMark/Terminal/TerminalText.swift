/// Measures, cleans, shortens and pads text for a terminal, whose unit is the column and not the character.
///
///     let name = TerminalText.sanitized(untrusted)
///     print(TerminalText.padded(TerminalText.truncated(name, toWidth: 30, at: .middle), toWidth: 30), "42 %")
///
/// Widths go by grapheme cluster: CJK and emoji take two columns, combining marks none, and a family of four emoji that
/// are joined to one image takes two. East Asian Ambiguous characters take one. The data is that of
/// `TerminalWidthTable`, which names its Unicode version.
///
/// There is no standard that terminals follow. A terminal that does not know joined emoji or the conjuncts of Indic
/// scripts shows their parts, and needs more columns than are counted here; where two readings are common (U+FE0E after
/// an emoji) the wider one is taken, because a line that is too short does less harm than one that wraps.
///
/// Controls have no width that one could name (a tab depends on where it stands), and count as none: pass text from
/// outside through ``sanitized(_:)`` first. All functions are pure and linear in the length of the text.
public enum TerminalText {
    /// Where ``padded(_:toWidth:alignment:)`` puts the text.
    public enum Alignment: Sendable, Hashable, CaseIterable {
        /// The text, then the spaces.
        case leading
        /// Spaces on both sides, the odd one behind the text.
        case center
        /// The spaces, then the text: numbers.
        case trailing
    }

    /// The columns that a terminal needs to show the text.
    ///
    ///     TerminalText.width(of: "日本.txt")  // 8
    ///
    /// Text of printable ASCII only is counted, not looked up.
    public static func width(of text: String) -> Int {
        measure(text)
    }

    /// The columns that a terminal needs to show this part of a text.
    ///
    /// The width of a whole is the sum of the widths of its parts when it is cut between characters.
    public static func width(of text: Substring) -> Int {
        measure(text)
    }

    /// Adds spaces up to a width. Text that is as wide already, or wider, comes back as it is.
    ///
    ///     TerminalText.padded("日本", toWidth: 6)                        // "日本  "
    ///     TerminalText.padded("7", toWidth: 3, alignment: .trailing)    // "  7"
    public static func padded(_ text: String, toWidth width: Int, alignment: Alignment = .leading) -> String {
        let missing = width - self.width(of: text)
        guard missing > 0 else { return text }
        let before =
            switch alignment {
            case .leading: 0
            case .center: missing / 2
            case .trailing: missing
            }
        return String(repeating: " ", count: before) + text + String(repeating: " ", count: missing - before)
    }

    private static func measure(_ text: some StringProtocol) -> Int {
        var bytes = 0
        for byte in text.utf8 {
            guard byte >= 0x20, byte < 0x7F else {
                return text.reduce(0) { $0 + width(of: $1) }
            }
            bytes += 1
        }
        return bytes
    }
}
