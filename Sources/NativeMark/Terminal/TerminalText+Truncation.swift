extension TerminalText {
    /// The position at which ``truncated(_:toWidth:at:)`` removes characters.
    public enum TruncationPosition: Sendable, Hashable, CaseIterable {
        /// `a long nam…`
        case end
        /// `a lo….flac`: the beginning and the end stay. The extension of a file name stays if possible.
        case middle
    }

    /// Returns text shortened to a width, with `…` in place of the removed characters. Text that fits is returned unchanged.
    ///
    ///     TerminalText.truncated("Weißes Rauschen.flac", toWidth: 12, at: .middle)  // "Weißes….flac"
    ///
    /// The result is never wider than `width` and contains only whole characters. It may be one column narrower if a character of two
    /// columns doesn't fit. If `width` is 0 or negative, the result is empty unless the text has no width.
    ///
    /// An extension is a period, not at the beginning, followed by one to ten ASCII letters or digits. With ``TruncationPosition/middle``,
    /// the extension is kept if it fits next to the ellipsis. Otherwise the two ends get equal space.
    public static func truncated(
        _ text: String, toWidth width: Int, at position: TruncationPosition = .end
    ) -> String {
        let width = max(width, 0)
        let start = prefix(of: text[...], fitting: width)
        guard start.endIndex < text.endIndex else { return text }
        // The ellipsis doesn't combine with adjacent characters, so the widths of the three pieces add up.
        let room = width - 1
        guard room >= 0 else { return "" }
        guard position == .middle else { return prefix(of: start, fitting: room) + "…" }

        let end = suffix(of: text, fitting: roomForEnd(of: text, outOf: room))
        return prefix(of: start, fitting: room - self.width(of: end)) + "…" + end
    }

    /// Returns half of the space, rounded down, or the width of the extension if it is larger and fits.
    private static func roomForEnd(of text: String, outOf room: Int) -> Int {
        guard let dot = text.lastIndex(of: "."), dot > text.startIndex else { return room / 2 }
        let letters = text[dot...].dropFirst()
        let isExtension = letters.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard isExtension, (1...10).contains(letters.count) else { return room / 2 }
        let needed = 1 + letters.count
        return needed <= room ? max(needed, room / 2) : room / 2
    }

    private static func prefix(of text: Substring, fitting width: Int) -> Substring {
        var left = width
        var end = text.startIndex
        while end < text.endIndex {
            left -= self.width(of: text[end])
            if left < 0 { break }
            end = text.index(after: end)
        }
        return text[..<end]
    }

    private static func suffix(of text: String, fitting width: Int) -> Substring {
        var left = width
        var start = text.endIndex
        while start > text.startIndex {
            let before = text.index(before: start)
            left -= self.width(of: text[before])
            if left < 0 { break }
            start = before
        }
        return text[start...]
    }
}
