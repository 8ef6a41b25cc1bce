extension StringProtocol {
    /// Whether it is a number without sign or space: what `1*DIGIT` of HTTP's grammars is.
    var isDigits: Bool {
        !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Without the spaces and tabs around it that HTTP allows beside a value (OWS of RFC 9110, section 5.6.3).
    func trimmingSpaces() -> String {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var bytes = Substring(self).utf8
        guard bytes.first.map(isSpace) == true || bytes.last.map(isSpace) == true else { return String(self) }
        bytes = bytes.drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
