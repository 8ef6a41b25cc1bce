/// Measures, sanitizes, truncates and pads text for terminals, which count columns instead of characters.
///
///     let name = TerminalText.sanitized(untrusted)
///     print(TerminalText.padded(TerminalText.truncated(name, toWidth: 30, at: .middle), toWidth: 30), "42 %")
///
/// Width is measured in grapheme clusters. CJK characters and emoji take two columns, combining marks take none, and a family of four emoji
/// joined into one image takes two. East Asian Ambiguous characters take one. Control characters count as 0 columns, because their width
/// isn't fixed: a tab's width depends on its position. Pass untrusted text through ``sanitized(_:)`` first.
///
/// There is no standard for widths in terminals. A terminal that doesn't support joined emoji or the conjuncts of Indic scripts shows their
/// parts, and needs more columns than counted here. Where terminals disagree (U+FE0E after an emoji), the larger width counts, because a
/// line that is too short does less harm than a line that wraps.
///
/// All functions take linear time.
public enum TerminalText {
    /// Where to put the text within the width of ``padded(_:toWidth:alignment:)``.
    public enum Alignment: Sendable, Hashable, CaseIterable {
        /// Spaces after the text.
        case leading
        /// Spaces on both sides. If their number is odd, the extra space goes after the text.
        case center
        /// Spaces before the text, as for numbers.
        case trailing
    }

    /// Returns the number of columns that a terminal needs to show `text`.
    ///
    ///     TerminalText.width(of: "日本.txt")  // 8
    public static func width(of text: String) -> Int {
        measure(text)
    }

    /// Returns the number of columns that a terminal needs to show part of a text.
    ///
    /// If a text is divided between characters, its width is the sum of the widths of the parts.
    public static func width(of text: Substring) -> Int {
        measure(text)
    }

