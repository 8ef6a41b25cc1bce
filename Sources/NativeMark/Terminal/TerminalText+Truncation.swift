extension TerminalText {
    /// Where ``truncated(_:toWidth:at:)`` takes characters away.
    public enum TruncationPosition: Sendable, Hashable, CaseIterable {
        /// `a long nam…`
        case end
        /// `a lo….flac`: the beginning and the end stay, of a file's name the extension first of all.
        case middle
    }

    /// Shortens text to a width, with `…` in place of what is left out. Text that fits comes back as it is.
    ///
    ///     TerminalText.truncated("Weißes Rauschen.flac", toWidth: 12, at: .middle)  // "Weißes….flac"
    ///
    /// The result is never wider than asked, and never holds a part of a character. It may be one column narrower, where
    /// a character of two columns no longer fits. In no columns at all (a negative width counts as 0) nothing is left but
    /// text that takes none.
    ///
    /// An extension is a dot, not the first character, with one to ten ASCII letters or digits after it. It is kept whole
    /// in the middle position if it fits beside the ellipsis; otherwise the two ends share the room.
    public static func truncated(
        _ text: String, toWidth width: Int, at position: TruncationPosition = .end
    ) -> String {
        let width = max(width, 0)
        let start = prefix(of: text[...], fitting: width)
        guard start.endIndex < text.endIndex else { return text }
        // The ellipsis joins no character before or behind it, so the widths of the three pieces add up.
        let room = width - 1
        guard room >= 0 else { return "" }
        guard position == .middle else { return prefix(of: start, fitting: room) + "…" }

        let end = suffix(of: text, fitting: roomForEnd(of: text, outOf: room))
        return prefix(of: start, fitting: room - self.width(of: end)) + "…" + end
    }

    /// Half of the room, rounded down, or what the extension needs if that is more and there.
    private static func roomForEnd(of text: String, outOf room: Int) -> Int {
        guard let dot = text.lastIndex(of: "."), dot > text.startIndex else { return room / 2 }
        let letters = text[dot...].dropFirst()
        let isExtension = letters.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard isExtension, (1...10).contains(letters.count) else { return room / 2 }
        let needed = 1 + letters.count
        return needed <= room ? max(needed, room / 2) : room / 2
    }

    /// The longest beginning in whole characters that is no wider.
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

    /// The longest end in whole characters that is no wider.
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
