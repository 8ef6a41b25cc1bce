/// Makes link targets safe for the two places where a terminal receives them.
enum LinkTarget {
    static func visible(_ target: String) -> String {
        TerminalText.sanitized(target)
    }

    /// Returns the target for OSC 8, which allows only the bytes 0x20 to 0x7E. Other bytes and spaces are percent-encoded.
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

    static func isSaid(_ target: String, by text: String) -> Bool {
        for said in [text, "mailto:" + text, "http://" + text] where said == target || encoded(said) == target {
            return true
        }
        return false
    }
}
