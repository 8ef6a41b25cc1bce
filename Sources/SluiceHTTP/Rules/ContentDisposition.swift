extension SafeFileName {
    /// Returns the file name in a `Content-Disposition` field (RFC 6266), made safe, or `nil` if it contains none.
    ///
    ///     SafeFileName.suggested(byContentDisposition: "attachment; filename=\"a.txt\"; filename*=UTF-8''%e2%82%ac.txt")   // "€.txt"
    ///
    /// `filename*` (RFC 8187) takes precedence over `filename` (RFC 6266, section 4.3). An invalid field is used as far as it can
    /// be parsed, because the name is only a suggestion.
    public static func suggested(byContentDisposition field: String) -> String? {
        var parser = ParameterParser(field[...])
        parser.skipValue()
        var plain: String?
        var extended: String?
        while let (name, value) = parser.next() {
            switch name {
            case "filename": plain = plain ?? value
            case "filename*": extended = extended ?? decodedExtendedValue(value)
            default: break
            }
        }
        return extended.flatMap(safe) ?? plain.flatMap(safe)
    }

    /// Decodes a value such as `UTF-8'en'%e2%82%ac`. Returns `nil` if the character set isn't UTF-8 or ISO-8859-1, or the bytes aren't
    /// valid in it.
    private static func decodedExtendedValue(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = parts[2].percentDecodedBytes else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

/// A parser for parameters such as `; name=value; name="quoted \" value"` (RFC 9110, section 5.6.6). It parses Unicode scalars instead of
/// characters, because a quote with a combining mark is one character but still a quote.
private struct ParameterParser {
    var rest: Substring.UnicodeScalarView

    init(_ text: Substring) { rest = text.unicodeScalars }

    mutating func skipValue() {
        var quoted = false
        while let scalar = rest.first, quoted || scalar != ";" {
            if scalar == "\"" { quoted.toggle() }
            rest.removeFirst()
        }
    }

    /// Returns the next parameter, with its name in lowercase, or `nil` at the end.
    mutating func next() -> (name: String, value: String)? {
        while let first = rest.first, first == ";" || first == " " || first == "\t" { rest.removeFirst() }
        guard !rest.isEmpty else { return nil }
        let name = take { $0 != "=" && $0 != ";" }.trimmingSpaces().lowercased()
        guard rest.popFirst() == "=" else { return (name, "") }
        _ = take { $0 == " " || $0 == "\t" }
        guard rest.first == "\"" else { return (name, take { $0 != ";" }.trimmingSpaces()) }
        rest.removeFirst()
        let value = quotedString()
        skipValue()
        return (name, value)
    }

    private mutating func take(while isTaken: (Unicode.Scalar) -> Bool) -> String {
        let taken = rest.prefix(while: isTaken)
        rest = rest[taken.endIndex...]
        return String(Substring(taken))
    }

    private mutating func quotedString() -> String {
        var value = String.UnicodeScalarView()
        while let scalar = rest.popFirst(), scalar != "\"" {
            if scalar == "\\", let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(scalar)
            }
        }
        return String(value)
    }
}
