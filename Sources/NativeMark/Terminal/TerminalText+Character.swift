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
    /// 3. A letter with spacing marks, or a conjunct of an Indic script (one with a virama), takes at most two columns. The rule applies
    ///    to clusters of up to 16 scalars; longer ones don't occur in writing and are measured in full.
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
