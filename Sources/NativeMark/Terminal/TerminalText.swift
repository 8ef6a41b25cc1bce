/// Measures, sanitizes, truncates and pads text for terminals, which count columns instead of characters.
///
///     let name = TerminalText.sanitized(untrusted)
///     print(TerminalText.padded(TerminalText.truncated(name, toWidth: 30, at: .middle), toWidth: 30), "42 %")
///
/// Widths are those of grapheme clusters: CJK characters and emoji take two columns, combining marks take none, and a family of four emoji
/// joined to one image takes two. East Asian Ambiguous characters take one. Control characters count as 0 columns, because the width of a
/// tab, for example, depends on its position. Pass untrusted text through ``sanitized(_:)`` first.
///
/// Terminals don't follow a standard. A terminal that doesn't support joined emoji or the conjuncts of Indic scripts shows their parts and
/// needs more columns than counted here. If terminals differ (U+FE0E after an emoji), the larger width is used, because a line that is too
/// short does less harm than a line that wraps.
///
/// All functions take time linear in the length of the text.
public enum TerminalText {
    /// The position of text within the width of ``padded(_:toWidth:alignment:)``.
    public enum Alignment: Sendable, Hashable, CaseIterable {
        /// Spaces after the text.
        case leading
        /// Spaces on both sides. If the number is odd, the extra space is after the text.
        case center
        /// Spaces before the text, as for numbers.
        case trailing
    }

    /// Returns the number of columns that a terminal needs to show a text.
    ///
    ///     TerminalText.width(of: "日本.txt")  // 8
    public static func width(of text: String) -> Int {
        measure(text)
    }

    /// Returns the number of columns that a terminal needs to show a part of a text.
    ///
    /// If a text is divided between characters, its width is the sum of the widths of the parts.
    public static func width(of text: Substring) -> Int {
        measure(text)
    }

    /// Returns text padded with spaces to a width. Text that is at least as wide is returned unchanged.
    ///
    ///     TerminalText.padded("日本", toWidth: 6)                        // "日本  "
    ///     TerminalText.padded("7", toWidth: 3, alignment: .trailing)    // "  7"
    public static func padded(_ text: String, toWidth width: Int, alignment: Alignment = .leading) -> String {
        let missing = max(width, 0) - self.width(of: text)
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
