/// Labels of references (CommonMark 6.3).
enum Labels {
    static let maximalLength = 999

    /// Returns the position of the `]` that closes the `[` at `start`, or `nil` if the label is too long or contains another `[`.
    static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int, to limit: Int) -> Int? {
        var index = start + 1
        let last = min(limit, start + 1 + 4 * maximalLength)
        var characters = 0
        while index < last {
            switch bytes[index] {
            case 0x5B: return nil
            case 0x5D: return characters <= maximalLength ? index : nil
            case 0x5C where index + 1 < last && bytes[index + 1].isPunctuation:
                index += 2
                characters += 2
            case 0x80..<0xC0: index += 1
            default:
                index += 1
                characters += 1
            }
        }
        return nil
    }

    /// Returns a label in the form in which matching labels are equal: with full case folding, and with white space collapsed and trimmed.
    ///
    /// Mapping each scalar to lowercase and then to uppercase unifies the variants of a letter: ẞ, ß, SS and ss become SS. The result is an
    /// array of bytes, because String's `==` would also treat canonically equivalent labels as equal.
    static func folded(_ label: String) -> [UInt8] {
        var result = ""
        result.reserveCapacity(label.utf8.count)
        var pendingSpace = false
        for scalar in label.unicodeScalars {
            if scalar.isMarkdownSpace {
                pendingSpace = !result.isEmpty
                continue
            }
            if pendingSpace { result.unicodeScalars.append(" ") }
            pendingSpace = false
            if scalar.isASCII {
                let value = scalar.value
                let isLower = value >= 0x61 && value <= 0x7A
                result.unicodeScalars.append(isLower ? Unicode.Scalar(value - 32)! : scalar)
            } else {
                for lower in scalar.properties.lowercaseMapping.unicodeScalars {
                    result += lower.properties.uppercaseMapping
                }
            }
        }
        return Array(result.utf8)
    }
}

extension Unicode.Scalar {
    /// White space as defined by CommonMark: category Zs, tab, line feed, form feed, carriage return.
    var isMarkdownSpace: Bool {
        switch value {
        case 0x20, 0x09, 0x0A, 0x0C, 0x0D: true
        case 0..<0x80: false
        default: isSpaceSeparator
        }
    }

    /// Punctuation as defined by CommonMark: categories P and S.
    var isMarkdownPunctuation: Bool { value < 0x80 ? UInt8(value).isPunctuation : isPunctuationOrSymbol }

    // The properties of Unicode are slow to get, also where a character turns out to be ASCII.

    @inline(never) private var isSpaceSeparator: Bool { properties.generalCategory == .spaceSeparator }

    @inline(never) private var isPunctuationOrSymbol: Bool {
        switch properties.generalCategory {
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
            .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
            return true
        default: return false
        }
    }
}
