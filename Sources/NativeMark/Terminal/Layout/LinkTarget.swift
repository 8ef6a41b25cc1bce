/// Makes link targets safe for the two places where a terminal receives them.
enum LinkTarget {
    static func visible(_ target: String) -> String {
        TerminalText.sanitized(target)
    }

    /// The longest target of a hyperlink in bytes. VTE ignores longer ones, as Internet Explorer did.
    static let longestHyperlink = 2_083

    /// Returns the target for a hyperlink, or `nil` if a terminal can't follow it: a target that isn't absolute, because a terminal
    /// doesn't know the document's address, or one that is too long.
    static func hyperlink(_ target: String) -> String? {
        guard target.utf8.count <= longestHyperlink, isAbsolute(target) else { return nil }
        let encoded = encoded(target)
        return encoded.utf8.count <= longestHyperlink ? encoded : nil
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

    /// Whether the target has a scheme (RFC 3986, section 3.1) of at least two characters; one is a drive of Windows.
    static func isAbsolute(_ target: String) -> Bool {
        let scheme = target.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard scheme.count >= 2, scheme.count < target.utf8.count, let first = scheme.first else { return false }
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        return isLetter(first)
            && scheme.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }
    }

    /// Whether the text is the target, as the parser encodes it.
    static func isSaid(_ target: String, by text: String) -> Bool {
        for said in [text, "mailto:" + text, "http://" + text]
        where said == target || LinkDestination.normalized(Array(said.utf8)) == target {
            return true
        }
        return false
    }
}
