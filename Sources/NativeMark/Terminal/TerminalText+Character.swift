extension TerminalText {
    /// The columns that a terminal needs to show one character.
    ///
    ///     TerminalText.width(of: Character("👨‍👩‍👧"))  // 2
    ///
    /// A character is an extended grapheme cluster (UAX #29). Its width is the sum of those of its scalars, with three
    /// exceptions:
    ///
    /// 1. In a cluster that begins with an emoji, later emoji (skin tones, what a joiner adds, the second half of a flag)
    ///    change the picture and not its width: two columns together.
    /// 2. U+FE0F makes two columns of an emoji or keycap base that takes one as text. U+FE0E does not make one of two:
    ///    hardly any terminal does.
    /// 3. A letter with spacing marks, and a conjunct of an Indic script (one with a virama), take two columns at most. That
    ///    holds for up to 16 scalars, more than writing needs: a longer cluster is an attempt to pass for narrow.
    public static func width(of character: Character) -> Int {
        let scalars = character.unicodeScalars
        let base = scalars[scalars.startIndex]
        var last = TerminalWidthTable.widthClass(of: base)
        var width = last.columns
        let others = scalars.dropFirst()
        guard !others.isEmpty else { return width }

        let isPicture = !base.isASCII && base.properties.isEmoji
        var isJoined = false
        for scalar in others {
            if scalar == "\u{FE0F}" {
                if last == .narrowOrEmoji { width += 1 }
                last = .none
            } else if isPicture, scalar.properties.isEmoji {
                width = max(width, 2)
                last = .none  // So that a selector behind it adds nothing either.
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
