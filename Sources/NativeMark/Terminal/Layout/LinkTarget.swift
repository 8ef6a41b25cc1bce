/// Makes the target of a link harmless, for the two places where a terminal gets it.
enum LinkTarget {
    /// For the eyes: one line without controls.
    static func visible(_ target: String) -> String {
        TerminalText.sanitized(target)
    }

    /// For OSC 8, which allows the bytes 0x20 to 0x7E only: everything else, and the space, is percent-encoded.
    static func encoded(_ target: String) -> String {
        var result = ""
        for byte in target.utf8 {
            if byte > 0x20, byte < 0x7F {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 0x10 ? "%0" + digits : "%" + digits
            }
        }
        return result
    }

    /// Whether the text of a link says already where it leads.
    static func isSaid(_ target: String, by text: String) -> Bool {
        for said in [text, "mailto:" + text, "http://" + text] where said == target || encoded(said) == target {
            return true
        }
        return false
    }
}