    /// Returns text padded with spaces to a width. Text that is already that wide is returned unchanged. Widths above 10,000 count as
    /// 10,000.
    ///
    ///     TerminalText.padded("日本", toWidth: 6)                        // "日本  "
    ///     TerminalText.padded("7", toWidth: 3, alignment: .trailing)    // "  7"
    public static func padded(_ text: String, toWidth width: Int, alignment: Alignment = .leading) -> String {
        let missing = min(max(width, 0), TerminalRenderer.maximalWidth) - self.width(of: text)
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

// MARK: - Width of a character

extension TerminalText {
    /// Returns the number of columns that a terminal needs to show a character.
    ///
    ///     TerminalText.width(of: Character("👨‍👩‍👧"))  // 2
    ///
    /// A character is an extended grapheme cluster (UAX #29). Its width is the sum of the widths of its scalars, with three exceptions:
    ///
    /// 1. In a cluster that begins with an emoji, further emoji (skin tones, joined emoji, the second half of a flag) don't add width.
    ///    Together they take two columns.
    /// 2. U+FE0F changes the width of an emoji or keycap base from one column to two. U+FE0E doesn't change it from two to one, because
    ///    hardly any terminal does that.
    /// 3. A letter with spacing marks, or a conjunct of an Indic script (one with a virama), takes at most two columns. The rule applies to
    ///    clusters of up to 16 scalars. Longer clusters don't occur in real text and are measured in full.
    public static func width(of character: Character) -> Int {
        let scalars = character.unicodeScalars
        let base = scalars[scalars.startIndex]
        var last = TerminalWidthTable.widthClass(of: base)
        var width = last.columns
        let others = scalars.dropFirst()
        guard !others.isEmpty else { return width }

        let isImage = !base.isASCII && base.properties.isEmoji
        var isJoined = false
        for scalar in others {
            if scalar == "\u{FE0F}" {
                if last == .narrowOrEmoji { width += 1 }
                last = .none
            } else if isImage, scalar.properties.isEmoji {
                width = max(width, 2)
                last = .none  // A following variation selector adds no width either.
            } else {
                last = TerminalWidthTable.widthClass(of: scalar)
                width += last.columns
                isJoined = isJoined || scalar.isSpacingMarkOrVirama
            }
        }
        return isJoined && scalars.count <= 16 ? min(width, 2) : width
    }
}

extension Unicode.Scalar {
    fileprivate var isSpacingMarkOrVirama: Bool {
        properties.generalCategory == .spacingMark || properties.canonicalCombiningClass == .virama
    }
}

extension TerminalWidthTable.Class {
    fileprivate var columns: Int {
        switch self {
        case .none: 0
        case .narrow, .narrowOrEmoji: 1
        case .wide: 2
        }
    }
}

// MARK: - Sanitizing

extension TerminalText {
    /// Makes untrusted text, such as a file name, a header or a link target, safe to print on one line.
    ///
    ///     TerminalText.sanitized("song\u{1B}[2J\u{202E}3pm.exe")  // "song\u{FFFD}[2J3pm.exe"
    ///
    /// Printing the result can't move the cursor, clear the screen, make the terminal send input, or show letters out of order:
    ///
    /// | in the text | in the result |
    /// |---|---|
    /// | tab, line feed, vertical tab, form feed, carriage return (CR LF as one), NEL, U+2028, U+2029 | a space |
    /// | all other C0 and C1 controls, including ESC, and DEL | U+FFFD, so that the reader sees that something was there |
    /// | bidirectional controls: U+061C, U+200E, U+200F, U+202A–202E, U+2066–2069; the deprecated U+206A–206F | nothing |
    ///
    /// All other characters are kept, including joiners, variation selectors and right-to-left letters. A terminal with bidirectional
    /// support still shows right-to-left letters from right to left.
    ///
    /// Sanitizing the result again changes nothing. Text that needs no change is returned without a copy.
    public static func sanitized(_ text: String) -> String {
        guard let first = text.unicodeScalars.firstIndex(where: { treatment(of: $0) != .keep }) else { return text }
        var result = String(text.unicodeScalars[..<first])
        var last: Unicode.Scalar?
        for scalar in text.unicodeScalars[first...] {
            switch treatment(of: scalar) {
            case .keep: result.unicodeScalars.append(scalar)
            case .space: if !(last == "\r" && scalar == "\n") { result.unicodeScalars.append(" ") }
            case .replace: result.unicodeScalars.append("\u{FFFD}")
            case .remove: break
            }
            last = scalar
        }
        return result
    }

    private enum Treatment {
        case keep
        case space
        case replace
        case remove
    }

    private static func treatment(of scalar: Unicode.Scalar) -> Treatment {
        switch scalar.value {
        case 0x20..<0x7F: .keep
        case 0x09...0x0D, 0x85, 0x2028, 0x2029: .space
        case 0x00..<0x20, 0x7F..<0xA0: .replace
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F: .remove
        default: .keep
        }
    }
}

// MARK: - Truncation

extension TerminalText {
    /// Where ``truncated(_:toWidth:at:)`` removes characters.
    public enum TruncationPosition: Sendable, Hashable, CaseIterable {
        /// `a long nam…`
        case end
        /// `a lo….flac`: keeps the beginning and the end, and if possible a file extension.
        case middle
    }

    /// Shortens text to a width, with `…` in place of the removed characters. Text that fits is returned unchanged.
    ///
    ///     TerminalText.truncated("Weißes Rauschen.flac", toWidth: 12, at: .middle)  // "Weißes….flac"
    ///
    /// The result is never wider than `width` and contains only whole characters. It may be one column narrower if a two-column character
    /// doesn't fit. If `width` is 0 or negative, the result is empty unless the text itself takes no columns.
    ///
    /// An extension is a period, not at the beginning, followed by one to ten ASCII letters or digits. ``TruncationPosition/middle`` keeps
    /// the extension if it fits next to the ellipsis. Otherwise the two ends get equal space.
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

    /// Returns half of the space, rounded down, or the width of the extension if that is larger and fits.
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
