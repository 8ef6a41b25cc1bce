extension TerminalText {
    /// Returns untrusted text, such as a file name, a header or a link target, as one line that is safe to print.
    ///
    ///     TerminalText.sanitized("song\u{1B}[2J\u{202E}3pm.exe")  // "song\u{FFFD}[2J3pm.exe"
    ///
    /// Printing the result can't move the cursor, clear the screen, make the terminal send input, or show letters out of their order:
    ///
    /// | in the text | in the result |
    /// |---|---|
    /// | tab, line feed, vertical tab, form feed, carriage return (CR LF as one), NEL, U+2028, U+2029 | a space |
    /// | all other C0 and C1 controls, including ESC, and DEL | U+FFFD, so that the reader sees that something was there |
    /// | bidirectional controls: U+061C, U+200E, U+200F, U+202A–202E, U+2066–2069; the deprecated U+206A–206F | nothing |
    ///
    /// All other characters stay, including joiners, variation selectors and right-to-left letters. A terminal with bidirectional support
    /// still shows right-to-left letters from the right.
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
